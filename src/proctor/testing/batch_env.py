"""The laws of a batch environment: N worlds that step together, each with its own trial."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import numpy as np

from proctor.suites.protocol import BatchEnv, ColumnEnv, Step
from proctor.testing.common import (
    Conformance,
    check_observation,
    check_step,
    check_step_kinds,
    copy_tree,
    frozen,
    frozen_step,
    global_seed,
)
from proctor_host.spaces import random_action


class BatchEnvConformance(Conformance[BatchEnv]):
    """Subclass, name it `Test...`, and write `make`; it should have at least two worlds."""

    steps: ClassVar[int] = 20

    def action(self, env: BatchEnv, rng: np.random.Generator) -> Any:
        """An action to try."""
        return random_action(env.action_space, rng)

    def test_a_world_s_episode_does_not_depend_on_its_neighbours(self) -> None:
        with global_seed(1):
            together = self._fresh_trace(seeds=None)
        with global_seed(2):
            others = self._fresh_trace(seeds={0: 0})
        assert together[0] == others[0], "world 0 has another episode when its neighbours have other seeds"

    def test_worlds_are_alike(self) -> None:
        env = self.make()
        last = env.num_worlds - 1
        env.close()
        one, other = self._fresh_trace(seeds={0: 5, last: 6}), self._fresh_trace(seeds={0: 6, last: 5})
        assert one[0] == other[last], "the same seed gives another episode in another world"

    def test_a_used_world_starts_afresh(self) -> None:
        expected = self._fresh_trace(seeds=None)
        with contextlib.closing(self.make()) as env:
            self._trace(env, {world: 90 + world for world in range(env.num_worlds)})
            again = self._trace(env, {world: world for world in range(env.num_worlds)})
        different = [world for world in expected if expected[world] != again[world]]
        assert not different, f"an earlier episode changes a later one in worlds {different}"

    def test_resetting_one_world_leaves_the_others_alone(self) -> None:
        with contextlib.closing(self.make()) as env:
            if not env.partial_reset or env.num_worlds < 2:
                return
            expected = self._last_world(env, disturb=False)
            assert self._last_world(env, disturb=True) == expected, "resetting world 0 changes another world's episode"

    def test_answers_are_well_formed_and_for_the_worlds_asked(self) -> None:
        rng = np.random.default_rng(0)
        with contextlib.closing(self.make()) as env:
            worlds = list(range(env.num_worlds))[::-1]
            first = env.reset(worlds, worlds, worlds)
            assert len(first) == len(worlds), f"reset gave {len(first)} observations for {len(worlds)} worlds"
            for world, observation in zip(worlds, first, strict=True):
                check_observation(observation, env.observation_space, f"world {world}: the first observation")
            asked = {world: self.action(env, rng) for world in worlds[:-1] or worlds}
            before = {world: frozen(action) for world, action in asked.items()}
            answered = env.step(asked)
            assert set(answered) == set(asked), f"asked to step worlds {sorted(asked)}, got {sorted(answered)}"
            for world, step in answered.items():
                check_step(step, env.observation_space, f"world {world}: step 1")
                assert frozen(asked[world]) == before[world], f"step changed the action of world {world}"

    def test_worlds_and_steps_record_the_same_kinds(self) -> None:
        rng = np.random.default_rng(0)
        with contextlib.closing(self.make()) as env:
            worlds = list(range(env.num_worlds))
            first = env.reset(worlds, worlds, worlds)[0]
            expected = None
            for number in range(1, self.steps + 1):
                answered = env.step({world: self.action(env, rng) for world in worlds})
                expected = expected or answered[0]
                for world, step in answered.items():
                    where = f"step {number}, world {world}: the"
                    check_step_kinds(step, expected.signals, first, where, "world 0 at its start")
                if any(step.terminated or step.truncated for step in answered.values()):
                    break

    def test_columns_and_steps_agree(self) -> None:
        """For a ColumnEnv: what `step_columns` gives is what `step` gives, dtypes included."""
        with contextlib.closing(self.make()) as stepped, contextlib.closing(self.make()) as columned:
            if isinstance(stepped, ColumnEnv) and isinstance(columned, ColumnEnv):
                self._compare_columns(stepped, columned)

    def _compare_columns(self, stepped: ColumnEnv, columned: ColumnEnv) -> None:
        worlds, rng = list(range(stepped.num_worlds)), np.random.default_rng(0)
        for env in (stepped, columned):
            env.reset(worlds, worlds, worlds)
        for number in range(1, self.steps + 1):
            actions = [self.action(stepped, rng) for _ in worlds]
            steps, columns = stepped.step(dict(enumerate(actions))), columned.step_columns(None, np.array(actions))
            for name in ("terminated", "truncated", "success"):
                kind = np.asarray(getattr(columns, name)).dtype
                assert kind == np.bool_, f"step {number}: the column {name} has dtype {kind}; expected bool"
            for world in worlds:
                expected = Step(*(_row(column, world) for column in columns))
                given, where = steps[world], f"step {number}, world {world}"
                check_step_kinds(given, expected.signals, expected.observation, f"{where}: the", "step_columns")
                same = frozen_step(given) == frozen_step(expected)
                assert same, f"{where}: step and step_columns give different values"
            if any(step.terminated or step.truncated for step in steps.values()):
                break

    def test_columns_are_not_overwritten_by_later_steps(self) -> None:
        rng = np.random.default_rng(0)
        with contextlib.closing(self.make()) as env:
            if not isinstance(env, ColumnEnv):
                return
            worlds = list(range(env.num_worlds))
            env.reset(worlds, worlds, worlds)
            first = env.step_columns(None, np.array([self.action(env, rng) for _ in worlds]))
            before = frozen(copy_tree(tuple(first)))
            for some in (None, np.array(worlds[-1:])):
                env.step_columns(some, np.array([self.action(env, rng) for _ in (worlds if some is None else some)]))
            assert frozen(tuple(first)) == before, "a step changed the arrays that an earlier one returned"

    def test_can_be_closed_twice(self) -> None:
        env = self.make()
        env.close()
        env.close()

    def _fresh_trace(self, seeds: dict[int, int] | None) -> dict[int, list[Any]]:
        with contextlib.closing(self.make()) as env:
            default = {w: w if seeds is None else 40 + w for w in range(env.num_worlds)}
            return self._trace(env, {**default, **(seeds or {})})

    def _trace(self, env: BatchEnv, seeds: dict[int, int]) -> dict[int, list[Any]]:
        """The episodes of all worlds; a world that has ended is no longer stepped."""
        worlds = list(seeds)
        rngs = {world: np.random.default_rng(seed) for world, seed in seeds.items()}
        first = env.reset(worlds, [seeds[w] for w in worlds], [seeds[w] for w in worlds])
        trace = {world: [frozen(copy_tree(o))] for world, o in zip(worlds, first, strict=True)}
        live = list(worlds)
        for _ in range(self.steps):
            answered = env.step({world: self.action(env, rngs[world]) for world in live})
            for world, step in answered.items():
                trace[world].append(frozen_step(step))
            live = [w for w in live if not (answered[w].terminated or answered[w].truncated)]
            if not live:
                break
        return trace

    def _last_world(self, env: BatchEnv, disturb: bool) -> list[Any]:
        """The last world's episode, in the middle of which world 0 may be reset."""
        worlds, last, rng = list(range(env.num_worlds)), env.num_worlds - 1, np.random.default_rng(0)
        env.reset(worlds, worlds, worlds)
        seen = []
        for number in range(self.steps):
            if disturb and number == 1:
                env.reset([0], [77], [77])
            step = env.step({last: self.action(env, rng)})[last]
            seen.append(frozen_step(step))
            if step.terminated or step.truncated:
                break
        return seen


def _row(column: Any, world: int) -> Any:
    """One world's row of a column, which may be a dict of arrays."""
    return {name: array[world] for name, array in column.items()} if isinstance(column, dict) else column[world]
