"""The runtime of the stEVE suite."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from proctor.errors import InputError
from proctor.runtimes.recipes import RuntimeRecipe, RuntimeSpecification

BINDINGS = "plugins/SofaPython3/lib/python3/site-packages"
"""Where SOFA keeps its modules for Python, in its folder."""
_TAG = re.compile(r"\.cpython-3(\d+)-")


class SteveRuntime(RuntimeRecipe):
    """stEVE on SOFA, for the Python that SOFA's bindings were compiled for."""

    name = "steve"
    imports = ("Sofa", "eve")
    python = ">=3.8,<3.13"
    options = {  # noqa: RUF012 - declared as a ClassVar
        "sofa": "the folder of SOFA's installation (with SofaPython3 and BeamAdapter)",
        "steve": "a checkout of stEVE",
    }

    def specify(self, version: str | None, options: Mapping[str, str]) -> RuntimeSpecification:
        sofa, steve = options["sofa"], options["steve"]
        bindings = Path(sofa, BINDINGS)
        if not bindings.is_dir():
            raise InputError(f"{sofa} is no installation of SOFA with SofaPython3: there is no folder {bindings}")
        if not any(Path(steve, name).is_file() for name in ("pyproject.toml", "setup.py")):
            raise InputError(f"{steve} is no checkout of stEVE: it has neither pyproject.toml nor setup.py")
        return RuntimeSpecification(
            self.name,
            (steve,),
            compiled_for(bindings) or self.python,
            self.imports,
            path=(str(bindings),),
            variables={"SOFA_ROOT": sofa},
            options=dict(options),
        )


def compiled_for(bindings: Path) -> str | None:
    """The version of Python that compiled modules below a folder are for, as their names say; None: they do not."""
    found = (_TAG.search(path.name) for path in sorted(bindings.rglob("*.so")))
    return next((f"3.{tag[1]}" for tag in found if tag), None)
