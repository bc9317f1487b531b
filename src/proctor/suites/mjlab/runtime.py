"""The runtime of the mjlab suite."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class MjlabRuntime(RuntimeRecipe):
    """mjlab's tasks on MuJoCo Warp."""

    name = "mjlab"
    packages = ("mjlab==1.6.0", "mujoco==3.11.0", "mujoco-warp==3.11.0", "warp-lang==1.19.0", "torch==2.13.*")
    python = ">=3.11,<3.14"
    imports = ("mjlab", "mujoco_warp", "torch")
