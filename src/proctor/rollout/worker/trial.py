"""One trial inside a worker: what it still has to execute, what has been recorded, how it ends.

A job is the worker's half of a slot's life: `WAIT` (warm-up steps with a dummy action), `EXECUTE` (a chunk of the
policy's actions, step by step), and the end. It knows nothing of policies and nothing of where it runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from proctor.config.models import LimitsCfg, RecordCfg, TaskCfg
from proctor.plan.trial import Trial
from proctor.record.builder import EpisodeBuilder
from proctor.record.episode import Outcome
from proctor.record.sheet import Sheet
from proctor.record.video import VideoWriter
from proctor.rollout.ask.actions import ActionChecker
from proctor.rollout.ask.runner import TaskEntry
from proctor.rollout.layout import Layout, layout_of
from proctor.rollout.messages import Start
from proctor.rollout.worker.recorder import Finished
from proctor.suites.protocol import BatchEnv, Env, SheetEnv, Step

DEFAULT_MAX_STEPS = 1000


@dataclass(frozen=True)
class HostCfg:
    """What a worker needs to know of a run."""

    folder: Path
    tasks: dict[str, TaskCfg]
    max_episode_steps: int | None
    record: RecordCfg
    limits: LimitsCfg
    metrics: tuple[str, ...]
    brought: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By agent, of those that bring one."""

    def task_of(self, trial: Trial) -> TaskCfg:
        """The trial's task, with the options that its agent brings."""
        return self.tasks[trial.task].with_options(self.brought.get(trial.agent, {}))


class TaskRuntime:
    """What holds for every trial of a task, once its environment has been seen."""

    def __init__(self, cfg: HostCfg, task: TaskCfg, env: Env | BatchEnv):
        self.task = task
        self.layout: Layout | None = layout_of(env.observation_space)
        self.checker = ActionChecker(env.action_space, clip=task.out_of_range == "clip")
        self.max_steps = task.max_episode_steps or cfg.max_episode_steps or env.max_steps or DEFAULT_MAX_STEPS
        self.entry = TaskEntry(task.name, self.layout, self.checker, env.dummy_action())
        self.dt_s = env.action_dt_s
        self.stop_on_success = task.stop_on_success
        keep = cfg.record.observations and self.layout is not None
        self.labels = tuple(leaf.label for leaf in self.layout.leaves) if keep and self.layout else ()
        self.dummy = env.dummy_action() if task.wait_steps else None
        self.video = cfg.record.video
        self.sheet = _checked_sheet(env, self.layout) if isinstance(env, SheetEnv) and self.layout else None
        """Of rows that its environments write."""
        self.skips = isinstance(env, Env) and env.skips_observations and not self.labels

    def leaves(self, observation: Any) -> Any:
        """The observation as it is handed on: its leaves, or the object itself."""
        return observation if self.layout is None else self.layout.split(observation)


def _checked_sheet(env: SheetEnv, layout: Layout) -> Sheet:
    """Raises ValueError where its rows do not hold what its observation space says."""
    for leaf in layout.leaves:
        cells = env.sheet.observation.get(leaf.path)
        found = None if cells is None else (cells.shape, cells.dtype)
        if found != (leaf.shape, leaf.dtype):
            has = "nothing" if found is None else f"{found[1]} {found[0]}"
            raise ValueError(f"the sheet has {has} for {leaf.label}; the observation space {leaf.dtype} {leaf.shape}")
    return env.sheet


class Job:
    """A running trial. `next_action` and `took_step` alternate; `end` says when it is over."""

    __slots__ = (
        "action", "actions", "builder", "clipped", "clipped_steps", "cursor", "end", "first", "invalid", "observation",
        "runtime", "seconds", "start", "started", "valid", "video", "waits", "wish",
    )  # fmt: skip

    def __init__(self, start: Start, runtime: TaskRuntime, folder: Path):
        self.start, self.runtime = start, runtime
        checker = runtime.checker
        self.builder = EpisodeBuilder(checker.shape, checker.dtype, runtime.dt_s, runtime.labels)
        self.waits = runtime.task.wait_steps
        self.actions: Any = None
        """The chunk that is being executed; None: the policy must be asked."""
        self.valid = self.cursor = 0
        self.clipped: np.ndarray | None = None
        self.clipped_steps = 0
        self.end: tuple[bool, bool] | None = None
        self.invalid: str | None = None
        self.observation: Any = None
        self.first = b""
        self.action: Any = None
        self.seconds = 0.0
        self.wish: Any = None
        """What it asks of a policy in this worker; None: the engine has its policy, or it has ended."""
        self.started = time.perf_counter()
        self.video = VideoWriter(folder / "videos" / f"{start.stem}.mp4", self._fps()) if start.video else None

    def _fps(self) -> float:
        video, dt = self.runtime.video, self.runtime.dt_s
        return video.fps or (1.0 / (dt * video.every) if dt else 30.0 / video.every)

    def began(self, observation: Any, constants: Mapping[str, Any]) -> None:
        """The environment was reset."""
        self.builder.keep(constants)
        self.observation = self.runtime.leaves(observation)
        self.first = self._observed()
        if self.runtime.labels and self.waits == 0:
            self.builder.observe(self.observation)

    def _observed(self) -> bytes:
        """The bytes of the latest observation."""
        if self.runtime.layout is None:
            return repr(self.observation).encode()
        return b"".join(leaf.tobytes() for leaf in self.observation)

    def execute(self, actions: Any, valid: bool) -> None:
        """Take a chunk from the policy."""
        if valid:
            self.actions, self.valid, self.clipped = actions, len(actions), None
        else:
            self.actions, self.valid, self.invalid, self.clipped = self.runtime.checker.check(actions)
        self.cursor = 0

    @property
    def goes_along(self) -> bool:
        """Whether its next step can be one of a round."""
        return self.video is None and not self.runtime.skips

    @property
    def has_action(self) -> bool:
        return self.waits > 0 or self.actions is not None

    def next_action(self) -> Any:
        """The action to step with; None when the policy's action is invalid (then `invalid` says why)."""
        if self.waits > 0:
            return self.runtime.dummy
        if self.cursor >= self.valid:
            return None
        self.action = action = self.actions[self.cursor]
        return action.copy() if type(action) is np.ndarray else action

    def unseen(self) -> bool:
        """Whether nobody looks at what the next step shows: more of the chunk or of the warm-up follows, or the step
        limit ends the trial."""
        if self.waits > 0:
            return self.waits > 1
        return self.cursor + 1 < len(self.actions) or len(self.builder) + 1 >= self.runtime.max_steps

    def took_step(self, step: Step, seen: bool = True) -> None:
        """Digest a step. Not `seen`: its observation was left out. Raises ValueError where the environment broke its
        contract."""
        observation, reward, terminated, truncated, success, signals = step
        runtime = self.runtime
        if seen:
            self.observation = observation if runtime.layout is None else runtime.layout.split(observation)
        if self.waits > 0:
            self._waited(terminated or truncated)
            return
        if not math.isfinite(reward):
            raise ValueError(f"the environment gave reward {reward}")
        n_steps = self.builder.add(self.action, reward, success, signals)
        self._made(n_steps, bool(terminated), bool(truncated), success)

    def took_row(self, row: np.ndarray, head: Sequence[float], leaves: list[np.ndarray]) -> None:
        """The same of a step that was written to a row; `head` is its beginning, `leaves` its observation."""
        reward, terminated, truncated, success = head
        self.observation = leaves
        if self.waits > 0:
            self._waited(bool(terminated or truncated))
            return
        if not math.isfinite(reward):
            raise ValueError(f"the environment gave reward {reward}")
        assert self.runtime.sheet is not None
        n_steps = self.builder.add_row(self.action, reward, bool(success), self.runtime.sheet, row)
        self._made(n_steps, bool(terminated), bool(truncated), bool(success))

    def _made(self, n_steps: int, terminated: bool, truncated: bool, success: bool) -> None:
        """A step has been recorded, the last of so many."""
        runtime = self.runtime
        if runtime.labels:
            self.builder.observe(self.observation)
        if self.clipped is not None and self.clipped[self.cursor]:
            self.clipped_steps += 1
        self.cursor += 1
        if self.cursor >= len(self.actions):
            self.actions = None
        if terminated or truncated or n_steps >= runtime.max_steps or (success and runtime.stop_on_success):
            self.end = (terminated, truncated or (n_steps >= runtime.max_steps and not terminated))

    def _waited(self, ended: bool) -> None:
        if ended:
            raise ValueError("the environment ended the episode during the warm-up steps")
        self.waits -= 1
        if self.runtime.labels and self.waits == 0:
            self.builder.observe(self.observation)

    def wants_frame(self) -> bool:
        return self.video is not None and self.waits == 0 and len(self.builder) % self.runtime.video.every == 0

    def film(self, frame: np.ndarray) -> None:
        if self.video is not None:
            self.video.add(frame)

    def finish(self, outcome: Outcome | None = None, error: str | None = None) -> Finished:
        """The finished trial. `outcome` is given where the policy broke it; else the episode says."""
        success = outcome is None and self._succeeded()
        ended = self.end or (False, False)
        if outcome is None:
            only_truncated = ended[1] and not ended[0]
            outcome = Outcome.SUCCESS if success else Outcome.TRUNCATED if only_truncated else Outcome.FAILURE
        episode = self.builder.finish(outcome, ended, self.runtime.max_steps, self.runtime.task.name)
        video = self._close_video(keep=self.runtime.video.trials != "failures" or not success)
        seconds = time.perf_counter() - self.started
        ends = self.first + self._observed()
        return Finished(
            self.start.trial, self.start.stem, episode, success, seconds, ends, self.clipped_steps, error, video
        )

    def _succeeded(self) -> bool:
        ever = self.runtime.task.success_rule == "ever"
        return self.builder.ever_succeeded if ever else self.builder.succeeded_last

    def _close_video(self, keep: bool) -> str | None:
        if self.video is None:
            return None
        if keep and self.video.close():
            return f"videos/{self.video.path.name}"
        self.video.discard()
        return None

    def abandon(self) -> None:
        if self.video is not None:
            self.video.discard()
