"""Proctor's conformance tests for every part of this distribution: `pytest conformance.py` once it is installed."""

from __future__ import annotations

from typing import Any, ClassVar

from harbour.form import Voyage
from harbour.format import HarbourLog
from harbour.loader import PilotLoader
from harbour.logger import Bell
from harbour.metric import ClearanceMin
from harbour.metric_family import LastSignals
from harbour.runtime import HarbourRuntime
from harbour.scoring import Careful
from harbour.section import METRIC, Quay
from harbour.suite import HarbourEnv, HarbourSuite

from proctor.testing import (
    BackendConformance,
    EnvConformance,
    FormatConformance,
    FormConformance,
    LoaderConformance,
    LoggerConformance,
    MetricConformance,
    MetricFamilyConformance,
    RuntimeRecipeConformance,
    ScoringConformance,
    SectionConformance,
    SuiteConformance,
)


class TestSuite(SuiteConformance):
    def make(self):
        return HarbourSuite()


class TestEnv(EnvConformance):
    def make(self):
        return HarbourEnv(2.0)


class TestLoader(LoaderConformance):
    observation_space, action_space = HarbourEnv.observation_space, HarbourEnv.action_space

    def make_loader(self):
        return PilotLoader()


class TestMetric(MetricConformance):
    def make(self):
        return ClearanceMin()

    def signals(self, steps, rng):
        return {"clearance_m": rng.random(steps)}


class TestMetricFamily(MetricFamilyConformance):
    def make(self):
        return LastSignals()

    def signals(self, steps, rng):
        return {"clearance_m": rng.random(steps)}


class TestScoring(ScoringConformance):
    metrics: ClassVar[dict[str, float | None]] = {METRIC: 0.5}

    def make(self, cfg):
        return Careful(cfg)


class TestBackend(BackendConformance):
    kind = "harbour_deck"
    isolates = False


class TestSection(SectionConformance):
    metrics: ClassVar[dict[str, float]] = {METRIC: 0.5}

    def make(self):
        return Quay()


class TestFormat(FormatConformance):
    def make(self):
        return HarbourLog()


class TestLogger(LoggerConformance):
    logger = Bell


class TestForm(FormConformance):
    example: ClassVar[dict[str, Any]] = {"voyage": {"pilots": {"ann": 1.0}, "times": 2}}

    def make(self):
        return Voyage()


class TestRuntime(RuntimeRecipeConformance):
    def make(self) -> HarbourRuntime:
        return HarbourRuntime()
