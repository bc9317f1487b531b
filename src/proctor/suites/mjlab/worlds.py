"""mjlab's worlds as a `ColumnEnv`, or where they are not exact as a `DeviceEnv`, and one of them as an `Env`.

mjlab resets ended worlds within a step by itself; that is switched off (`auto_reset`), so the observation after the
last step is the terminal one. A world that has ended and got no new trial is reset before the next step of the others,
for mjlab steps all worlds always.

Random numbers: a reset draws for one world at a time, from that world's own generators (`dice`), and so does a command
that is chosen anew in the middle of an episode. What domain randomisation draws once at start-up is drawn again for
every trial. With one world everything else may draw, too. With several, a step that draws for all of them at once is
refused, for then a trial would depend on its neighbours.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.mjlab.building import build, config, quiet
from proctor.suites.mjlab.dice import Dice, Leftovers, make_alike
from proctor.suites.mjlab.observations import Observations, arrays, box, part, readers
from proctor.suites.mjlab.telling import briefing
from proctor_host.environments import ColumnEnv, Columns, DeviceEnv, Env, Step

PROBE_SEED = 0


class MjlabWorlds(ColumnEnv):
    """`worlds` worlds of a task. Everything that mjlab compiles or does only once has happened when it is made."""

    def __init__(self, options: Any, *, render: bool, worlds: int):
        cfg = config(options, worlds=worlds)
        self._options, self.num_worlds = options, worlds
        torch = self._torch = importlib.import_module("torch")
        self._dice = Dice(torch, options.device)
        with self._dice.kept():
            self.env = build(cfg, device=options.device, render=render)
        self._leftovers = Leftovers(torch, self.env)
        self._observations = Observations(self.env, options.observations)
        self.observation_space = self._observations.space
        self.action_space = box(self.env.single_action_space.shape)
        self.action_dt_s = float(self.env.step_dt)
        self.max_steps = int(self.env.max_episode_length)
        self.briefing = briefing(self.env, options.observations)
        self._signals = readers(self.env, options.signals)
        self._success = success_reader(self.env, options.success, torch)
        self._startup = "startup" in self.env.event_manager.available_modes
        self._ended: set[int] = set()
        self._resetting: int | None = None
        if worlds > 1:
            make_alike(self.env)
            self._choose_commands_one_by_one()
        with quiet():
            self._try_out()

    def _choose_commands_one_by_one(self) -> None:
        """Have every command term draw for each world from that world's own generators."""
        for name in self.env.command_manager.active_terms:
            term = self.env.command_manager.get_term(name)
            term._resample = self._one_by_one(term._resample)

    def _one_by_one(self, resample: Callable[[Any], None]) -> Callable[[Any], None]:
        """In a reset the world's generators are in use already."""

        def each(env_ids: Any) -> None:
            for world in env_ids.tolist():
                if world == self._resetting:
                    resample(self._ids(world))
                    continue
                with self._dice.of(world):
                    resample(self._ids(world))

        return each

    def _try_out(self) -> None:
        """A reset and a step: kernels are compiled, buffers get their shapes, and what draws for all is found out."""
        for world in range(self.num_worlds):
            self._restart(world, PROBE_SEED)
        self._advance(self._torch.from_numpy(self._no_actions()).to(self.env.device))
        self._ended = set()

    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        pairs = zip(worlds, seeds, strict=True)
        return [arrays(part(self._restart(world, int(seed)), world)) for world, seed in pairs]

    def _restart(self, world: int, seed: int) -> Any:
        """Start a trial in one world; the observations of all."""
        env, ids = self.env, self._ids(world)
        if self.num_worlds == 1:
            env.common_step_counter = 0
        self._resetting = world
        try:
            with self._dice.of(world, seed):
                self._leftovers.clear(world)
                if self._startup:
                    env.event_manager.apply(mode="startup", env_ids=ids)
                if getattr(env.scene.terrain, "terrain_origins", None) is not None:
                    env.scene.terrain.randomize_env_origins(ids)
                observed, _ = env.reset(env_ids=ids)
        finally:
            self._resetting = None
        self._ended.discard(world)
        return self._observations.read(observed)

    def step_columns(self, worlds: np.ndarray | None, actions: np.ndarray) -> Columns:
        chosen = slice(None) if worlds is None else worlds
        whole = self._no_actions()
        whole[chosen] = actions
        self._revive(range(self.num_worlds) if worlds is None else worlds.tolist())
        columns = Columns(*map(arrays, self._advance(self._torch.from_numpy(whole).to(self.env.device))))
        self._ended = set(np.flatnonzero(columns.terminated | columns.truncated).tolist())
        return columns if worlds is None else Columns(*(part(column, worlds) for column in columns))

    def _revive(self, used: Sequence[int]) -> None:
        """Reset ended worlds that nobody uses: mjlab does not step while there is one."""
        again = sorted(self._ended.intersection(used))
        if again:
            raise ValueError(f"world {again[0]} has ended and got an action; reset it first")
        for world in sorted(self._ended):
            self._restart(world, PROBE_SEED)

    def _advance(self, actions: Any) -> Columns:
        """One step of all worlds, tensors in and out."""
        if self.num_worlds == 1:
            with self._dice.of(0):
                result = self.env.step(actions)
        else:
            result = self._step_together(actions)
        observed, reward, terminated, truncated, _ = result
        signals = {name: read() for name, read in self._signals.items()}
        return Columns(self._observations.read(observed), reward, terminated, truncated, self._success(), signals)

    def _step_together(self, actions: Any) -> Any:
        """A step in which nothing but commands draws, which they do one by one."""
        with self._dice.kept():
            before = self._dice.state()
            result = self.env.step(actions)
            self._refuse_draws(before)
        return result

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

    def _no_actions(self) -> np.ndarray:
        return np.zeros((self.num_worlds, *self.env.single_action_space.shape), np.float32)

    def _ids(self, world: int) -> Any:
        return self._torch.tensor([world], dtype=self._torch.int64, device=self.env.device)


class MjlabDeviceWorlds(MjlabWorlds, DeviceEnv):
    """Worlds whose arrays stay on mjlab's device. Beside a policy elsewhere they are the columns that they are."""

    def __init__(self, options: Any, *, render: bool, worlds: int):
        self.device = "cuda:0" if options.device == "cuda" else options.device
        self._tried = False
        super().__init__(options, render=render, worlds=worlds)
        self._tried = True

    def begin_device(self, worlds: np.ndarray, seeds: Sequence[int], indices: Sequence[int]) -> Any:
        observed: Any = None
        for world, seed in zip(worlds.tolist(), seeds, strict=True):
            observed = self._restart(world, int(seed))
        return observed

    def step_device(self, actions: Any) -> Columns:
        """Worlds that have ended are stepped on: to reset them, the host would have to know which. That nothing draws
        for all worlds was seen in the step with which the environment was made; to look again would take the
        generators' states from the device."""
        self.env._manual_reset_pending.zero_()
        return self._advance(self._torch.as_tensor(actions, dtype=self._torch.float32))

    def _step_together(self, actions: Any) -> Any:
        looks = self.device == "cpu" or not self._tried
        return super()._step_together(actions) if looks else self.env.step(actions)


class MjlabEnv(Env):
    """One world."""

    def __init__(self, options: Any, *, render: bool):
        self.worlds = MjlabWorlds(options, render=render, worlds=1)
        self.observation_space, self.action_space = self.worlds.observation_space, self.worlds.action_space
        self.action_dt_s, self.max_steps = self.worlds.action_dt_s, self.worlds.max_steps
        self.briefing = self.worlds.briefing

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


def success_reader(env: Any, rule: str | None, torch: Any) -> Callable[[], Any]:
    """Whether each world's goal holds now. Raises InputError where the task says nothing of success."""
    if rule is None:
        nothing = torch.zeros(env.num_envs, dtype=torch.bool, device=env.device)
        return lambda: nothing
    if rule == "survived":
        return lambda: ~env.termination_manager.terminated
    terms = [env.command_manager.get_term(name) for name in env.command_manager.active_terms]
    known = [term.compute_success for term in terms if hasattr(term, "compute_success")]
    if not known:
        raise InputError("success: command: no command of this task says what success is; use survived, or null")
    return lambda: torch.stack([check().bool() for check in known]).all(0)


def make(options: Any, *, render: bool, worlds: int) -> MjlabEnv | MjlabWorlds:
    """The environment of a task: with `batch`, `worlds` worlds in one simulation, else one. `options` has the fields of
    `MjlabOptions`. Raises InputError for what the user can mend."""
    if options.batch and not options.exact:
        return MjlabDeviceWorlds(options, render=render, worlds=worlds)
    if options.batch:
        return MjlabWorlds(options, render=render, worlds=worlds)
    return MjlabEnv(options, render=render)
