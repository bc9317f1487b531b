"""Any registered Gymnasium environment, one world or many."""

from proctor.suites.gymnasium.env import GymnasiumEnv
from proctor.suites.gymnasium.options import GymnasiumOptions, SuccessCfg
from proctor.suites.gymnasium.suite import GymnasiumSuite
from proctor.suites.gymnasium.vector import VectorEnvAdapter

__all__ = ["GymnasiumEnv", "GymnasiumOptions", "GymnasiumSuite", "SuccessCfg", "VectorEnvAdapter"]
