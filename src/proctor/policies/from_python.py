"""The `python` loader: a Policy class or factory by import string, or under the short name that a suite gives it; or a
function of an observation, a class of objects that answer one, or such an object (`proctor.policies.targets`). And the
`memory` loader: a function, model or object that `proctor.evaluate` was given, asked in the main process.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, create_model, model_validator

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.memory import borrowed
from proctor.policies.files import source_file
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions, PythonOptions
from proctor.policies.plain import as_policy
from proctor.policies.protocol import AnyPolicy, SpaceInfo
from proctor.policies.targets import policy_of
from proctor.registry import import_object


class PythonLoader(Loader):
    """A class, a factory or a function of an observation, by import string."""

    name: ClassVar[str] = "python"
    Options: ClassVar[type[PolicyOptions]] = PythonOptions
    hosted: ClassVar[str] = "proctor.policies.hosted:python"
    folders: ClassVar[bool] = True

    def load(self, agent: AgentCfg, options: Any, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        """Call the target with `kwargs`, and with `checkpoint` (a path), `device` and `spaces` where its
        signature names them."""
        return self.make(agent, options, {"spaces": spaces}, base)

    def make(self, agent: AgentCfg, options: Any, given: Mapping[str, Any], base: Path | None) -> AnyPolicy:
        """The policy of `options.target`, which is told `given`, too."""
        target = import_object(options.target, base)
        checkpoint = None if agent.checkpoint is None else str(self.checkpoint(agent, base))
        return policy_of(target, agent, options, {"checkpoint": checkpoint, "device": agent.device, **given})

    def files(self, agent: AgentCfg, options: Any, base: Path | None) -> dict[str, Path]:
        module = options.target.partition(":")[0]
        apart = agent.runtime is not None and not module.endswith(".py")
        return {**super().files(agent, options, base), **({} if apart else source_file(options.target, base))}


class ScriptedLoader(PythonLoader):
    """The `python` loader with its target decided, such as `tracking/mirror`: an agent that comes with a suite. A
    subclass says `name` and `target`, the import string of a Policy, which is imported when an agent is loaded."""

    target: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        target = (str, Field(default=cls.target, pattern=f"^{cls.target}$"))
        cls.Options = create_model(f"{cls.__name__}Options", __base__=PythonOptions, target=target)


class MemoryOptions(PolicyOptions):
    """`memory` loader. `object` is NAME@HASH, and lent by the process that runs the config."""

    object: str = Field(min_length=1)
    batched: bool | None = None
    """Whether it takes rows; null: as its signature says, else one observation."""
    method: str | None = None
    """By which of its methods it is asked; null: `select_action`, `predict` or `act`, the first that it has."""

    @model_validator(mode="after")
    def _stays_here(self) -> MemoryOptions:
        if self.placement == "worker":
            raise ValueError("an object in memory is asked in its own process; leave out placement: worker")
        return self


class MemoryLoader(Loader):
    """What `proctor.evaluate` was given: a function, a model, an object."""

    name: ClassVar[str] = "memory"
    Options: ClassVar[type[PolicyOptions]] = MemoryOptions
    here_only: ClassVar[bool] = True

    def load(self, agent: AgentCfg, options: Any, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        found = borrowed(options.object, f'agent "{agent.name}"')
        try:
            return as_policy(found, batched=options.batched, method=options.method, spaces=spaces)
        except InputError as error:
            raise InputError(f'agent "{agent.name}": {error}') from None

    def files(self, agent: AgentCfg, options: Any, base: Path | None) -> dict[str, Path]:
        """None; but who does not have the object is told so before anything is begun."""
        borrowed(options.object, f'agent "{agent.name}"')
        return {}

    def prints(self, options: Any) -> dict[str, str]:
        return {"memory": options.object.rpartition("@")[2]}
