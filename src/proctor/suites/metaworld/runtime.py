"""The runtime of the Meta-World suite."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class MetaworldRuntime(RuntimeRecipe):
    """Meta-World's fifty tasks of a robot arm at a table."""

    name = "metaworld"
    packages = ("metaworld==3.0.0", "mujoco>=3.3,<3.4", "gymnasium>=1.1,<1.2")
    python = ">=3.10"
    imports = ("metaworld", "mujoco")
