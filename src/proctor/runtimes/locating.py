"""From a config's `runtime` to an interpreter that can be started."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.config.models import RuntimeCfg, TaskCfg
from proctor.errors import InputError
from proctor.runtimes import store
from proctor.runtimes.asking import NoAnswer, ask, environment_for
from proctor.runtimes.recipes import ALWAYS, described
from proctor.runtimes.verify import first_problem, problems_of, unusable

if TYPE_CHECKING:
    from proctor.suites.protocol import Suite


@dataclass(frozen=True)
class Located:
    """An interpreter that environments and policies can live in."""

    label: str
    """For sentences: `the runtime "NAME"`, or the interpreter's path."""
    python: Path
    """The interpreter. It may be a link that must not be followed: that of a virtual environment leads out of it."""
    identity: dict[str, Any]
    """What tells it from others on any machine: `python` (version), `implementation`, `packages` (name -> version) and
    `hash`, of all of these."""
    path: tuple[str, ...] = ()
    """Folders that it has on its path, by `environment()`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    """Under which it is installed; None: it was given by its path."""

    def environment(self) -> dict[str, str]:
        """The environment variables to start it with: this process's own without those that are about this
        interpreter (`PYTHONPATH`, `VIRTUAL_ENV`, ...), and with what the recipe sets."""
        return environment_for(self.path, self.variables)


def locate(cfg: RuntimeCfg, config: str | None = None) -> Located:
    """The interpreter of a runtime of this machine: any form but `address`. Raises InputError, in one sentence with one
    command, where it is missing, half installed, changed, broken, or lacks something. `config`: the file to name in the
    command where the config itself describes the runtime. No interpreter is started for an installed runtime that has
    not changed since it was last looked at; one that is given by its path is asked once in a process's life."""
    assert cfg.address is None, "a host that is served elsewhere has no interpreter here"
    if cfg.packages is None and cfg.python is not None:
        return _given(cfg.python)
    name = described(cfg).name if cfg.packages is not None else cfg.name
    assert name is not None
    installed, problems = problems_of(name)
    problem = first_problem(problems)
    if problem is not None or installed is None:
        raise InputError(str(problem).replace("--config CONFIG", f"--config {config or 'CONFIG'}"))
    packages = dict(installed.packages)
    identity = {"python": installed.python, "implementation": installed.implementation, "packages": packages}
    wanted = installed.specification
    return Located(
        f'the runtime "{name}"',
        installed.interpreter,
        {**identity, "hash": installed.hash},
        wanted.path,
        dict(wanted.variables),
        name,
    )


@functools.cache
def _given(path: str) -> Located:
    """An interpreter of the user's own, asked what it is."""
    if not os.path.exists(path):
        raise InputError(f"there is no interpreter {path}; write runtime: {{python: PATH}} with one that is there")
    try:
        answer = ask(path, ALWAYS)
    except NoAnswer as reason:
        raise InputError(
            f"the interpreter {path} cannot be started ({reason}); try it with: {path} --version"
        ) from None
    install = f"{path} -m pip install {' '.join(ALWAYS)}"
    problem = first_problem(list(unusable(answer, f"the interpreter {path}", {}, install)))
    if problem is not None:
        raise InputError(str(problem).replace("build it again with", "mend it with"))
    identity = {"python": answer.version, "implementation": answer.implementation, "packages": answer.packages}
    return Located(
        f"the interpreter {path}",
        Path(path),
        {**identity, "hash": store.digest(answer.version, answer.implementation, answer.packages)},
    )


def needed_for(task: TaskCfg, suite: Suite) -> RuntimeCfg | None:
    """The runtime that a task's environments run in; None: this interpreter. What the task says goes first; else, where
    a package that the suite needs cannot be imported here, it is the suite's own."""
    return chosen(task.runtime, suite.runtime, suite.needs())


def chosen(said: RuntimeCfg | None, recipe: str | None, needs: Iterable[tuple[str, str]]) -> RuntimeCfg | None:
    """The runtime that a config says; else, where a package that is needed cannot be imported here, that of the recipe;
    else None: this interpreter."""
    if said is not None:
        return said
    if recipe is None or all(_importable(package) for package, _ in needs):
        return None
    return RuntimeCfg(name=recipe)


def _importable(package: str) -> bool:
    """Whether a package is here. A mere folder of its name on the path is none."""
    try:
        spec = importlib.util.find_spec(package)
        return spec is not None and (spec.origin is not None or isinstance(spec.submodule_search_locations or [], list))
    except (ImportError, ValueError):
        return False
