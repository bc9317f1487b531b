"""The `python` loader: a Policy class or factory by import string, or under the short name that a suite gives it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, create_model

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.files import find_file
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions, PythonOptions
from proctor.policies.protocol import AnyPolicy, Policy, SpaceInfo, StagedPolicy
from proctor.registry import call_target, import_object, signature_of


class PythonLoader(Loader):
    """A class or factory of yours, by import string."""

    name: ClassVar[str] = "python"
    Options: ClassVar[type[PolicyOptions]] = PythonOptions

    def load(self, agent: AgentCfg, options: Any, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        """Call the target with `kwargs`, and with `checkpoint` (a path), `device` and `spaces` where its
        signature names them."""
        return self.make(agent, options, {"spaces": spaces}, base)

    def make(self, agent: AgentCfg, options: Any, given: Mapping[str, Any], base: Path | None) -> AnyPolicy:
        """The policy of `options.target`, which is told `given`, too."""
        target = import_object(options.target, base)
        if not callable(target):
            raise InputError(f"{options.target} is a {type(target).__name__}; expected a Policy class or a factory")
        if agent.checkpoint is not None and "checkpoint" not in signature_of(target, options.target).parameters:
            raise InputError(
                f'agent "{agent.name}" has a checkpoint, but {options.target} takes none; give it a '
                "parameter `checkpoint`"
            )
        checkpoint = None if agent.checkpoint is None else str(self.checkpoint(agent, base))
        given = {"checkpoint": checkpoint, "device": agent.device, **given}
        made = call_target(target, options.target, given, options.kwargs)
        if not isinstance(made, Policy | StagedPolicy):
            raise InputError(
                f"{options.target} gave a {type(made).__name__}; expected a Policy or StagedPolicy (subclass "
                "proctor.Policy)"
            )
        return made

    def files(self, agent: AgentCfg, options: Any, base: Path | None) -> dict[str, Path]:
        return {**super().files(agent, options, base), **source_file(options.target, base)}


class ScriptedLoader(PythonLoader):
    """The `python` loader with its target decided, such as `tracking/mirror`: an agent that comes with a suite. A
    subclass says `name` and `target`, the import string of a Policy, which is imported when an agent is loaded."""

    target: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        target = (str, Field(default=cls.target, pattern=f"^{cls.target}$"))
        cls.Options = create_model(f"{cls.__name__}Options", __base__=PythonOptions, target=target)


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
