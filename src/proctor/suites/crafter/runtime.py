"""The runtime of the Crafter suite."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class CrafterRuntime(RuntimeRecipe):
    """Crafter's open world."""

    name = "crafter"
    packages = ("crafter>=1.8",)
    imports = ("crafter",)
