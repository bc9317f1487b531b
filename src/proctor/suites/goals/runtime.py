"""The runtime of MineCLIP's and STEVE-1's own classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proctor.errors import InputError
from proctor.runtimes.recipes import RuntimeRecipe, RuntimeSpecification

MARKS = {
    "mineclip": ("MineCLIP", "mineclip/mineclip/mineclip.py"),
    "steve1": ("STEVE-1", "steve1/data/text_alignment/vae.py"),
}


class Steve1Runtime(RuntimeRecipe):
    """MineCLIP and STEVE-1's prior from checkouts of their code, without MineDojo and MineRL."""

    name = "steve1"
    packages = (
        "torch>=2.0", "transformers>=4.30", "tokenizers", "x_transformers==0.27.1", "kornia", "dm-tree", "hydra-core",
        "Pillow",
    )  # fmt: skip
    python = ">=3.9"
    imports = ("torch", "transformers", "x_transformers", "kornia", "tree")
    options = {  # noqa: RUF012 - declared as a ClassVar
        "mineclip": "a checkout of MineDojo/MineCLIP",
        "steve1": "a checkout of Shalev-Lifshitz/STEVE-1",
    }
    notes = "It has torch, which may take gigabytes; pip installs the build that it is configured for."

    def specify(self, version: str | None, options: Mapping[str, str]) -> RuntimeSpecification:
        for key, (what, mark) in MARKS.items():
            if not Path(options[key], mark).is_file():
                raise InputError(f"{options[key]} is no checkout of {what}: it has no {mark}")
        return RuntimeSpecification(
            self.name,
            self.packages,
            self.python,
            self.imports,
            path=(options["mineclip"], options["steve1"]),
            options=dict(options),
        )
