"""One trial inside a worker: its record, its video, what it asks of a policy, how it ends.

A finished trial is put on disk (metrics, digest, npz) in the worker, where the arrays are, and before it is reported as
done. That takes the stepping thread, but for what `proctor_host.beside` does: metrics that take long, and the writing.
"""

from __future__ import annotations

import hashlib
import time
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proctor_host.cfg import RecordCfg, WorkerCfg
from proctor_host.episode import PROVENANCE, Episode, Outcome, digest
from proctor_host.extras import Extras
from proctor_host.frames import FrameSpool
from proctor_host.messages import Chunk, Left, Start
from proctor_host.npz import pack_npz
from proctor_host.result import TrialResult
from proctor_host.tape import Record
from proctor_host.task import Task
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
    ends: tuple[bytes, bytes]
    """First and last observation."""
    clipped_steps: int = 0
    error: str | None = None
    video: str | None = None
    film: Any = None
    """What wrote the video."""


class File(NamedTuple):
    """What is to be written, and where."""

    path: Path
    data: bytes


class Recorded(NamedTuple):
    """What a trial came to, what is left to the engine, and its record, which has to be on disk before the trial is
    done; None: there is none, or it is left."""

    result: TrialResult
    left: Left
    file: File | None


class Recorder:
    """For a worker with this config; `extras` measures, where it can. What cannot be done here, since there is no
    folder or no metric, is left to the engine."""

    def __init__(self, cfg: WorkerCfg, extras: Extras):
        self._folder = None if cfg.folder is None else Path(cfg.folder)
        self._series, self._extras = cfg.record.series, extras

    def beside(self, episode: Episode) -> bool:
        """Whether recording this one is worth a thread of its own."""
        try:
            return self._extras.measures and self._extras.beside(episode)
        except Exception:  # it is said when the metrics are computed
            return False

    def record(self, ended: EndedTrial) -> Recorded:
        """Measure and pack one trial."""
        episode, folder = ended.episode, self._folder
        packed = npz = size = crc = None
        if self._series or folder is None or not self._extras.measures:
            packed = pack_npz(episode.arrays)
        if self._series and packed is not None:
            npz, size, crc = f"trials/{ended.stem}.npz", len(packed), zlib.crc32(packed)
        file = None
        if folder is not None and npz is not None and packed is not None:
            file, packed = File(folder / npz, packed), None
        left = Left(packed, *self._film(ended), self._extras.measures)
        return Recorded(self._result(ended, (npz, size, crc)), left, file)

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


def _trace(episode: Episode, whole: str, ends: tuple[bytes, bytes]) -> str:
    """From the digest of the whole record, or of what is left of it without its provenance, and both ends."""
    if not PROVENANCE.isdisjoint(episode.arrays):
        whole = digest({name: array for name, array in episode.arrays.items() if name not in PROVENANCE})
    trace = hashlib.sha256(whole.encode())
    for end in ends:
        trace.update(end)
    return trace.hexdigest()


class Ending(NamedTuple):
    """How a trial ended. `outcome` and `error` are given where its policy broke it; else the episode says. `last`: the
    bytes of the latest observation."""

    outcome: Outcome | None
    error: str | None
    success_known: bool
    last: bytes


class RunningTrial:
    """A trial in a slot. How far it is (steps, warm-up, chunk) is kept by its group, for all of its slots at once."""

    __slots__ = (
        "asks_elsewhere", "clipped_steps", "company", "end", "first", "group", "judged", "odd", "record", "request",
        "start", "started", "stopped", "task", "video",
    )  # fmt: skip

    def __init__(self, start: Start, task: Task, labels: tuple[str, ...], video: Any):
        self.start, self.task, self.video = start, task, video
        self.record = Record(task.action_shape, task.action.dtype, task.dt_s, labels)
        self.request: Any = None
        """What it asks of a policy in this worker; None: the engine asks for it, or it has ended."""
        self.group: Any = None
        """The group whose slot it has."""
        self.company: Any = None
        """Where its policy lives in this worker: trials with an equal one may share a forward."""
        self.asks_elsewhere = True
        """Whether its policy answers in another process, while this one steps."""
        self.odd: Chunk | None = None
        """The chunk that is being executed, where some of its actions are clipped or invalid."""
        self.end: tuple[bool, bool] = (False, False)
        self.first = b""
        """The bytes of the first observation."""
        self.clipped_steps = 0
        self.judged: bool | None = None
        """What the operator says of it, where that is asked."""
        self.started = time.perf_counter()
        self.stopped: float | None = None

    def film(self, frame: np.ndarray) -> None:
        if self.video is not None:
            self.video.add(frame)

    def stop(self) -> None:
        """The last step is made; how it went is yet to be said."""
        self.stopped = time.perf_counter()

    def finish(self, ending: Ending, record: RecordCfg) -> EndedTrial:
        """The finished trial."""
        task = self.task
        episode = self.record.episode(ending.outcome or Outcome.DONE, self.end, task.max_steps, task.name)
        if self.judged is not None:
            flags = np.zeros_like(episode.arrays["success"])
            flags[0 if task.cfg.success_rule == "throughout" else -1 :] = self.judged
            episode = replace(episode, arrays={**episode.arrays, "success": flags})
        reached, success = None, False
        if ending.outcome is None and ending.success_known:
            rule = task.cfg.success_rule
            reached, success = episode.reached(rule), episode.succeeded(rule)
            only_truncated = self.end[1] and not self.end[0]
            missed = Outcome.TRUNCATED if only_truncated else Outcome.FAILURE
            episode = episode.ending(Outcome.SUCCESS if success else missed)
        return EndedTrial(
            trial=self.start.trial,
            stem=self.start.stem,
            episode=episode,
            success=success if ending.success_known else None,
            steps_to_success=reached,
            wall_time_s=(self.stopped or time.perf_counter()) - self.started,
            ends=(self.first, ending.last),
            clipped_steps=self.clipped_steps,
            error=ending.error,
            film=self.video,
            video=self._close_video(keep=record.keep_successes or not success),
        )

    def _close_video(self, keep: bool) -> str | None:
        if self.video is None:
            return None
        if keep and self.video.close():
            return f"videos/{self.video.path.name}"
        self.video.discard()
        return None

    def abandon(self) -> None:
        """The attempt broke: leave nothing."""
        if self.video is not None:
            self.video.discard()


def fps_of(record: RecordCfg, dt_s: float | None) -> float:
    """Frames of a second: in real time where the environment has a clock, else 30 steps a second."""
    return record.fps or (1.0 / (dt_s * record.every) if dt_s else 30.0 / record.every)


def bytes_of(seen: Any, slot: int, has_layout: bool) -> bytes:
    """The bytes of a slot's latest observation."""
    if not has_layout:
        return repr(seen[slot]).encode()
    return b"".join([column[slot : slot + 1] for column in seen])
