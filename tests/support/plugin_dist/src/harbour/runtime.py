"""A recipe: the harbour's simulator in a Python of its own."""

from __future__ import annotations

from proctor import RuntimeRecipe


class HarbourRuntime(RuntimeRecipe):
    """What boats need: numpy."""

    name = "harbour"
    packages = ("numpy>=1.26",)
    python = ">=3.9"
    imports = ("numpy",)
