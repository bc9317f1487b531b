"""Frames of recorded trials: the recorded actions are played again, and what is needed is looked at.

A trial is a function of its seed and actions, so this costs a second run of the successes only, and no frame has to be
stored while trials run. Frame 0 is the first observation; frame t is what step t led to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.config.models import TaskCfg
from proctor.errors import InputError
from proctor.suites import make_env, suite_for
from proctor.suites.protocol import BatchEnv, Env
from proctor_host.trials import Trial


class Player:
    """Plays trials of one task. `source` is `render`, `observation` or `observation.KEY`."""

    def __init__(self, task: TaskCfg, source: str):
        self._task, self._source = task, source
        self._env: Env | BatchEnv | None = None

    def frames(self, trial: Trial, arrays: dict[str, np.ndarray], wanted: Sequence[int]) -> dict[int, np.ndarray]:
        """These frames of a trial, uint8 (height, width, 3), by number. Raises InputError where the trial does not
        come out as it was recorded."""
        env = self._fresh()
        needed, found, rewards = set(wanted), {}, []
        observation = self._reset(env, trial)
        for number in range(len(arrays["rewards"]) + 1):
            if number:
                observation, reward = self._step(env, arrays["actions"][number - 1])
                rewards.append(reward)
            if number in needed:
                found[number] = self._frame(env, observation, trial)
        if not np.array_equal(np.array(rewards), arrays["rewards"]):
            raise InputError(
                f"trial {trial.key} does not come out as it was recorded when its actions are played again: the "
                "environment is not a function of its seed. `proctor check` says more; take frames from recorded runs"
            )
        return found

    def close(self) -> None:
        if self._env is not None:
            self._env.close()
            self._env = None

    def _fresh(self) -> Env | BatchEnv:
        if self._env is None or not suite_for(self._task).reusable:
            self.close()
            self._env = make_env(self._task.suite, self._task.options, render=self._source == "render", worlds=1)
        return self._env

    def _reset(self, env: Env | BatchEnv, trial: Trial) -> Any:
        if isinstance(env, BatchEnv):
            observation = env.reset([0], [trial.seed], [trial.index])[0]
        else:
            observation = env.reset(trial.seed, trial.index)
        for _ in range(self._task.wait_steps):
            observation, _ = self._step(env, env.dummy_action())
        return observation

    def _step(self, env: Env | BatchEnv, action: Any) -> tuple[Any, float]:
        step = env.step({0: action})[0] if isinstance(env, BatchEnv) else env.step(action)
        return step.observation, float(step.reward)

    def _frame(self, env: Env | BatchEnv, observation: Any, trial: Trial) -> np.ndarray:
        if self._source == "render":
            frame = env.render(0) if isinstance(env, BatchEnv) else env.render()
        else:
            frame = _entry(observation, self._source.partition(".")[2], trial)
        frame = np.array(frame)
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
            raise InputError(
                f"trial {trial.key}: the frame ({self._source}) is {frame.dtype} {frame.shape}; expected uint8 "
                "(height, width, 3). Choose another source with goals.select.frames"
            )
        return frame


def _entry(observation: Any, key: str, trial: Trial) -> Any:
    if not key:
        return observation
    if not isinstance(observation, dict) or key not in observation:
        known = ", ".join(observation) if isinstance(observation, dict) else "no entries"
        raise InputError(f'trial {trial.key}: the observation has no entry "{key}" (it has {known})')
    return observation[key]


def chosen_frames(rewards: np.ndarray, last: int, best: bool) -> dict[int, bool]:
    """The frames to keep of an episode with these rewards, in order: number -> whether it is the best one. Fewer steps
    than `last` give fewer; an episode without steps has its first frame."""
    steps = len(rewards)
    numbers = {number: False for number in range(max(1, steps - last + 1), steps + 1)} if last else {}
    if best and steps:
        numbers[int(np.argmax(rewards)) + 1] = True
    return dict(sorted(numbers.items())) or {0: best}


def window_frames(number: int, window: int) -> list[int]:
    """The frames of the window that ends at a frame; before the first frame there is the first."""
    return [max(0, number - window + 1 + i) for i in range(window)]
