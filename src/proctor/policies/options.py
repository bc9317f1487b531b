"""Options that every agent has, whatever loads it: how its rows are batched and what is done around its model.

A loader extends `PolicyOptions` with its own keys. The pipeline around the model, in this order: preprocessor, frame
stack, normalisation, observation order, image layout and integers, model, chunks, action scaling.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from proctor.config.models import Frozen

MOST_ROWS = 65_536
"""Of one forward."""
MOST_VALUES = 100_000_000
"""In the state or the noise of one trial."""


def _held(shape: list[int]) -> list[int]:
    if math.prod(shape) > MOST_VALUES:
        raise ValueError(f"found a shape of {math.prod(shape):,} values; expected at most {MOST_VALUES:,}")
    return shape


Shape = Annotated[list[Annotated[int, Field(ge=0, le=MOST_VALUES)]], AfterValidator(_held)]


class NormalizeCfg(Frozen):
    """Observation normalisation: `(x - mean) / sqrt(var + epsilon)`, then clipped. Either numbers or a file:
    `.npz` (mean, var or std), `.json`, or an SB3 `VecNormalize` pickle."""

    file: str | None = None
    mean: list[float] | None = None
    var: list[float] | None = None
    epsilon: float | None = Field(default=None, ge=0)
    """None: what a `VecNormalize` file says, else 1e-8."""
    clip: float | Literal["auto"] | None = "auto"
    """Largest absolute value; null: no clipping; auto: what a `VecNormalize` file says, else 10."""
    key: str | None = None
    """Which entry of a dict observation; None: the observation itself, or every entry the file has."""

    @model_validator(mode="after")
    def _one_source(self) -> NormalizeCfg:
        numbers = self.mean is not None and self.var is not None
        if (self.file is None) != numbers or (self.mean is None) != (self.var is None):
            raise ValueError("give either file, or both mean and var")
        return self


class ActionScaleCfg(Frozen):
    """`action = offset + scale * model output`, or `to_space`: the model speaks [-1, 1] and the task's bounds
    decide."""

    scale: float | list[float] = 1.0
    offset: float | list[float] = 0.0
    to_space: bool = False
    clip: tuple[float, float] | None = None
    """Clip the model's output first."""

    @model_validator(mode="after")
    def _one_way(self) -> ActionScaleCfg:
        if self.to_space and (self.scale != 1.0 or self.offset != 0.0):
            raise ValueError("to_space takes its scale from the task's bounds: leave out scale and offset")
        return self


class PreprocessorCfg(Frozen):
    """What makes the model's observation of the environment's. The import string alone will do."""

    target: str = Field(min_length=1)
    """Import string: a function `(observation, info) -> array` or `(observation) -> array`, or a class whose instances
    are such, or have such a method `modify_state`."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    shape: Shape | None = None
    """Of what it gives for one observation, float32; None: it is asked once, with zeros."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """The long form of a short one."""
        return {"target": value} if isinstance(value, str) else value


class StageCfg(Frozen):
    """How one stage is batched, where it is to differ from what the policy declares."""

    pad_to: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    max_batch: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    max_wait_s: float | None = Field(default=None, ge=0, le=3600)


class PolicyOptions(Frozen):
    """Base of a loader's options: what every agent can be set to."""

    pad_to: int | None = Field(default=16, ge=1, le=MOST_ROWS)
    """Rows of every forward. 1: each row as if alone. Null: exactly the rows that wait, faster for one trial at a time,
    but a trial's bytes may then depend on its neighbours."""
    max_batch: int | None = Field(default=None, ge=1, le=MOST_ROWS)
    max_wait_s: float | None = Field(default=None, ge=0, le=3600)
    stages: dict[str, StageCfg] = Field(default_factory=dict)
    """By stage: what takes the place of its own declaration, and of the three keys above."""
    placement: Literal["auto", "engine", "worker"] = "auto"
    """Where the policy is asked: by the engine, or in each worker next to the environments, where it is loaded once
    more; auto: as the policy declares (scripted agents: worker; models: engine), until measurements say otherwise."""
    trust: bool = False
    """Allow what may execute code: pickles, whole-module checkpoints, TorchScript."""
    preprocessor: PreprocessorCfg | None = None
    """Called for each row before everything else, with the observation and, where the task hands it, `info`."""
    info: bool = False
    """Where the task hands its `info` on: the model sees it too. False: a preprocessor alone does."""
    frame_stack: int = Field(default=1, ge=1, le=1000)
    frame_stack_axis: Literal["first", "last"] = "last"
    """Along which axis of an observation frames are put together, oldest first."""
    frame_stack_join: Literal["concatenate", "stack"] = "concatenate"
    """Along an axis that the observation has, or along a new one."""
    frame_stack_start: Literal["repeat", "zeros"] = "repeat"
    """What stands for the frames before the first: the first frame, or zeros."""
    normalize: NormalizeCfg | None = None
    observation_order: list[str] | None = Field(default=None, min_length=1)
    """Entries of a dict observation that the model gets as one flat array, in this order; None: the observation as it
    is."""
    image_layout: Literal["as_is", "channels_first", "channels_last"] = "as_is"
    """How the model wants observation entries of three axes: (channels, height, width) or (height, width, channels)."""
    integers: Literal["keep", "float", "unit"] = "keep"
    """What becomes of arrays of integers, such as images: they stay, become float32, or float32 divided by the largest
    value of their type (bytes: by 255)."""
    action_scale: ActionScaleCfg | None = None
    replan_steps: int | None = Field(default=None, ge=1, le=1_000_000)
    """Run at most so many actions of a chunk, then ask again. None: all."""
    temporal_ensemble: float | None = Field(default=None, ge=-100, le=100)
    """Ask in every step, and act by the mean of what all chunks so far say of it, weighted with exp(-k i), i = 0 for
    the oldest; this is k. None: no mean."""

    replans_itself: ClassVar[bool] = False
    """Whether the loader's own policies keep to `replan_steps`."""

    @model_validator(mode="after")
    def _asked_in_every_step(self) -> Self:
        if self.temporal_ensemble is not None and self.replan_steps not in (None, 1):
            raise ValueError(
                f"temporal_ensemble asks in every step, and replan_steps is {self.replan_steps}; leave one of them out"
            )
        return self


class ModelOptions(PolicyOptions):
    """Options of the loaders whose model gives raw outputs."""

    discrete: Literal["auto", "argmax", "none"] = "auto"
    """For discrete actions: `argmax` over the last axis, the output as it is (`none`), or argmax where the
    output is one float per choice (`auto`)."""


class PythonOptions(PolicyOptions):
    """`python` loader: `target` is an import string to a Policy class or a factory, called with `kwargs` (and
    with `checkpoint`, `device`, `spaces` where its signature names them); or to a function of an observation."""

    target: str = Field(min_length=1)
    kwargs: dict[str, Any] = Field(default_factory=dict)
    batched: bool | None = None
    """For a function: true: of a batch of observations (rows first), false: of one. None: as its signature says."""
