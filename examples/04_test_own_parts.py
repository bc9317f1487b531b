"""Tests of your own policy, environment and metric, in a few lines each: the laws come with Proctor.

    pytest examples/04_test_own_parts.py

Among them: a trial comes out the same whatever shares its batch; the same seed gives the same episode in a
fresh environment and in a used one; a metric reads the record and nothing else.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gymnasium.spaces import Box

from proctor import Env, Metric, Policy, import_object
from proctor.suites import find_suite
from proctor.testing import EnvConformance, MetricConformance, PolicyConformance

HERE = Path(__file__).parent
BOAT = HERE / "02_own_policy_and_env.py"


class TestPilot(PolicyConformance):
    observation_space = Box(-2.0, 2.0, (2,), np.float64)
    action_space = Box(-1.0, 1.0, (1,), np.float64)

    def make(self) -> Policy:
        return import_object(f"{BOAT}:Pilot")(patience=0.4)


class TestDock(EnvConformance):
    def make(self) -> Env:
        suite = find_suite("gymnasium")
        env = suite.make(suite.Options.model_validate({"id": f"{BOAT}:Dock-v0"}), render=False, worlds=1)
        assert isinstance(env, Env)
        return env


class TestTorqueSwitches(MetricConformance):
    def make(self) -> Metric:
        return import_object(f"{HERE / '03_own_scoring.py'}:TorqueSwitches")()
