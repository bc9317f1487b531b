"""The laws of an environment, and of a batch environment: N worlds that step together, each with its own trial."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import numpy as np

from proctor.suites.protocol import BatchEnv, ColumnEnv, Env, SheetEnv, Step
from proctor.testing.common import (
    Conformance,
    check_kinds,
    check_observation,
    check_step,
    check_step_kinds,
    copy_tree,
    frozen,
    frozen_step,
    global_seed,
)
from proctor_host.sheet import HEAD
from proctor_host.spaces import random_action


class EnvConformance(Conformance[Env]):
    """Subclass, name it `Test...`, and write `make`."""

    steps: ClassVar[int] = 30
    """How many steps of an episode are looked at."""
    reusable: ClassVar[bool] = True
    """As the suite says: False where each trial gets a fresh environment."""

    def action(self, env: Env, rng: np.random.Generator) -> Any:
        """An action to try."""
        return random_action(env.action_space, rng)

    def test_same_seed_and_index_give_the_same_episode_in_a_fresh_environment(self) -> None:
        with global_seed(1):
            first = self._fresh_episode(seed=3, index=0)
        with global_seed(2):
            second = self._fresh_episode(seed=3, index=0)
        _same(
            first, second, "the same seed gives another episode in a fresh environment (or a global generator matters)"
        )

    def test_same_seed_and_index_give_the_same_episode_in_a_used_environment(self) -> None:
        if not self.reusable:
            return
        expected = self._fresh_episode(seed=3, index=0)
        with contextlib.closing(self.make()) as env:
            self._episode(env, seed=8, index=1)
            env.reset(9, 2)
            _same(expected, self._episode(env, seed=3, index=0), "an earlier episode changes a later one; set reusable")

    def test_observations_and_steps_are_well_formed(self) -> None:
        with contextlib.closing(self.make()) as env:
            first, steps = self._play(env, seed=0, index=0)
            check_observation(first, env.observation_space, "the first observation")
            for number, step in enumerate(steps, start=1):
                check_step(step, env.observation_space, f"step {number}")
                check_kinds(dict(step.signals), dict(steps[0].signals), f"step {number}.signals", "step 1")

    def test_every_episode_records_the_same_kinds(self) -> None:
        """Signals and observations have one dtype and shape each, in every episode."""
        with contextlib.closing(self.make()) as env:
            _, steps = self._play(env, seed=0, index=0)
        with contextlib.closing(self.make()) as env:
            first, others = self._play(env, seed=1, index=1)
        check_step_kinds(others[-1], steps[0].signals, steps[0].observation, "a second episode's", "the first")
        check_kinds(others[-1].observation, first, "the observation after a step", "the first observation")

    def test_rows_and_steps_agree(self) -> None:
        """For a SheetEnv: what `write` puts into rows is what `step` gives, dtypes included."""
        with contextlib.closing(self.make()) as stepped, contextlib.closing(self.make()) as written:
            if isinstance(stepped, SheetEnv) and isinstance(written, SheetEnv):
                self._compare_rows(stepped, written)

    def _compare_rows(self, stepped: SheetEnv, written: SheetEnv) -> None:
        sheet, rng = written.sheet, np.random.default_rng(3)
        stepped.reset(3, 0)
        written.reset(3, 0)
        for number in range(1, self.steps + 1):
            action, rows = self.action(stepped, rng), sheet.rows(1)
            step = stepped.step(action)
            written.write(action, rows[0])
            head = [float(value) for value in (step.reward, step.terminated, step.truncated, step.success)]
            assert frozen(rows[0, :HEAD]) == frozen(np.array(head)), (
                f"step {number}: write gave reward and flags {rows[0, :HEAD].tolist()}, step gave {head}"
            )
            signals = {name: cells.column(rows)[0] for name, cells in sheet.signals.items()}
            for found, expected, what in (
                (dict(step.signals), signals, "signals"),
                (step.observation, written.observed(rows), "observation"),
            ):
                check_kinds(found, expected, f"step {number}: the {what} of step", "the row of write")
                assert sorted(frozen(found)) == sorted(frozen(expected)), (
                    f"step {number}: step and write give different {what}"
                )
            if step.terminated or step.truncated:
                break

    def test_actions_are_not_changed(self) -> None:
        rng = np.random.default_rng(0)
        with contextlib.closing(self.make()) as env:
            env.reset(0, 0)
            action = self.action(env, rng)
            before = frozen(action)
            env.step(action)
            assert frozen(action) == before, "step changed the action it was given"

    def test_steps_that_nobody_sees_lead_to_the_same_episode(self) -> None:
        with contextlib.closing(self.make()) as seen, contextlib.closing(self.make()) as unseen:
            if not seen.skips_observations:
                return
            seen.reset(3, 0)
            unseen.reset(3, 0)
            rng = np.random.default_rng(3)
            for number in range(1, self.steps + 1):
                action, looks = self.action(seen, rng), number % 3 == 0
                expected, found = seen.step(action), (unseen.step if looks else unseen.step_unseen)(action)
                found = found if looks else found._replace(observation=expected.observation)
                assert frozen_step(found) == frozen_step(expected), f"step {number} differs after steps without a look"
                if expected.terminated or expected.truncated:
                    break

    def test_dummy_action_is_valid(self) -> None:
        with contextlib.closing(self.make()) as env:
            env.reset(0, 0)
            assert env.action_space.contains(env.dummy_action()), f"dummy_action() is not in {env.action_space}"
            env.step(env.dummy_action())

    def test_clock_and_limit_are_sensible(self) -> None:
        with contextlib.closing(self.make()) as env:
            assert env.action_dt_s is None or env.action_dt_s > 0, f"action_dt_s is {env.action_dt_s}"
            assert env.max_steps is None or env.max_steps >= 1, f"max_steps is {env.max_steps}"

    def test_can_be_closed_twice(self) -> None:
        env = self.make()
        env.reset(0, 0)
        env.close()
        env.close()

    def _fresh_episode(self, seed: int, index: int) -> list[Any]:
        with contextlib.closing(self.make()) as env:
            return self._episode(env, seed, index)

    def _episode(self, env: Env, seed: int, index: int) -> list[Any]:
        first, steps = self._play(env, seed, index)
        constants = frozen(dict(env.constants()))
        return [(frozen(first), constants), *(frozen_step(step) for step in steps)]

    def _play(self, env: Env, seed: int, index: int) -> tuple[Any, list[Step]]:
        rng = np.random.default_rng(seed)
        first, steps = copy_tree(env.reset(seed, index)), []
        for _ in range(self.steps):
            step = env.step(self.action(env, rng))
            steps.append(step._replace(observation=copy_tree(step.observation), signals=copy_tree(dict(step.signals))))
            if step.terminated or step.truncated:
                break
        return first, steps


def _same(first: list[Any], second: list[Any], message: str) -> None:
    assert len(first) == len(second), f"{message}: {len(first) - 1} and {len(second) - 1} steps"
    different = next((number for number, (a, b) in enumerate(zip(first, second, strict=True)) if a != b), None)
    assert different is None, f"{message}: they differ at step {different}"


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
