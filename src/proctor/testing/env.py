"""The laws of an environment."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import numpy as np

from proctor.suites.protocol import Env, SheetEnv, Step
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
