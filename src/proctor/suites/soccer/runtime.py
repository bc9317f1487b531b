"""The runtime of the soccer suite."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class SoccerRuntime(RuntimeRecipe):
    """Booster T1 soccer on sai-mujoco, with MuJoCo 3.3."""

    name = "soccer"
    packages = ("sai-mujoco==0.1.30", "mujoco>=3.3,<3.4", "gymnasium>=1.1,<1.2", "imageio>=2.30")
    python = ">=3.10"
    imports = ("sai_mujoco", "mujoco", "imageio")
    system = {"libGL.so.1": "libgl1", "libglib-2.0.so.0": "libglib2.0-0"}  # noqa: RUF012 - declared as a ClassVar
