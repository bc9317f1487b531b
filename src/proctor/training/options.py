"""Options of a tracking evaluation, as data: what is examined (the keys of a tracking task), in how many worlds, and
what is done with the result."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from proctor.config.models import LARGEST_SEED
from proctor.config.validate import Explained
from proctor.policies.options import MOST_ROWS
from proctor.registry import did_you_mean
from proctor.suites.tracking.options import TrackingOptions, as_list
from proctor.suites.tracking.parts import METRICS


class EvaluationCfg(Explained, TrackingOptions):
    """What every evaluation inside a training loop has beside the keys of a tracking task."""

    name_in_logs: str = Field(min_length=1, pattern=r"^[^/#]+$")
    """Log keys are `eval/<name_in_logs>/<metric>`."""
    motions: Annotated[list[str | dict[str, Any]], BeforeValidator(as_list)] = Field(default_factory=list)
    """Files, folders, patterns, `procedural:all`."""
    seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    """With the time step it decides what is drawn."""
    generate_videos: bool = False
    videos_dir: str = "videos"
    video_name_prefix: str = "unknown_agent"

    @classmethod
    def requires_replay_buffer(cls) -> bool:
        """Whether `run` is to be given one."""
        return False


class TrackingEvaluationCfg(EvaluationCfg):
    """The keys of a tracking task (`robot`, `motions`, `observations`, `randomise`, ...) describe the evaluation's own
    environment; where the caller lends one, that one has its own observations and randomisation, and they are not
    looked at. Without `motions`, those of the lent environment are run."""

    name_in_logs: str = Field(default="tracking", min_length=1, pattern=r"^[^/#]+$")
    num_envs: int = Field(default=1024, ge=1, le=100_000)
    """Worlds of the evaluation's own environment, at most; no more are made than there are episodes."""
    include_results_from_all_envs: bool = False
    """True: worlds that would stay empty run further episodes, and these count too (their motion's mean is over more
    episodes)."""
    window: int = Field(default=1, ge=1, le=100_000)
    """Look-ahead smoothing of contexts: the mean of z over so many frames."""
    pad_to: int | None = Field(default=16, ge=1, le=MOST_ROWS)
    """Rows of every forward of a Policy, as in the options of an agent; null: all worlds at once, which is faster, and
    an episode's bytes may then depend on the others."""
    targets: dict[str, float] = Field(default_factory=dict)
    """Metric -> the value that the mean over motions has to reach (`emd: 0.75`): gives `passed`."""
    max_workers: int | None = Field(default=None, ge=1, le=10_000)
    """Threads that compute exact transport; null: one per core. It changes no result."""
    trajectories_dir: str | None = None
    """Where the frames of every episode are written, agent and reference: `<time step>/<motion>_<world>.npz`; null:
    nowhere."""
    max_videos: int | None = Field(default=8, ge=1, le=1_000_000)
    """The worst motions by `emd` get a video, at most this many; null: all."""

    @field_validator("targets")
    @classmethod
    def _known(cls, targets: dict[str, float]) -> dict[str, float]:
        for name, value in targets.items():
            if name not in METRICS:
                raise ValueError(f'unknown metric "{name}"' + did_you_mean(name, METRICS))
            if value != value:
                raise ValueError(f"the target of {name} is NaN; expected a number")
        return targets
