"""The `memory` loader: a function, model or object that `proctor.evaluate` was given, asked in the main process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, model_validator

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.memory import borrowed
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.plain import as_policy
from proctor.policies.protocol import AnyPolicy, SpaceInfo


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
