"""Conformance suites: full contract tests, in a few lines, for a part of your own of any kind.

    from proctor.testing import PolicyConformance

    class TestMine(PolicyConformance):
        observation_space = Box(-1, 1, (3,))
        action_space = Discrete(2)

        def make(self):
            return MyPolicy()

Each suite is a plain class whose `test_` methods are the laws; pytest finds them in your subclass. A law that
does not hold raises AssertionError with a sentence that says what was found.
"""

from proctor.testing.backend import BackendConformance
from proctor.testing.device import DeviceEnvConformance
from proctor.testing.env import BatchEnvConformance, EnvConformance
from proctor.testing.form import FormConformance
from proctor.testing.logger import LoggerConformance
from proctor.testing.metric import MetricConformance, MetricFamilyConformance, ScoringConformance
from proctor.testing.policy import LoaderConformance, PolicyConformance
from proctor.testing.report import FormatConformance, SectionConformance
from proctor.testing.runtime import RuntimeRecipeConformance
from proctor.testing.suite import SuiteConformance

__all__ = [
    "BackendConformance", "BatchEnvConformance", "DeviceEnvConformance", "EnvConformance", "FormConformance",
    "FormatConformance", "LoaderConformance", "LoggerConformance", "MetricConformance", "MetricFamilyConformance",
    "PolicyConformance", "RuntimeRecipeConformance", "ScoringConformance", "SectionConformance", "SuiteConformance",
]  # fmt: skip
