"""The runtime of LeRobot's policies and of its small simulators."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class LeRobotRuntime(RuntimeRecipe):
    """LeRobot in a version of your choice, such as lerobot@0.4.4, with PushT."""

    name = "lerobot"
    packages = ("lerobot[pusht]>=0.4,<0.6",)
    python = ">=3.10,<3.14"
    imports = ("lerobot", "torch", "safetensors", "gym_pusht")
    versioned = "lerobot"
    notes = "It has torch, which may take gigabytes; pip installs the build that it is configured for."
