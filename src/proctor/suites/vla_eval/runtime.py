"""The runtime of the vla-eval suite."""

from __future__ import annotations

from proctor.runtimes.recipes import RuntimeRecipe


class VlaEvalRuntime(RuntimeRecipe):
    """vla-eval's benchmarks behind one class."""

    name = "vla_eval"
    packages = ("vla-eval==0.8.*",)
    imports = ("vla_eval",)
    notes = "a benchmark's own simulator is not among the packages; write runtime: {packages: [vla-eval==0.8.*, ...]}"
