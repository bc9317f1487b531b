"""Putting a finished trial on disk: metrics, digest, npz.

It happens in the worker, where the arrays are, and before the trial is reported as done. It is done on the stepping
thread: that is little next to an episode, and a thread of its own would cost more in waiting for the
interpreter.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor_host.cfg import WorkerCfg
from proctor_host.episode import PROVENANCE, Episode, digest
from proctor_host.extras import Extras
from proctor_host.frames import FrameSpool
from proctor_host.messages import Left
from proctor_host.npz import pack_npz, write_npz
from proctor_host.result import TrialResult
from proctor_host.trials import Trial


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
    film: Any = None
    """What wrote the video."""


class Recorder:
    """For a worker with this config; `extras` measures, where it can. What cannot be done here, since there is no
    folder or no metric, is left to the engine."""

    def __init__(self, cfg: WorkerCfg, extras: Extras):
        self._folder = None if cfg.folder is None else Path(cfg.folder)
        self._series, self._extras = cfg.record.series, extras

    def record(self, ended: EndedTrial) -> tuple[TrialResult, Left]:
        """Write one trial and say what it came to, and what is left to do. When this returns, the arrays survive a
        crash, unless they are left."""
        episode, folder = ended.episode, self._folder
        npz = size = crc = record = None
        if self._series and folder is not None:
            npz = f"trials/{ended.stem}.npz"
            size, crc = write_npz(folder / npz, episode.arrays)
        elif folder is None or not self._extras.measures:
            record = pack_npz(episode.arrays)
            if self._series:
                npz, size, crc = f"trials/{ended.stem}.npz", len(record), zlib.crc32(record)
        left = Left(record, *self._film(ended), self._extras.measures)
        return self._result(ended, (npz, size, crc)), left

    def _film(self, ended: EndedTrial) -> tuple[bytes | None, float]:
        """The frames of a trial, where they have to be sent."""
        film = ended.film
        if film is None or ended.video is None or not isinstance(film, FrameSpool):
            return None, 30.0
        if self._folder is not None:
            return None, film.fps
        frames = film.path.read_bytes()
        film.discard()
        return frames, film.fps

    def _result(self, ended: EndedTrial, file: tuple[str | None, int | None, int | None]) -> TrialResult:
        episode = ended.episode
        npz, size, crc = file
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
            metrics=self._extras.measure(episode) if self._extras.measures else {},
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
