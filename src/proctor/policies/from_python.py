"""The `python` loader: a Policy class or factory by import string."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, ClassVar

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.files import find_file
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions, PythonOptions
from proctor.policies.protocol import AnyPolicy, Policy, SpaceInfo, StagedPolicy
from proctor.registry import import_object


class PythonLoader(Loader):
    """A class or factory of yours, by import string."""

    name: ClassVar[str] = "python"
    Options: ClassVar[type[PolicyOptions]] = PythonOptions

    def load(self, agent: AgentCfg, options: PythonOptions, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        """Call the target with `kwargs`, and with `checkpoint` (a path), `device` and `spaces` where its
        signature names them."""
        target = import_object(options.target, base)
        if not callable(target):
            raise InputError(f"{options.target} is a {type(target).__name__}; expected a Policy class or a factory")
        given = self._arguments(agent, options, spaces, base)
        parameters = _parameters(target, options.target)
        if agent.checkpoint is not None and "checkpoint" not in parameters:
            raise InputError(
                f'agent "{agent.name}" has a checkpoint, but {options.target} takes none; give it a '
                "parameter `checkpoint`"
            )
        arguments = {**{name: value for name, value in given.items() if name in parameters}, **options.kwargs}
        try:
            inspect.signature(target).bind(**arguments)
        except TypeError as error:
            raise InputError(
                f"{options.target}: {error} (options.kwargs: {', '.join(options.kwargs) or 'none'})"
            ) from None
        return _checked(target(**arguments), options.target)

    def _arguments(
        self, agent: AgentCfg, options: PythonOptions, spaces: SpaceInfo, base: Path | None
    ) -> dict[str, Any]:
        checkpoint = None if agent.checkpoint is None else str(self.checkpoint(agent, base))
        return {"checkpoint": checkpoint, "device": agent.device, "spaces": spaces}

    def files(self, agent: AgentCfg, options: PythonOptions, base: Path | None) -> dict[str, Path]:
        return {**super().files(agent, options, base), **source_file(options.target, base)}


def _parameters(target: Any, name: str) -> set[str]:
    try:
        return set(inspect.signature(target).parameters)
    except (TypeError, ValueError):
        raise InputError(f"{name} has no readable signature; wrap it in a Python function") from None


def _checked(made: Any, name: str) -> AnyPolicy:
    if isinstance(made, Policy | StagedPolicy):
        return made
    raise InputError(
        f"{name} gave a {type(made).__name__}; expected a Policy or StagedPolicy (subclass "
        "proctor.policies.protocol.Policy)"
    )


def source_file(target: str, base: Path | None) -> dict[str, Path]:
    """The source file behind an import string, by role; empty where there is none (a compiled module)."""
    module = target.partition(":")[0]
    if module.endswith(".py"):
        return {f"source {module}": find_file(module, base, f"import string {target}")}
    attribute_owner = import_object(target, base)
    try:
        path = inspect.getsourcefile(inspect.unwrap(attribute_owner))
    except TypeError:
        path = None
    return {} if path is None else {f"source {module}": Path(path)}
