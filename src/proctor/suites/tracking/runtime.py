"""Runtimes of the tracking suite: its worlds on a device want a newer MuJoCo than others."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe

_SUITE = ("pydantic>=2.7", "PyYAML>=6.0", "gymnasium>=1.0", "scipy>=1.13", "numba>=0.60", "threadpoolctl>=3.5")
"""What the suite itself imports."""


class TrackingWarpRuntime(RuntimeRecipe):
    """Motion tracking with physics: warp, on MuJoCo Warp."""

    name = "tracking-warp"
    packages = (*_SUITE, "mujoco==3.17.0", "mujoco-warp==3.17.0", "warp-lang==1.18.*", "torch==2.13.*")
    python = ">=3.11,<3.14"
    imports = ("mujoco_warp", "warp", "torch", "numba", "gymnasium")


class TrackingMjxRuntime(RuntimeRecipe):
    """Motion tracking with physics: mjx, on MJX and JAX."""

    name = "tracking-mjx"
    packages = (*_SUITE, "mujoco==3.17.0", "mujoco-mjx==3.17.0", "jax==0.10.*", "torch==2.13.*")
    python = ">=3.11,<3.14"
    imports = ("mujoco.mjx", "jax", "torch", "numba", "gymnasium")
