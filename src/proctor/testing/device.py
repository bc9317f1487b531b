"""The laws of worlds on a device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from proctor.suites.protocol import Columns, DeviceEnv
from proctor.testing.common import Conformance, frozen
from proctor_host.arrays import is_tensor, placed, to_host
from proctor_host.layout import layout_of
from proctor_host.spaces import random_action

FLAGS = ("terminated", "truncated", "success")


class DeviceEnvConformance(Conformance[DeviceEnv]):
    """Subclass, name it `Test...`, and write `make`; it should have at least three worlds. For an environment that is
    `exact`, add `BatchEnvConformance`."""

    steps: ClassVar[int] = 20
    tolerance: ClassVar[float] = 1e-4
    """By how much numbers may differ that should be equal, where the environment does not say that it is exact."""

    def action(self, env: DeviceEnv, rng: np.random.Generator) -> Any:
        """An action to try."""
        return random_action(env.action_space, rng)

    def spoil(self, env: DeviceEnv, world: int) -> bool:
        """Put NaN into the state of a world, as a simulator does that diverges; False: there is no way to do so."""
        return False

    def test_every_step_has_the_same_kinds_on_the_device(self) -> None:
        with contextlib.closing(self.make()) as env:
            first = _kinds(_flat(self._begin(env)), env, "begin_device")
            layout = layout_of(env.observation_space)
            assert layout is not None, "observations must be made of arrays"
            assert layout.flat, "observations must be one array, or a flat dict of arrays"
            expected = {leaf.label: (str(leaf.dtype), leaf.shape) for leaf in layout.leaves}
            assert first == expected, f"begin_device gave {first}; the observation space says {expected}"
            before = None
            for number, columns in enumerate(self._played(env, seed=0), start=1):
                seen = _kinds(_flat(columns.observation), env, f"step {number}")
                assert seen == first, f"step {number} shows {seen}; begin_device showed {first}"
                said = {name: getattr(columns, name) for name in ("reward", *FLAGS)}
                kinds = _kinds({**said, **columns.signals}, env, f"step {number}")
                for name in FLAGS:
                    assert kinds[name] == ("bool", ()), f"step {number}: {name} is {kinds[name]}; expected a bool each"
                reward = kinds["reward"]
                fits = reward in (("float32", ()), ("float64", ()))
                assert fits, f"step {number}: reward is {reward}; expected a float32 or float64 each"
                before = before or kinds
                assert kinds == before, f"step {number} has {kinds}; step 1 had {before}"

    def test_actions_are_not_changed(self) -> None:
        with contextlib.closing(self.make()) as env:
            self._begin(env)
            given = self._actions(env, np.random.default_rng(0))
            before = frozen(np.array(to_host(given)))
            env.step_device(given)
            assert frozen(np.array(to_host(given))) == before, "step_device changed the actions that it was given"

    def test_beginning_some_worlds_leaves_the_others_alone(self) -> None:
        with contextlib.closing(self.make()) as env:
            expected = self._world_trace(env, of=env.num_worlds - 1)
            found = self._world_trace(env, of=env.num_worlds - 1, begins=range(env.num_worlds - 1))
            self._compare(env, found, expected, "when others begin in between, the last world goes on otherwise")

    def test_begin_shows_the_others_as_they_are(self) -> None:
        with contextlib.closing(self.make()) as env:
            self._begin(env)
            (columns,) = self._played(env, seed=0, steps=1)
            before = {name: to_host(array)[-1:].copy() for name, array in _flat(columns.observation).items()}
            seen = env.begin_device(np.array([0], np.int64), [5], [5])
            after = {name: to_host(array)[-1:].copy() for name, array in _flat(seen).items()}
            self._compare(env, [after], [before], "begin_device shows the last world otherwise than the step before")

    def test_what_one_world_does_leaves_the_others_alone(self) -> None:
        with contextlib.closing(self.make()) as env:
            expected = self._world_trace(env, of=env.num_worlds - 1)
            found = self._world_trace(env, of=env.num_worlds - 1, others=99)
            self._compare(env, found, expected, "when others act otherwise, the last world goes on otherwise")

    def test_a_used_world_of_the_device_starts_afresh(self) -> None:
        with contextlib.closing(self.make()) as env:
            expected = self._world_trace(env, of=0)
            self._world_trace(env, of=1, seed=70)
            self._compare(env, self._world_trace(env, of=0), expected, "an earlier episode changes a later one")

    def test_a_world_that_diverges_leaves_the_others_alone(self) -> None:
        with contextlib.closing(self.make()) as env:
            expected = self._world_trace(env, of=env.num_worlds - 1)
            self._begin(env)
            if not self.spoil(env, 0):
                return
            found = self._world_trace(env, of=env.num_worlds - 1, spoils=True)
            self._compare(env, found, expected, "when world 0 diverges, the last world goes on otherwise")
            again = self._world_trace(env, of=0)
            finite = all(np.isfinite(array).all() for row in again for array in row.values())
            assert finite, "a world that has diverged does not start afresh"

    def test_columns_on_the_device_are_those_of_the_host(self) -> None:
        """What `step_device` gives is what `step_columns` gives, types included."""
        with contextlib.closing(self.make()) as one, contextlib.closing(self.make()) as other:
            self._begin(one)
            everyone = list(range(other.num_worlds))
            other.reset(everyone, everyone, everyone)
            rng, again = np.random.default_rng(0), np.random.default_rng(0)
            for number in range(1, self.steps + 1):
                columns = one.step_device(self._actions(one, rng))
                host = other.step_columns(None, self._drawn(other, again))
                found, expected = _everything(columns), _everything(host)
                self._compare(one, [found], [expected], f"step {number}: step_device and step_columns differ")

    def test_can_be_closed_twice(self) -> None:
        env = self.make()
        env.close()
        env.close()

    def _begin(self, env: DeviceEnv, seed: int = 0) -> Any:
        worlds = np.arange(env.num_worlds)
        return env.begin_device(worlds, (worlds + seed).tolist(), (worlds + seed).tolist())

    def _drawn(self, env: DeviceEnv, rng: np.random.Generator) -> np.ndarray:
        return np.array([self.action(env, rng) for _ in range(env.num_worlds)], env.action_space.dtype)

    def _actions(self, env: DeviceEnv, rng: np.random.Generator) -> Any:
        return placed(self._drawn(env, rng), env.device)

    def _played(self, env: DeviceEnv, seed: int, steps: int | None = None) -> Iterable[Columns]:
        rng = np.random.default_rng(seed)
        for _ in range(self.steps if steps is None else steps):
            yield env.step_device(self._actions(env, rng))

    def _world_trace(
        self,
        env: DeviceEnv,
        of: int,
        *,
        seed: int = 0,
        begins: Sequence[int] | range = (),
        others: int = 0,
        spoils: bool = False,
    ) -> list[dict[str, np.ndarray]]:
        """What one world gives, step by step. `begins`: these begin anew in the middle; `others`: a seed of what the
        other worlds do; `spoils`: world 0 diverges first."""
        seen = self._begin(env, seed)
        trace = [{name: to_host(array)[of].copy() for name, array in _flat(seen).items()}]
        if spoils:
            self.spoil(env, 0)
        own, rest = np.random.default_rng(1), np.random.default_rng(2 + others)
        for number in range(self.steps):
            if number == self.steps // 2 and len(begins):
                again = [90 + world for world in begins]
                env.begin_device(np.array(begins, np.int64), again, again)
            actions = self._drawn(env, rest)
            actions[of] = self.action(env, own)
            columns = env.step_device(placed(actions, env.device))
            trace.append({name: array[of].copy() for name, array in _everything(columns).items()})
        return trace

    def _compare(self, env: DeviceEnv, found: list[Any], expected: list[Any], message: str) -> None:
        for number, (one, two) in enumerate(zip(found, expected, strict=True)):
            assert list(one) == list(two), f"{message}: found {list(one)}, expected {list(two)}"
            for name, array in one.items():
                alike = array.dtype == two[name].dtype and array.shape == two[name].shape
                if env.exact:
                    alike = alike and frozen(array) == frozen(two[name])
                else:
                    near = {"rtol": self.tolerance, "atol": self.tolerance, "equal_nan": True}
                    alike = alike and np.allclose(array.astype(np.float64), two[name].astype(np.float64), **near)
                assert alike, f"{message}: {name} differs at step {number}"


def _flat(observation: Any) -> dict[str, Any]:
    return dict(observation) if isinstance(observation, dict) else {"observation": observation}


def _everything(columns: Columns) -> dict[str, np.ndarray]:
    """Copies on the host of all that a step gave."""
    flat = {f"observation {name}": array for name, array in _flat(columns.observation).items()}
    flags = {name: getattr(columns, name) for name in ("reward", *FLAGS)}
    return {name: np.array(to_host(array)) for name, array in {**flat, **flags, **columns.signals}.items()}


def _kinds(arrays: dict[str, Any], env: DeviceEnv, where: str) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Type and shape of a world's part of each array, which must lie on the device."""
    for name, array in arrays.items():
        if is_tensor(array):
            place = str(array.device)
            assert place.partition(":")[0] == env.device.partition(":")[0], f"{where}: {name} is on {place}"
        assert len(array) == env.num_worlds, f"{where}: {name} has {len(array)} rows for {env.num_worlds} worlds"
    host = {name: to_host(array) for name, array in arrays.items()}
    return {name: (str(array.dtype), array.shape[1:]) for name, array in host.items()}
