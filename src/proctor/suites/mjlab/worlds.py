"""mjlab's worlds as a `ColumnEnv`, and one of them as an `Env`.

mjlab resets ended worlds within a step by itself; that is switched off (`auto_reset`), so the observation after the
last step is the terminal one. A world that has ended and got no new trial is reset before the next step of the others,
for mjlab steps all worlds always.

Random numbers: a reset draws for one world at a time, from that world's own generators (`dice`), and so does a command
that is chosen anew in the middle of an episode. What domain randomisation draws once at start-up is drawn again for
every trial. With one world everything else may draw, too. With several, a step that draws for all of them at once is
refused, for then a trial would depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from proctor.errors import InputError
from proctor.suites.mjlab.building import build, config, quiet
from proctor.suites.mjlab.dice import Dice
from proctor.suites.mjlab.signals import array, readers
from proctor.suites.protocol import ColumnEnv, Columns, Env, Step

PROBE_SEED = 0


class MjlabWorlds(ColumnEnv):
    """`worlds` worlds of a task. Everything that mjlab compiles or does only once has happened when it is made."""

    def __init__(self, options: Any, *, render: bool, worlds: int):
        import torch

        self._torch, self._options = torch, options
        self.num_worlds = worlds
        self._dice = Dice(torch, options.device)
        cfg = config(options, worlds=worlds)
        with self._dice.kept():
            self.env = build(cfg, device=options.device, render=render)
        self._read = observation_reader(self.env, options.observations)
        self.observation_space = observation_space(self.env, options.observations)
        self.action_space = _box(self.env.single_action_space.shape)
        self.action_dt_s = float(self.env.step_dt)
        self.max_steps = int(self.env.max_episode_length)
        self._signals = readers(self.env, options.signals)
        self._success = success_reader(self.env, options.success)
        self._startup = "startup" in self.env.event_manager.available_modes
        self._ended: set[int] = set()
        if worlds > 1:
            self._choose_commands_one_by_one()
        self._try_out()

    def _choose_commands_one_by_one(self) -> None:
        """Have every command term draw for each world from that world's own generators."""
        for name in self.env.command_manager.active_terms:
            term = self.env.command_manager.get_term(name)
            term._resample = self._one_by_one(term._resample)

    def _one_by_one(self, resample: Callable[[Any], None]) -> Callable[[Any], None]:
        def each(env_ids: Any) -> None:
            for world in env_ids.tolist():
                if world == self._resetting:
                    resample(self._ids(world))
                    continue
                with self._dice.of(world):
                    resample(self._ids(world))

        return each

    _resetting: int | None = None
    """The world whose generators are in use because it is being reset."""

    def _try_out(self) -> None:
        """A reset and a step: kernels are compiled, buffers get their shapes, and what is drawn for all is found out."""
        for world in range(self.num_worlds):
            self._restart(world, PROBE_SEED)
        self._advance(np.zeros((self.num_worlds, *self.action_space.shape), np.float32))
        self._ended = set()

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        found = {}
        for world, seed in zip(worlds, map(int, seeds), strict=True):
            found[world] = row(self._restart(world, seed), world)
        return [found[world] for world in worlds]

    def _restart(self, world: int, seed: int) -> Any:
        """Start a trial in one world; the observations of all."""
        env, ids = self.env, self._ids(world)
        if self.num_worlds == 1:
            env.common_step_counter = 0
        self._resetting = world
        try:
            with self._dice.of(world, seed), quiet():
                if self._startup:
                    env.event_manager.apply(mode="startup", env_ids=ids)
                if getattr(env.scene.terrain, "terrain_origins", None) is not None:
                    env.scene.terrain.randomize_env_origins(ids)
                observed, _ = env.reset(env_ids=ids)
        finally:
            self._resetting = None
        self._ended.discard(world)
        return self._read(observed)

    def step_columns(self, worlds: np.ndarray | None, actions: np.ndarray) -> Columns:
        chosen = slice(None) if worlds is None else worlds
        whole = np.zeros((self.num_worlds, *self.action_space.shape), np.float32)
        whole[chosen] = actions
        for world in sorted(self._ended):
            self._restart(world, PROBE_SEED)
        columns = self._advance(whole)
        return columns if worlds is None else Columns(*(_rows(column, worlds) for column in columns))

    def _advance(self, actions: np.ndarray) -> Columns:
        """One step of all worlds."""
        given = self._torch.from_numpy(actions).to(self.env.device)
        if self.num_worlds == 1:
            with self._dice.of(0), quiet():
                result = self.env.step(given)
        else:
            with self._dice.kept(), quiet():
                before = self._dice.state()
                result = self.env.step(given)
                self._refuse_draws(before)
        observed, reward, terminated, truncated, _ = result
        terminated, truncated = array(terminated), array(truncated)
        self._ended = set(np.flatnonzero(terminated | truncated).tolist())
        signals = {name: read() for name, read in self._signals.items()}
        return Columns(self._read(observed), array(reward), terminated, truncated, self._success(), signals)

    def _refuse_draws(self, before: tuple[Any, ...]) -> None:
        if self._dice.drawn_since(before):
            raise InputError(
                f"batch: {self._options.task} draws random numbers for all worlds at once in a step, so a trial would "
                "depend on its neighbours; use batch: false"
            )

    def success_known(self, world: int) -> bool:
        return self._options.success is not None

    def render(self, world: int) -> np.ndarray:
        renderer = self.env._offline_renderer
        if renderer is None:
            raise InputError("this environment was made without frames")
        renderer._env_ids = (world,)
        return np.array(self.env.render(), np.uint8)

    def close(self) -> None:
        self.env.close()

    def _ids(self, world: int) -> Any:
        return self._torch.tensor([world], dtype=self._torch.int64, device=self.env.device)


class MjlabEnv(Env):
    """One world."""

    def __init__(self, options: Any, *, render: bool):
        self.worlds = MjlabWorlds(options, render=render, worlds=1)
        self.observation_space, self.action_space = self.worlds.observation_space, self.worlds.action_space
        self.action_dt_s, self.max_steps = self.worlds.action_dt_s, self.worlds.max_steps

    def reset(self, seed: int, index: int) -> Any:
        return self.worlds.reset([0], [seed], [index])[0]

    def step(self, action: Any) -> Step:
        return self.worlds.step({0: action})[0]

    def success_known(self) -> bool:
        return self.worlds.success_known(0)

    def render(self) -> np.ndarray:
        return self.worlds.render(0)

    def close(self) -> None:
        self.worlds.close()


def observation_space(env: Any, groups: Sequence[str]) -> Any:
    """Of one world. Raises InputError for a group that the task does not have."""
    known = env.single_observation_space.spaces
    for group in groups:
        if group not in known:
            raise InputError(f'the task has no observation group "{group}"; it has {", ".join(known)}')
    found = {}
    for group in groups:
        terms = getattr(known[group], "spaces", None)
        prefix = "" if len(groups) == 1 else f"{group}/"
        inner = {group: known[group]} if terms is None else {f"{prefix}{name}": term for name, term in terms.items()}
        found.update({name: _box(space.shape) for name, space in inner.items()})
    if len(groups) == 1 and groups[0] in found and getattr(known[groups[0]], "spaces", None) is None:
        return found[groups[0]]
    return spaces.Dict(found)


def observation_reader(env: Any, groups: Sequence[str]) -> Callable[[Mapping[str, Any]], Any]:
    """What takes the groups out of mjlab's observations: one array, or a flat dict of them."""

    def read(observed: Mapping[str, Any]) -> Any:
        if len(groups) == 1:
            only = observed[groups[0]]
            return {k: _floats(v) for k, v in only.items()} if isinstance(only, Mapping) else _floats(only)
        found = {}
        for group in groups:
            value = observed[group]
            if isinstance(value, Mapping):
                found.update({f"{group}/{name}": _floats(term) for name, term in value.items()})
            else:
                found[group] = _floats(value)
        return found

    return read


def success_reader(env: Any, rule: str | None) -> Callable[[], np.ndarray]:
    """Whether each world's goal holds now. Raises InputError where the task says nothing of success."""
    if rule is None:
        return lambda: np.zeros(env.num_envs, bool)
    if rule == "survived":
        return lambda: ~array(env.termination_manager.terminated)
    terms = [env.command_manager.get_term(name) for name in env.command_manager.active_terms]
    known = [term.compute_success for term in terms if hasattr(term, "compute_success")]
    if not known:
        raise InputError("success: command: no command of this task says what success is; use survived, or null")
    return lambda: np.logical_and.reduce([array(check()).astype(bool) for check in known])


def row(observation: Any, world: int) -> Any:
    """One world's part of the observations of all."""
    if isinstance(observation, dict):
        return {name: values[world] for name, values in observation.items()}
    return observation[world]


def _rows(column: Any, worlds: np.ndarray) -> Any:
    return {name: values[worlds] for name, values in column.items()} if isinstance(column, dict) else column[worlds]


def _floats(tensor: Any) -> np.ndarray:
    return array(tensor).astype(np.float32, copy=False)


def _box(shape: Sequence[int]) -> Any:
    return spaces.Box(-np.inf, np.inf, tuple(shape), np.float32)
