"""Writing records beside the stepping: metrics, digest, npz, one trial after another on its own thread.

Bounded: at most `BACKLOG` episodes wait, then stepping does. A record that cannot be written (a full disk) stops the run.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from proctor import metrics
from proctor.plan.trial import Trial
from proctor.record.episode import Episode
from proctor.record.npz import write_npz
from proctor.record.result import TrialResult
from proctor.rollout.messages import Event, Fatal, Recorded

BACKLOG = 64


@dataclass(frozen=True)
class Finished:
    """A trial that has ended, ready to be written."""

    trial: Trial
    stem: str
    episode: Episode
    success: bool
    wall_time_s: float
    clipped_steps: int = 0
    error: str | None = None
    video: str | None = None


@dataclass(frozen=True)
class WriterCfg:
    folder: Path
    series: bool
    """Write the arrays, not only what is computed from them."""
    metrics: tuple[str, ...] = ()


class RecordWriter:
    """`put` hands over a finished trial; `emit` gets Recorded for it once it is on disk, or Fatal."""

    def __init__(self, cfg: WriterCfg, emit: Callable[[Event], None]):
        self._cfg, self._emit = cfg, emit
        self._queue: queue.Queue[Finished | None] = queue.Queue(BACKLOG)
        self._broken = False
        self._thread = threading.Thread(target=self._work, name="proctor-writer", daemon=True)
        self._thread.start()

    def put(self, finished: Finished) -> None:
        self._queue.put(finished)

    def close(self) -> None:
        """Return when everything handed over is written."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (finished := self._queue.get()) is not None:
            if self._broken:
                continue
            try:
                self._emit(Recorded(self.record(finished)))
            except OSError as error:
                self._broken = True
                self._emit(Fatal(f"cannot write the record of trial {finished.trial.key}: {error}"))
            except Exception as error:
                self._broken = True
                self._emit(Fatal(f"cannot compute the record of trial {finished.trial.key}: {type(error).__name__}: {error}"))

    def record(self, finished: Finished) -> TrialResult:
        """Write one trial and say what it came to."""
        episode = finished.episode
        npz = None
        if self._cfg.series:
            npz = f"trials/{finished.stem}.npz"
            write_npz(self._cfg.folder / npz, episode.arrays)
        n, dt = episode.n_steps, episode.dt_s
        return TrialResult(
            trial=finished.trial,
            outcome=episode.outcome,
            success=finished.success,
            steps_total=n,
            steps_to_success=episode.first_success,
            episode_reward=float(episode.arrays["rewards"].sum()) if n else None,
            max_steps=episode.max_steps,
            clipped_steps=finished.clipped_steps,
            wall_time_s=finished.wall_time_s,
            sim_time_s=n * dt if dt == dt else None,
            metrics=metrics.compute(episode, self._cfg.metrics),
            error=finished.error,
            npz=npz,
            digest=episode.digest(),
            video=finished.video,
        )
