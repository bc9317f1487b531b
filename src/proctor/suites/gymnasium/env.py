"""One Gymnasium environment as an `Env`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from proctor.errors import InputError
from proctor.rendering import without_display
from proctor.suites.gymnasium.informing import Informing
from proctor.suites.gymnasium.signals import SignalReader, is_known, success_check
from proctor.suites.states import States, states_of
from proctor_host.environments import NO_SIGNALS, Env, Step
from proctor_host.values import flag, number

if TYPE_CHECKING:
    from proctor.suites.gymnasium.options import GymnasiumOptions, InitialStatesCfg

make_tuple = tuple.__new__
"""Makes a named tuple in a third of the time that its class takes: this is done at every step."""

MakeEnv = Callable[[], Any]


class GymnasiumEnv(Env):
    """`make` builds the inner environment, without a time limit: now, and with `reuse: false` again for each
    trial. `max_steps` is the limit that was registered for it. The inner environment is `gym`."""

    def __init__(self, make: MakeEnv, options: GymnasiumOptions, max_steps: int | None = None):
        self._make, self._options = make, options
        self.max_steps = max_steps
        self._used = False
        self._success = success_check(options.success)
        self._signals = SignalReader(options.signals) if options.signals else None
        self._states: States | None = None
        self._reads = self._signals is not None
        self._open()
        self._informing = self._first_info() if options.info else None
        self.observation_space = self.gym.observation_space
        if self._informing is not None:
            self.observation_space = self._informing.space(self.gym.observation_space)
        self.action_space = self.gym.action_space
        self.action_dt_s = options.action_dt_s or env_dt_s(self.gym)
        self._as_int = isinstance(self.action_space, gymnasium.spaces.Discrete)

    def _first_info(self) -> Informing:
        """What `info` has, by a reset that no trial sees."""
        options, self._used = self._options, True
        _, info = self.gym.reset(seed=0, options=reset_options(options, 0))
        return Informing(None if options.info is True else options.info, info, options.id)

    def _open(self) -> None:
        self.gym = self._make()
        self._step, self._unwrapped = self.gym.step, self.gym.unwrapped

    def reset(self, seed: int, index: int) -> Any:
        if self._used and not self._options.reuse:
            self.gym.close()
            self._open()
        self._used = True
        self._states = states_of(self._unwrapped) if self.records_states else None
        self._reads = self._signals is not None or self._states is not None
        observation, info = self.gym.reset(seed=seed, options=reset_options(self._options, index))
        self._success = success_check(self._options.success)
        if self._signals is not None:
            self._signals.reset(info)
        return observation if self._informing is None else self._informing(observation, info)

    def step(self, action: Any) -> Step:
        if self._as_int:
            action = int(action)
        observation, reward, terminated, truncated, info = self._step(action)
        if type(reward) is not float:
            reward = number("reward", reward)
        if type(terminated) is not bool:
            terminated = flag("terminated", terminated)
        if type(truncated) is not bool:
            truncated = flag("truncated", truncated)
        success = self._success(self.gym, observation, reward, terminated, truncated, info)
        if self._informing is not None:
            observation = self._informing(observation, info)
        signals = self._read(info) if self._reads else NO_SIGNALS
        return make_tuple(Step, (observation, reward, terminated, truncated, success, signals))

    def _read(self, info: Mapping[str, Any]) -> dict[str, Any]:
        """The signals of a step: those that the options name, and where everything is, where that is recorded."""
        found = {} if self._signals is None else self._signals.read(self._unwrapped, info)
        return found if self._states is None else {**found, **self._states.signals()}

    def constants(self) -> Mapping[str, Any]:
        """The shapes of the model, where states are recorded."""
        return {} if self._states is None else self._states.constants()

    def success_known(self) -> bool:
        return is_known(self._success)

    def render(self) -> np.ndarray:
        make_current(self.gym)
        with without_display():
            frame = self.gym.render()
        return as_frame(frame, self._options.id)

    def close(self) -> None:
        self.gym.close()


def reset_options(options: GymnasiumOptions, index: int) -> dict[str, Any] | None:
    """What `reset(options=...)` gets for the trial of this initial-state index; None for nothing."""
    given = dict(options.reset_options)
    if options.initial_states is not None:
        given.update(initial_state(options.initial_states, index))
    return given or None


def initial_state(states: InitialStatesCfg, index: int) -> dict[str, int]:
    return {states.option: index % states.count}


def env_dt_s(env: gymnasium.Env[Any, Any]) -> float | None:
    """Simulated seconds per step where the environment says so in `dt`."""
    dt = getattr(env.unwrapped, "dt", None)
    return float(dt) if isinstance(dt, (int, float, np.floating)) and dt > 0 else None


def make_current(env: gymnasium.Env[Any, Any]) -> None:
    """Give an environment of Gymnasium's MuJoCo family its own graphics context back. Its viewer draws into whichever
    one is current, and another environment of this process may have left its own, or, when it was closed, none: then
    frames are black."""
    renderer = getattr(env.unwrapped, "mujoco_renderer", None)
    viewer = getattr(renderer, "viewer", None)
    if viewer is not None:
        viewer.make_context_current()


def as_frame(frame: Any, env_id: str) -> np.ndarray:
    """A rendered frame, checked: uint8 (height, width, 3)."""
    array = np.asarray(frame)
    if array.ndim != 3 or array.shape[2] != 3 or array.dtype != np.uint8:
        found = "None" if frame is None else f"{array.dtype} {array.shape}"
        raise InputError(f'"{env_id}" rendered {found}; expected a frame of uint8 (height, width, 3)')
    return array
