"""Options of the `gymnasium` suite, as data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from proctor.suites.gymnasium.signals import parse_path
from proctor.suites.protocol import SuiteOptions
from proctor_host.episode import RESERVED


class WrapperCfg(SuiteOptions):
    """A wrapper around the environment: an import string and keyword arguments. The import string alone will do."""

    target: str
    kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """The long form of a short one."""
        return {"target": value} if isinstance(value, str) else value


class SuccessCfg(SuiteOptions):
    """What success is at a step; exactly one of these. Whether it must hold at the end or ever is the task's
    `success_rule`."""

    info: str | None = None
    """A key of `info` (dots lead into nested mappings) that is true; missing is not success."""
    return_at_least: float | None = None
    """The sum of rewards so far has reached this."""
    terminated: bool | None = None
    """True: the environment ended the episode by itself, as MountainCar does at the goal. False: it did not,
    as for a balancing task, where the end is the fall."""
    function: str | None = None
    """Import string of `f(env, observation, reward, terminated, truncated, info) -> bool`, called after each
    step; `env` is the Gymnasium environment."""

    @model_validator(mode="after")
    def _one(self) -> SuccessCfg:
        given = [name for name, value in self if value is not None]
        if len(given) != 1:
            found = ", ".join(given) or "none"
            raise ValueError(f"found {found}; expected exactly one of {', '.join(type(self).model_fields)}")
        return self


class InitialStatesCfg(SuiteOptions):
    """An environment with numbered initial states: trial i is reset with `options={option: i % count}`."""

    option: str
    count: int = Field(ge=1, lt=2**63)


class VectorCfg(SuiteOptions):
    """Many worlds in one vector environment. `vector: true` means the defaults."""

    mode: Literal["sync", "async", "vector_entry_point"] = "sync"
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """For the vector environment's constructor (sync, async)."""
    seeding: Literal["each", "joint"] = "each"
    """joint: for an environment that takes one seed for all worlds. A wave of trials is then seeded with its
    first seed, and a trial depends on its neighbours."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """The long form of a short one."""
        return {} if value is True else value


def _name_signals(value: Any) -> Any:
    """A list of paths becomes a mapping; the name is the path without its root."""
    if isinstance(value, list) and all(isinstance(path, str) for path in value):
        return {path.partition(".")[2] or path: path for path in value}
    return value


def _check_signals(signals: dict[str, str]) -> dict[str, str]:
    for name, path in signals.items():
        if name in RESERVED or name.startswith("observations."):
            raise ValueError(f'the signal name "{name}" is taken by the record; choose another')
        parse_path(path)
    return signals


Handed = Literal[True] | Annotated[list[str], Field(min_length=1)] | None
"""Entries of `info` that are handed to policies."""
Signals = Annotated[dict[str, str], BeforeValidator(_name_signals), AfterValidator(_check_signals)]


class GymnasiumOptions(SuiteOptions):
    """One task of the suite."""

    id: str = Field(min_length=1)
    """Any registered id; `module:Id-v0` or `file.py:Id-v0` imports the module first; `file.py:make_env` is a function
    or class that makes one, where no such id is registered."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """For the environment's constructor."""
    wrappers: list[WrapperCfg] = Field(default_factory=list)
    """Innermost first."""
    imports: list[str] = Field(default_factory=list)
    """Modules or Python files to import first, so that their ids are registered."""
    success: SuccessCfg | None = None
    """Null: `info["success"]` or `info["is_success"]` where the environment gives one, else never."""
    signals: Signals = Field(default_factory=dict)
    """What is recorded after each step: name -> `info.KEY` or `env.ATTRIBUTE`, with further `.NAME` and `[INDEX]`."""
    info: Handed = None
    """What of `info` policies see beside the observation: names, or true for all that is made of numbers."""
    initial_states: InitialStatesCfg | None = None
    reset_options: dict[str, Any] = Field(default_factory=dict)
    """Given to every reset as `options`."""
    action_dt_s: float | None = Field(default=None, gt=0, le=1_000_000)
    """Simulated seconds per step. Null: the environment's `dt`, where it has one."""
    reuse: bool = True
    """False: a fresh environment for each trial, for one that carries something over a reset."""
    vector: VectorCfg | None = None

    @model_validator(mode="after")
    def _check(self) -> GymnasiumOptions:
        if self.vector is not None and not self.reuse:
            raise ValueError("reuse: false cannot be had with a vector environment; leave one of the two out")
        if self.vector is not None and self.info is not None:
            raise ValueError("info is not handed on from a vector environment; leave one of the two out")
        if self.vector is not None and self.vector.mode == "vector_entry_point" and self.wrappers:
            raise ValueError("wrappers cannot be put on a vector_entry_point; use vector: {mode: sync}")
        return self
