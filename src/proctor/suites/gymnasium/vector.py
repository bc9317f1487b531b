"""A Gymnasium vector environment as a `BatchEnv`: made by the suite, or lent by somebody's training loop.

Every world runs its own trial. What a world without an action does is nobody's concern, but it must not raise: it gets
the neutral action, and is reset where it has ended. How the vector environment resets ended worlds decides the rest:

- `Disabled`: it does not; worlds are reset one by one.
- `NextStep`: on the following step; the observation of the last step is the terminal one.
- `SameStep`: at once; the terminal observation and info are in `final_obs` and `final_info`. The world itself
  is already in its next episode then, so what is read from the world (frames, `env.` signals, a success
  function) is refused.

Gymnasium's own sync and async environments reset single worlds in every mode; others only where automatic
resets are disabled, and else trials run in waves. Gymnasium 1.0 knows `NextStep` alone and resets no single world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array

from proctor.errors import InputError
from proctor.rendering import without_display
from proctor.suites.autoreset import HAS_MODES, AutoresetMode
from proctor.suites.gymnasium.env import as_frame, env_dt_s, initial_state
from proctor.suites.gymnasium.signals import SignalReader, is_known, parse_path, success_check
from proctor_host.environments import NO_SIGNALS, BatchEnv, Step
from proctor_host.values import flag, number

if TYPE_CHECKING:
    from proctor.suites.gymnasium.options import GymnasiumOptions


class VectorEnvAdapter(BatchEnv):
    """Wraps `vector`. Of `options` these are read: success, signals, initial_states, reset_options,
    action_dt_s and vector.seeding. `owned`: `close` closes the vector environment too. `autoreset_mode` is
    for one that does not say in its metadata how it resets."""

    def __init__(
        self,
        vector: VectorEnv[Any, Any, Any],
        *,
        options: GymnasiumOptions | None = None,
        max_steps: int | None = None,
        owned: bool = False,
        autoreset_mode: AutoresetMode | None = None,
    ):
        self.vector, self._owned = vector, owned
        self._options = options or _defaults()
        self._joint = self._options.vector is not None and self._options.vector.seeding == "joint"
        self._mode = autoreset_mode or _autoreset_mode(vector)
        self._standard = isinstance(vector.unwrapped, (SyncVectorEnv, AsyncVectorEnv))
        single = (self._standard and HAS_MODES) or self._mode is AutoresetMode.DISABLED
        self.partial_reset = single and not self._joint
        self._envs = list(vector.unwrapped.envs) if isinstance(vector.unwrapped, SyncVectorEnv) else None
        self.num_worlds = vector.num_envs
        self.observation_space = vector.single_observation_space
        self.action_space = vector.single_action_space
        self.max_steps = max_steps or (vector.spec.max_episode_steps if vector.spec else None)
        self.action_dt_s = self._options.action_dt_s or (env_dt_s(self._envs[0]) if self._envs else None)
        self._neutral = self.dummy_action()
        self._success = [success_check(self._options.success) for _ in range(self.num_worlds)]
        self._signals = [SignalReader(self._options.signals) for _ in range(self.num_worlds)]
        self._started = False
        self._ended: set[int] = set()
        self._refuse_what_cannot_be_had()

    def _refuse_what_cannot_be_had(self) -> None:
        base, same_step = self.vector.unwrapped, self._mode is AutoresetMode.SAME_STEP
        from_env = [n for n, path in self._options.signals.items() if parse_path(path).root == "env"]
        from_env += ["success.function"] if self._options.success and self._options.success.function else []
        if from_env and (self._envs is None or same_step):
            why = "resets an ended world at once" if same_step else "does not give out its worlds"
            raise InputError(
                f"{', '.join(from_env)}: reads from the environment, but {type(base).__name__} {why}; "
                "use info.KEY, or vector: {mode: sync}"
            )
        if self._options.initial_states is not None and not self.partial_reset:
            raise InputError(f"initial_states: {type(base).__name__} cannot reset one world at a time")
        if isinstance(base, AsyncVectorEnv) and self._mode is AutoresetMode.NEXT_STEP and not base.shared_memory:
            raise InputError(
                "AsyncVectorEnv(shared_memory=False) resets a world once more after an explicit reset, so "
                "its trial would not start from its seed; make it with shared_memory=True or Disabled"
            )

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        found: dict[int, Any] = {}
        for batch, extra in self._reset_batches(worlds, seeds, indices):
            observation, infos = self._reset_worlds(batch, extra)
            for world in batch:
                found[world] = world_observation(self.observation_space, observation, world)
                self._success[world] = success_check(self._options.success)
                self._signals[world].reset(world_info(infos, world, self.num_worlds))
        return [found[world] for world in worlds]

    def _reset_batches(
        self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]
    ) -> list[tuple[dict[int, int], dict[str, Any]]]:
        """World -> seed, and further reset options, for each call that is needed: options hold for all worlds
        of a call, so numbered initial states take one call for each world."""
        by_world = dict(zip(worlds, map(int, seeds), strict=True))
        states = self._options.initial_states
        if states is None:
            return [(by_world, {})] if by_world else []
        return [
            ({world: by_world[world]}, initial_state(states, index))
            for world, index in zip(worlds, indices, strict=True)
        ]

    def _reset_worlds(self, seeds: Mapping[int, int], extra: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Reset these worlds; all of them where single ones cannot be, or on the very first reset."""
        options = {**self._options.reset_options, **extra}
        mask = np.ones(self.num_worlds, bool)
        if self.partial_reset and self._started:
            mask[:] = [world in seeds for world in range(self.num_worlds)]
            options["reset_mask"] = mask.copy()
        seed: Any = [seeds.get(world, 0) for world in range(self.num_worlds)]
        if self._joint:
            seed = next(iter(seeds.values()))
        try:
            result = self.vector.reset(seed=seed, options=options or None)
        except (TypeError, ValueError, gymnasium.error.Error) as error:
            if self._standard or self._joint or self._started:
                raise
            raise InputError(
                f"{type(self.vector.unwrapped).__name__} does not take a seed for each world ({error}); use "
                "vector: {mode: sync}, or seeding: joint if a trial may depend on its neighbours"
            ) from error
        self._started = True
        self._ended -= set(np.flatnonzero(mask).tolist())
        return result

    def step(self, actions: Mapping[int, Any]) -> dict[int, Step]:
        if self._mode is AutoresetMode.DISABLED and self._ended:
            self._revive(actions)
        rows = [actions.get(world, self._neutral) for world in range(self.num_worlds)]
        empty = create_empty_array(self.action_space, self.num_worlds)
        batch = concatenate(self.action_space, rows, empty)
        observation, rewards, terminated, truncated, infos = self.vector.step(batch)
        ended = np.logical_or(np.asarray(terminated), np.asarray(truncated))
        self._ended = set(np.flatnonzero(ended).tolist())
        flags = (np.asarray(terminated).tolist(), np.asarray(truncated).tolist())
        return {
            world: self._world_step(
                world, self._last(world, observation, infos), number("reward", rewards[world]), flags
            )
            for world in actions
        }

    def _revive(self, actions: Mapping[int, Any]) -> None:
        """Reset ended worlds that nobody uses, so that stepping them does not raise."""
        used = sorted(self._ended & actions.keys())
        if used:
            raise ValueError(f"world {used[0]} has ended and got an action; reset it first")
        self._reset_worlds(dict.fromkeys(sorted(self._ended), 0), {})

    def _last(self, world: int, observation: Any, infos: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Observation and info after the step of one world; at the end the terminal ones."""
        if self._mode is not AutoresetMode.SAME_STEP or world not in self._ended:
            info = world_info(infos, world, self.num_worlds)
            return world_observation(self.observation_space, observation, world), info
        if "final_obs" not in infos:
            name = type(self.vector.unwrapped).__name__
            raise InputError(f'{name} resets ended worlds at once but gives no info["final_obs"]; the end is lost')
        info = world_info(infos.get("final_info", {}), world, self.num_worlds)
        return infos["final_obs"][world], info

    def _world_step(
        self, world: int, last: tuple[Any, dict[str, Any]], reward: float, flags: tuple[list[bool], list[bool]]
    ) -> Step:
        observation, info = last
        terminated, truncated = flag("terminated", flags[0][world]), flag("truncated", flags[1][world])
        env = None if self._envs is None else self._envs[world]
        success = self._success[world](env, observation, reward, terminated, truncated, info)
        signals: Mapping[str, Any] = NO_SIGNALS
        if self._options.signals:
            signals = self._signals[world].read(None if env is None else env.unwrapped, info)
        return Step(observation, reward, terminated, truncated, success, signals)

    def success_known(self, world: int) -> bool:
        return is_known(self._success[world])

    def render(self, world: int) -> np.ndarray:
        if self._mode is AutoresetMode.SAME_STEP and world in self._ended:
            raise InputError(
                f"world {world} was reset in the step that ended it, so its last frame is gone; "
                "make the vector environment with autoreset_mode Disabled or NextStep"
            )
        with without_display():
            frames = self.vector.render()
        if frames is None:
            raise InputError(
                f"{type(self.vector.unwrapped).__name__} renders no frames; it needs render_mode rgb_array"
            )
        return as_frame(frames[world], self._options.id)

    def close(self) -> None:
        if self._owned:
            self.vector.close()


def _autoreset_mode(vector: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    base = vector.unwrapped
    if isinstance(base, (SyncVectorEnv, AsyncVectorEnv)):
        if not HAS_MODES:
            return AutoresetMode("NextStep")
        return base.autoreset_mode  # their metadata is the class's, and shared with every other vector of it
    mode = vector.metadata.get("autoreset_mode", None if HAS_MODES else AutoresetMode.NEXT_STEP)
    if not isinstance(mode, AutoresetMode):
        raise InputError(
            f"{type(base).__name__} does not say how it resets ended worlds: "
            f'metadata["autoreset_mode"] is {mode!r}; give autoreset_mode (gymnasium.vector.AutoresetMode)'
        )
    return mode


def world_observation(space: gymnasium.Space[Any], batch: Any, world: int) -> Any:
    """A copy of one world's observation; `space` is that of a single world."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {key: world_observation(sub, batch[key], world) for key, sub in space.spaces.items()}
    if isinstance(space, gymnasium.spaces.Tuple):
        return tuple(world_observation(sub, part, world) for sub, part in zip(space.spaces, batch, strict=True))
    row = batch[world]
    return row.copy() if isinstance(row, np.ndarray) else row


def world_info(infos: dict[str, Any], world: int, num_worlds: int) -> dict[str, Any]:
    """One world's info. An entry `_key` masks the worlds that have `key`; without a mask an array with a row
    for each world is split, and anything else belongs to all."""
    found: dict[str, Any] = {}
    for key, value in infos.items():
        if key.startswith("_") and key[1:] in infos:
            continue
        mask = infos.get(f"_{key}")
        if mask is not None and not mask[world]:
            continue
        if isinstance(value, dict):
            found[key] = world_info(value, world, num_worlds)
        elif isinstance(value, (np.ndarray, list, tuple)) and len(value) == num_worlds:
            found[key] = value[world]
        else:
            found[key] = value
    return found


def _defaults() -> GymnasiumOptions:
    """Of a vector environment that somebody lends, which happens in the engine's interpreter only."""
    from proctor.suites.gymnasium.options import GymnasiumOptions

    return GymnasiumOptions(id="vector")
