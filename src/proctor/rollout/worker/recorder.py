"""Putting a finished trial on disk: metrics, digest, npz.

It happens in the worker, where the arrays are, and before the trial is reported as done. It is done on the stepping
thread: that is little next to an episode, and a thread of its own would cost more in waiting for the
interpreter.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from proctor import metrics
from proctor.plan.trial import Trial
from proctor.record.episode import PROVENANCE, Episode, digest
from proctor.record.npz import write_npz
from proctor.record.result import TrialResult


@dataclass(frozen=True)
class EndedTrial:
    """A trial that has ended, ready to be written."""

    trial: Trial
    stem: str
    episode: Episode
    success: bool | None
    steps_to_success: int | None
    wall_time_s: float
    ends: bytes
    """First and last observation."""
    clipped_steps: int = 0
    error: str | None = None
    video: str | None = None


@dataclass(frozen=True)
class Recorder:
    """`series`: write the arrays, not only what is computed from them. `metrics`: further ones, by import string."""

    folder: Path
    series: bool
    metrics: tuple[str, ...] = ()

    def record(self, ended: EndedTrial) -> TrialResult:
        """Write one trial and say what it came to. When this returns, the arrays survive a crash."""
        episode = ended.episode
        npz = size = crc = None
        if self.series:
            npz = f"trials/{ended.stem}.npz"
            size, crc = write_npz(self.folder / npz, episode.arrays)
        n, dt, whole = episode.n_steps, episode.dt_s, episode.digest()
        return TrialResult(
            trial=ended.trial,
            outcome=episode.outcome,
            success=ended.success,
            steps_total=n,
            steps_to_success=ended.steps_to_success,
            first_success=episode.first_success,
            episode_reward=episode.total_reward,
            max_steps=episode.max_steps,
            clipped_steps=ended.clipped_steps,
            wall_time_s=ended.wall_time_s,
            sim_time_s=n * dt if dt == dt else None,
            metrics=metrics.compute(episode, self.metrics),
            error=ended.error,
            npz=npz,
            npz_size=size,
            npz_crc=crc,
            digest=whole,
            trace=_trace(episode, whole, ended.ends),
            video=ended.video,
            case=episode.case,
        )


def _trace(episode: Episode, whole: str, ends: bytes) -> str:
    """From the digest of the whole record, or of what is left of it without its provenance, and both ends."""
    if not PROVENANCE.isdisjoint(episode.arrays):
        whole = digest({name: array for name, array in episode.arrays.items() if name not in PROVENANCE})
    return hashlib.sha256(whole.encode() + ends).hexdigest()
