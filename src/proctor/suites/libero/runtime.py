"""The runtime of the LIBERO suite."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class LiberoRuntime(RuntimeRecipe):
    """LIBERO's benchmarks on robosuite 1.4, through hf-libero."""

    name = "libero"
    packages = ("hf-libero==0.1.4", "torch==2.13.*")
    python = ">=3.10,<3.13"
    imports = ("libero", "robosuite")
    system = {"libGL.so.1": "libgl1", "libEGL.so.1": "libegl1"}  # noqa: RUF012 - declared as a ClassVar
    notes = "LIBERO's assets are downloaded apart; docs/manipulation.md says how"
