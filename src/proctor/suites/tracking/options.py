"""Options of the `tracking` suite, as data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from proctor.suites.protocol import SuiteOptions
from proctor.suites.tracking.layout import HumanoidVerseLayout, layout_named
from proctor.suites.tracking.motions.options import MotionOptions
from proctor.suites.tracking.randomise import NoiseCfg, RandomiseCfg

Group = Literal[
    "state", "privileged_state", "history", "history_actor", "last_action", "root_height", "reference", "motion",
    "frame", "qpos", "qvel", "xpos", "xquat",
]  # fmt: skip

DEFAULT_GROUPS: tuple[Group, ...] = ("state", "privileged_state", "last_action", "motion", "frame")
DEFAULT_CONTEXT = 4


class TerminateCfg(SuiteOptions):
    """When an episode ends early, as a failure; null (false): never for this reason."""

    fall: bool = False
    """The anchor leans 45 degrees more than the reference's, or the root is less than half as high."""
    far_m: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The mean distance of the tracked bodies from the reference exceeds this."""
    root_far_m: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The root's distance from the reference exceeds this."""
    joint_rad: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """A joint is further than this from the reference."""


def as_list(value: Any) -> Any:
    """One source of motions may be given without a list."""
    return [value] if isinstance(value, str | dict) else value


class TrackingOptions(SuiteOptions, MotionOptions):
    """One task of the suite: a robot, the motions it is to follow, and what it sees. The keys of `MotionOptions` (fps,
    clip_s, ...) say how motion files are read."""

    places: ClassVar[frozenset[str]] = frozenset({"robot", "motions"})

    robot: str = Field(default="builtin:g1", min_length=1)
    """`builtin:g1`, `builtin:g1_bfm_zero`, `menagerie:NAME`, or the path of an MJCF file."""
    description_file: str | None = None
    """A robot description (YAML)."""
    robot_options: dict[str, Any] = Field(default_factory=dict)
    """Keys of a robot description that are to be changed: stiffness, tracked_bodies, ..."""
    motions: Annotated[list[str | dict[str, Any]], BeforeValidator(as_list)] = Field(min_length=1)
    """Files, folders, glob patterns, `procedural:all`, `procedural:NAME?seed=3`, or a mapping with the key `path` and
    reading options of its own. One may be given without a list."""
    cache_folder: str | None = None
    """Where motions that were brought to the control rate are kept for the next run; null: nowhere."""

    control_hz: float = Field(default=50.0, gt=0, le=100_000, allow_inf_nan=False)
    physics_hz: float = Field(default=200.0, gt=0, le=1_000_000, allow_inf_nan=False)
    physics: Literal["cpu", "warp", "mjx"] = "cpu"
    """The simulator: MuJoCo on the processor, in float64; MuJoCo Warp or MJX on `device`, in float32 (docs/gpu.md)."""
    device: str = Field(default="cpu", pattern=r"^(cpu|cuda(:\d{1,3})?)$")
    """`cpu`, `cuda` or `cuda:N`, for physics: warp and mjx."""
    contacts: int | None = Field(default=None, ge=1, le=100_000)
    """Contacts that a world on a device has room for, on average of all worlds; null: 48."""
    constraints: int | None = Field(default=None, ge=1, le=100_000)
    """Rows of constraints that a world on a device has room for; null: what so many contacts and all joints make."""
    action: Literal["offset", "absolute"] = "offset"
    """offset: joint targets are default pose + action scale * action. absolute: the action is the targets, rad."""

    observations: tuple[Group, ...] = Field(default=DEFAULT_GROUPS, min_length=1)
    layout: Annotated[HumanoidVerseLayout | None, BeforeValidator(layout_named)] = None
    """`humanoidverse`, or a mapping with its scales: observations and actions as BFM-Zero's models are trained with."""
    reference_offsets: tuple[Annotated[int, Field(ge=-1_000_000, le=1_000_000)], ...] = Field(
        default=(1,), min_length=1
    )
    """Frames of the `reference` observation, from the current one on; the policy is to reach frame 1 next."""
    context_length: int | None = Field(default=None, ge=1, le=1_000_000)
    """Steps in `history`; null: 4."""
    include_last_action: bool | None = None
    """True adds `last_action` to the observations, false takes it away; null: as `observations` says."""
    include_history_actor: bool = False
    """True adds `history`; with the layout `humanoidverse`, `history_actor`."""
    root_height_obs: bool = False
    """True adds `root_height`."""
    velocity_multiplier: float = Field(default=1.0, allow_inf_nan=False)
    """Factor on the velocities of the reference in what an agent is told of it beforehand."""

    randomise: RandomiseCfg = RandomiseCfg()
    noise: NoiseCfg = NoiseCfg()
    disable_domain_randomization: bool = False
    """True: as if `randomise` were empty."""
    disable_obs_noise: bool = False
    """True: as if `noise` were empty."""

    terminate: TerminateCfg = TerminateCfg()
    success: Literal["phc_mean", "phc_linf", "never_fell"] = "phc_mean"
    """What has to hold in every frame so far: mean error of the tracked bodies, or that of each, within 0.5 m; or not
    fallen."""
    legacy: Literal["bfm_zero"] | None = None
    """Compute the metrics of the recorded trials as this older evaluator did."""
    n_episodes_per_motion: int = Field(default=1, ge=1, le=1_000_000)
    max_episode_length_s: float | None = Field(default=None, gt=0, le=1_000_000, allow_inf_nan=False)
    """Longer motions are followed, and measured, so far only."""
    threads: int | None = Field(default=None, ge=1, le=1024)
    """Of the simulator; null: one per core. It changes no result."""

    @model_validator(mode="after")
    def _check(self) -> TrackingOptions:
        ratio = self.physics_hz / self.control_hz
        if ratio < 1 or abs(ratio - round(ratio)) > 1e-9:
            raise ValueError(
                f"found physics_hz {self.physics_hz:g} and control_hz {self.control_hz:g}; expected physics_hz to be a "
                "whole multiple of control_hz"
            )
        for name, unset in (("device", "cpu"), ("contacts", None), ("constraints", None)):
            if self.physics == "cpu" and getattr(self, name) != unset:
                raise ValueError(f"{name} is for worlds on a device; say physics: warp, or leave it out")
        if "history" not in self.groups and self.context_length is not None:
            raise ValueError("context_length is the length of `history`; add it: include_history_actor: true")
        if "history_actor" in self.groups and self.layout is None:
            raise ValueError("history_actor is an observation of HumanoidVerse; set layout: humanoidverse")
        if self.layout is not None and self.action == "absolute":
            raise ValueError("HumanoidVerse's actions are offsets; leave out action: absolute, or the layout")
        if not self.groups:
            raise ValueError("include_last_action: false leaves no observations; name some in `observations`")
        return self

    @property
    def groups(self) -> tuple[Group, ...]:
        """The observation groups in the end, each once."""
        chosen = dict.fromkeys(self.observations)
        extra: dict[Group, bool | None] = {
            "last_action": self.include_last_action,
            "history" if self.layout is None else "history_actor": self.include_history_actor or None,
            "root_height": self.root_height_obs or None,
        }
        for group, wanted in extra.items():
            if wanted:
                chosen[group] = None
            elif wanted is False:
                chosen.pop(group, None)
        return tuple(chosen)

    @property
    def history_length(self) -> int:
        return self.context_length or DEFAULT_CONTEXT

    @property
    def substeps(self) -> int:
        """Physics steps per control step."""
        return round(self.physics_hz / self.control_hz)

    @property
    def randomisation(self) -> RandomiseCfg:
        """What is randomised in the end."""
        return RandomiseCfg() if self.disable_domain_randomization else self.randomise

    @property
    def sensor_noise(self) -> NoiseCfg:
        """The noise in the end."""
        return NoiseCfg() if self.disable_obs_noise else self.noise
