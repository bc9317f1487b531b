"""The adapter on stEVE's own classes; only SOFA is a double.

`PROCTOR_STEVE` is a checkout of stEVE, `PROCTOR_STEVE_BENCH` one of stEVE_bench, `PROCTOR_STEVE_RL` one of stEVE_rl.
stEVE wants pyvista, meshio, scikit-image, matplotlib and requests.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sofa_double

from proctor import config_from_dict, run_evaluation
from proctor.suites.steve.build import import_eve
from proctor.suites.steve.env import SteveEnv
from proctor.suites.steve.options import SteveOptions

STEVE = os.environ.get("PROCTOR_STEVE")
pytestmark = [
    pytest.mark.skipif(STEVE is None, reason="PROCTOR_STEVE names no checkout of stEVE"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
]
PUSH = np.array([0.8, 0.2], np.float32)


@pytest.fixture(autouse=True)
def genuine(monkeypatch):
    """stEVE's package, its relatives where they are named, and SOFA's double."""
    for variable in ("PROCTOR_STEVE", "PROCTOR_STEVE_BENCH", "PROCTOR_STEVE_RL"):
        if variable in os.environ:
            monkeypatch.syspath_prepend(os.environ[variable])
    sofa_double.install(monkeypatch)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("eve", "eve_bench", "eve_rl")]:
        monkeypatch.delitem(sys.modules, name)
    importlib.invalidate_caches()


def make(**options: Any) -> SteveEnv:
    return SteveEnv(import_eve(), SteveOptions.model_validate(options))


def episode(env: SteveEnv, seed: int = 5, steps: int = 6) -> dict[str, np.ndarray]:
    env.reset(seed, 0)
    rows = [env.step(PUSH).signals for _ in range(steps)]
    env.close()
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_the_seed_decides_the_episode() -> None:
    options = {"anatomy": {"target_branches": ["lcca", "lsa"]}}
    first, again, other = (episode(make(**options), seed) for seed in (5, 5, 6))
    assert all(np.array_equal(first[name], again[name], equal_nan=True) for name in first)
    assert not np.array_equal(first["rotation"], other["rotation"])


def test_trials_of_a_benchmark(tmp_path: Path) -> None:
    raw = {
        "agents": [{"name": "drunk", "tool": "j_soft", "policy": "random"}],
        "anatomy": {"arch_type": "II", "target_branches": ["lcca", "lsa"]}, "simulator": "sofa",
        "n_trials": 2, "max_episode_steps": 5, "workers": "inline", "output_root": str(tmp_path),
    }  # fmt: skip
    run = run_evaluation(config_from_dict(raw))
    results = list(run.results())
    assert [result.error for result in results] == [None, None]
    assert {result.outcome.value for result in results} == {"truncated"}
    with np.load(run.path / results[0].npz) as arrays:
        assert np.isfinite(arrays["tip_pos3d"]).all()
        assert str(arrays["case"]) in ("lcca", "lsa")


@pytest.mark.skipif("PROCTOR_STEVE_PYTHON" not in os.environ, reason="PROCTOR_STEVE_PYTHON names no interpreter")
def test_in_an_interpreter_of_its_own(tmp_path: Path) -> None:
    """That has stEVE and SOFA (or its double), and nothing of Proctor."""
    task = {
        "suite": "steve", "options": {"anatomy": {"target_branches": ["lcca"]}},
        "runtime": {"python": os.environ["PROCTOR_STEVE_PYTHON"]},
    }  # fmt: skip
    raw = {"agents": [{"policy": "random"}], "tasks": [task], "n_trials": 2, "max_episode_steps": 4}
    run = run_evaluation(config_from_dict({**raw, "output_root": str(tmp_path)}))
    assert [result.error for result in run.results()] == [None, None]
