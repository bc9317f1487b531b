"""The runtime of the Gymnasium suite."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class GymnasiumRuntime(RuntimeRecipe):
    """Gymnasium in a version of your choice, such as gymnasium@1.4.0, with its MuJoCo and classic control."""

    name = "gymnasium"
    packages = ("gymnasium[classic-control,mujoco]",)
    python = ">=3.10"
    imports = ("gymnasium",)
    versioned = "gymnasium"
