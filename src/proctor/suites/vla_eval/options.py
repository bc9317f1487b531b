"""Options of the `vla_eval` suite, as data."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from proctor.suites.protocol import SuiteOptions

MOST_NUMBERS = 10_000
Bound = float | tuple[float, ...]
Number = Annotated[int, Field(ge=0, le=1_000_000, strict=True)]


class ActionCfg(BaseModel):
    """Actions of a benchmark that does not say how many numbers they have, or within which bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    size: int = Field(ge=1, le=MOST_NUMBERS)
    low: Bound | None = None
    """One number for all, or one for each; None: unbounded."""
    high: Bound | None = None

    @model_validator(mode="after")
    def _bounds_fit(self) -> ActionCfg:
        for name in ("low", "high"):
            bound = getattr(self, name)
            if isinstance(bound, tuple) and len(bound) != self.size:
                raise ValueError(f"{name} has {len(bound)} numbers; the action has {self.size}")
        lows, highs = self._each(self.low, float("-inf")), self._each(self.high, float("inf"))
        if not all(low < high for low, high in zip(lows, highs, strict=True)):
            raise ValueError(f"found low {self.low} and high {self.high}; expected low below high")
        return self

    def _each(self, bound: Bound | None, otherwise: float) -> tuple[float, ...]:
        if isinstance(bound, tuple):
            return bound
        return (otherwise if bound is None else bound,) * self.size


class VlaEvalOptions(SuiteOptions):
    """One task of a benchmark. In a config `task` may be a list, and where vla-eval is installed beside Proctor, an
    entry without it stands for all tasks."""

    benchmark: str
    """`package.module:Class` or `file.py:Class`, a subclass of vla-eval's `Benchmark`."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """What the class is made with: `params` in a config of vla-eval's."""
    task: Number | str | dict[str, Any]
    """Which of the benchmark's tasks: its number from 0, its `name`, or fields that it alone has."""
    render_backend: Literal["gpu", "cpu"] = "gpu"
    """As vla-eval's `render`. A class that was not made for `cpu` refuses it."""
    action: ActionCfg | None = None
    """None: what the benchmark says."""
    text_bytes: int = Field(default=256, ge=1, le=65_536)
    """Room for each text of an observation."""
    flags: tuple[str, ...] = ()
    """Entries of an observation that are there only when they are true, such as `episode_restart`."""
    leave_out: tuple[str, ...] = ()
    """Entries that are not wanted, or have no fixed shape, such as `video_history`."""
    missing: Literal["fault", "last"] = "fault"
    """An entry that a later observation lacks: the environment's fault, or as it was last."""
    fresh: bool = False
    """Make the benchmark anew for each trial; for one that carries something over a reset."""
    video_image: str | None = None
    """Which image a video shows; None: the first."""

    @field_validator("benchmark")
    @classmethod
    def _import_string(cls, target: str) -> str:
        module, _, name = target.rpartition(":")
        if not module or not name.isidentifier():
            raise ValueError(f'found "{target}"; expected package.module:Class or path/to/file.py:Class')
        return target

    @field_validator("task")
    @classmethod
    def _task(cls, task: int | str | dict[str, Any]) -> int | str | dict[str, Any]:
        if task in ("", {}):
            raise ValueError(f"found {task!r}; expected a number from 0, a name, or fields with their values")
        return task
