"""One trial inside a worker: its record, its video, what it asks of a policy, how it ends."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from proctor_host.cfg import RecordCfg
from proctor_host.episode import Outcome
from proctor_host.messages import Chunk, Start
from proctor_host.recorder import EndedTrial
from proctor_host.tape import Record
from proctor_host.task import Task


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
        "clipped_steps", "end", "first", "judged", "odd", "record", "request", "start", "started", "stopped", "task",
        "video",
    )  # fmt: skip

    def __init__(self, start: Start, task: Task, labels: tuple[str, ...], video: Any):
        self.start, self.task, self.video = start, task, video
        self.record = Record(task.action_shape, task.action.dtype, task.dt_s, labels)
        self.request: Any = None
        """What it asks of a policy in this worker; None: the engine asks for it, or it has ended."""
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
            ends=self.first + ending.last,
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
    return b"".join(column[slot].tobytes() for column in seen)
