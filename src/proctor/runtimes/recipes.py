"""What a runtime is made of, as data.

A *recipe* is a part: a subclass of `RuntimeRecipe` under a name, shipped with a suite or by a plug-in (entry point
group `proctor.runtimes`). With the version and the options that a user chose it gives a *specification*, which is what
is installed, kept in `runtime.json`, and compared with later.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from proctor.config.models import RuntimeCfg
from proctor.config.runtime import CHOSEN, is_constraint, split_name
from proctor.errors import InputError
from proctor.registry import RUNTIMES, did_you_mean

ALWAYS = ("numpy",)
"""What Proctor itself needs in every runtime, by requirement and by module."""
OLDEST = ">=3.8"
"""The versions of Python that a worker runs in."""
UNNAMED = "packages-"
"""The beginning of the name of a runtime that a config describes by its packages."""


@dataclass(frozen=True)
class RuntimeSpecification:
    """A runtime to build: a name, and what is in it."""

    name: str
    packages: tuple[str, ...]
    """Requirements as pip takes them."""
    python: str = OLDEST
    """Versions of Python: `3.10`, `>=3.8,<3.11`."""
    imports: tuple[str, ...] = ()
    """Modules that can be imported where all is well."""
    system: Mapping[str, str] = field(default_factory=dict)
    """Shared library -> the Debian package that brings it, for those that must be there."""
    path: tuple[str, ...] = ()
    """Folders that are put on Python's path."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What the user chose at the installation."""
    notes: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RuntimeSpecification:
        """Back from plain data; keys of another version of Proctor are left out."""
        known: dict[str, Any] = {f.name: data[f.name] for f in fields(cls) if f.name in data}
        for name, value in known.items():
            known[name] = tuple(value) if isinstance(value, list) else value
        return cls(**known)


class RuntimeRecipe:
    """How to build a runtime: a subclass sets what it is made of. The first sentence of its docstring says what it is
    for. Options are read when it is installed, with `--option NAME=PATH`: folders and files of this machine."""

    name: ClassVar[str]
    """Also the name of a folder: letters, digits, `.`, `_` and `-`."""
    packages: ClassVar[tuple[str, ...]] = ()
    """Requirements as pip takes them; numpy is always added."""
    python: ClassVar[str] = OLDEST
    imports: ClassVar[tuple[str, ...]] = ()
    """Modules that must be importable; they are imported once, when the runtime is verified."""
    system: ClassVar[Mapping[str, str]] = {}
    """Shared library -> Debian package, e.g. `{"libEGL.so.1": "libegl1"}`, of those without which nothing works."""
    options: ClassVar[Mapping[str, str]] = {}
    """Option -> what it is, for what no package brings, such as a simulator's own installation. All are required."""
    versioned: ClassVar[str | None] = None
    """The package whose version a user may choose, as in `NAME@1.4.0`."""
    notes: ClassVar[str] = ""
    """What a user should know before or after the installation."""

    def specify(self, version: str | None, options: Mapping[str, str]) -> RuntimeSpecification:
        """The runtime to build. `version`: chosen by the user, for a recipe that is `versioned`. `options`: a value for
        each of the recipe's options, paths absolute. Raises InputError for what the user can mend."""
        chosen = () if version is None or self.versioned is None else (f"{self.versioned}=={version}",)
        return RuntimeSpecification(
            self.name if version is None else f"{self.name}{CHOSEN}{version}",
            (*self.packages, *chosen),
            self.python,
            self.imports,
            self.system,
            options=dict(options),
            notes=self.notes,
        )


def specify(name: str, options: Mapping[str, str] | None = None) -> RuntimeSpecification:
    """What is built under a name: a recipe's, or `NAME@VERSION`. Raises InputError where there is no such recipe, or
    where its options are not given."""
    name = name.replace("==", CHOSEN)
    recipe_name, version = split_name(name)
    recipe = RUNTIMES.load(recipe_name)()
    if version is not None and recipe.versioned is None:
        raise InputError(f'the recipe "{recipe_name}" leaves no version open; write {recipe_name}')
    given = dict(options or {})
    for option in given:
        if option not in recipe.options:
            known = f"known: {', '.join(recipe.options)}" if recipe.options else "it has none"
            hint = did_you_mean(option, recipe.options)
            raise InputError(f'the recipe "{recipe_name}" has no option "{option}"{hint} ({known})')
    for option, meaning in recipe.options.items():
        if option not in given:
            raise InputError(
                f'the recipe "{recipe_name}" needs the option "{option}", {meaning}; give it with: '
                f"{install_command(name)} --option {option}=PATH"
            )
    return complete(recipe.specify(version, {key: os.path.abspath(value) for key, value in given.items()}))


def described(cfg: RuntimeCfg) -> RuntimeSpecification:
    """What is built for a config that says packages. Its name is made of what they are."""
    assert cfg.packages is not None
    meant = {"packages": sorted(cfg.packages), "python": cfg.python}
    digest = hashlib.sha256(json.dumps(meant).encode()).hexdigest()[:12]
    return complete(RuntimeSpecification(UNNAMED + digest, cfg.packages, cfg.python or OLDEST))


def complete(specification: RuntimeSpecification) -> RuntimeSpecification:
    """With what every runtime has."""
    assert is_constraint(specification.python), specification.python
    data = {f.name: getattr(specification, f.name) for f in fields(specification)}
    for key in ("packages", "imports"):
        data[key] = tuple(dict.fromkeys((*data[key], *ALWAYS)))
    return RuntimeSpecification(**data)


def install_command(name: str) -> str:
    """The command that installs, or builds again, a runtime."""
    return f"proctor runtimes install {'--config CONFIG' if name.startswith(UNNAMED) else name}"
