"""Worlds that one environment steps in one call: each slot is a world with its own trial, seed and length.

Where worlds can be reset one by one, a slot gets its next trial as soon as its last one ended; otherwise trials run in
waves, and a finished world waits for the others. What a call breaks, it breaks for every trial in it.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy as np

from proctor_host.cfg import TaskCfg
from proctor_host.environments import BatchEnv, ColumnEnv, Columns
from proctor_host.errors import BREAKS
from proctor_host.limits import ALL_SLOTS, CLOSING, MAKING, RESETTING, STEPPING, Watch
from proctor_host.task import Task
from proctor_host.values import NUMBERS, odd_rows, wrong_flag
from proctor_host.worlds import Begun, Given, Maker, Reset, Worlds, given_of

FLAGS = ("terminated", "truncated", "success")


class BatchWorlds(Worlds):
    """One `BatchEnv` with as many worlds as the worker has slots, made when the first trial begins."""

    in_one_call = True

    def __init__(self, task: Task, seen: list[Any], watch: Watch, make: Maker, slots: int):
        self.task, self.seen, self._watch, self._make, self._slots = task, seen, watch, make, slots
        self._env: BatchEnv | None = None

    def can_reset(self, running: int) -> bool:
        return not running or (self._env is not None and self._env.partial_reset)

    def reset(self, resets: Sequence[Reset]) -> list[Begun]:
        found, problem, seconds = self._watch.call(RESETTING, ALL_SLOTS, self._start, resets)
        if problem is not None:
            self.close()
        return [Begun(constants, problem, seconds) for constants in found or [{}] * len(resets)]

    def _start(self, resets: Sequence[Reset]) -> list[Mapping[str, Any]]:
        env = self._environment(resets[0].task, any(reset.films for reset in resets))
        slots = [reset.slot for reset in resets]
        seeds, indices = [reset.seed for reset in resets], [reset.index for reset in resets]
        observations = self._watch.alone(env.reset(slots, seeds, indices))
        if len(observations) != len(slots):
            raise ValueError(f"reset gave {len(observations)} observations; expected {len(slots)}, one for each world")
        for slot, observation in zip(slots, observations):
            self.see(slot, observation)
        return [env.constants(slot) for slot in slots]

    def _environment(self, task: TaskCfg, films: bool) -> BatchEnv:
        if self._env is None:
            self._watch.now_at(MAKING)
            env = self._watch.alone(self._make(task, films, self._slots))
            assert isinstance(env, BatchEnv)
            self._env = env
            self._watch.now_at(RESETTING)
        return self._env

    def step(self, slots: Sequence[int], actions: np.ndarray, unseen: Sequence[bool] | None, until: float) -> Given:
        env, rows = self._env, len(slots)
        assert env is not None
        if isinstance(env, ColumnEnv):
            worlds = None if rows == env.num_worlds else np.array(slots)
            found, problem, seconds = self._watch.call(STEPPING, ALL_SLOTS, env.step_columns, worlds, actions)
        else:
            given = dict(zip(slots, actions))
            found, problem, seconds = self._watch.call(STEPPING, ALL_SLOTS, env.step, given)
        spent = [seconds] * rows
        try:
            if problem is not None:
                raise problem
            if isinstance(found, Columns):
                return self._from_columns(slots, found, spent)
            return given_of(self, slots, [found[slot] for slot in slots], {}, spent)
        except BREAKS as broken:
            self.close()
            never = [False] * rows
            faults: dict[int, BaseException] = dict.fromkeys(range(rows), broken)
            return Given([0.0] * rows, never, never, never, {}, faults, spent)

    def _from_columns(self, slots: Sequence[int], columns: Columns, seconds: list[float]) -> Given:
        rows = len(slots)
        check_columns(columns, rows)
        faults: dict[int, BaseException] = {}
        layout = self.task.layout
        leaves = None if layout is None else layout.columns(columns.observation, rows)
        if leaves is None:
            faults = self._one_by_one(slots, columns.observation)
        else:
            where = slice(None) if rows == len(self.seen[0]) else list(slots)
            for column, leaf in zip(self.seen, leaves):
                column[where] = leaf
        for name in FLAGS:
            column = getattr(columns, name)
            faults.update({row: wrong_flag(name, column[row]) for row in odd_rows(column)})
        flags = (columns.terminated, columns.truncated, columns.success)
        terminated, truncated, success = (flag.astype(bool).tolist() for flag in flags)
        reward = columns.reward.astype(np.float64).tolist()
        return Given(reward, terminated, truncated, success, columns.signals, faults, seconds)

    def _one_by_one(self, slots: Sequence[int], observation: Any) -> dict[int, BaseException]:
        """Take observations apart that are not as their space says; what is wrong with each."""
        faults: dict[int, BaseException] = {}
        for row, slot in enumerate(slots):
            try:
                one = {key: array[row] for key, array in observation.items()} if isinstance(observation, dict) else None
                self.see(slot, observation[row] if one is None else one)
            except BREAKS as problem:
                faults[row] = problem
        return faults

    def success_known(self, slot: int) -> bool:
        return self._env is None or self._env.success_known(slot)

    def render(self, slot: int) -> np.ndarray:
        assert self._env is not None
        return self._env.render(slot)

    def discard(self, slot: int) -> None:
        """The other worlds go on: what one trial broke by itself does not end them."""

    def close(self) -> None:
        if self._env is not None:
            self._watch.call(CLOSING, ALL_SLOTS, self._env.close)
            self._env = None


def check_columns(columns: Columns, rows: int) -> None:
    """Raise ValueError where a step in columns does not have a row for each world, or its reward or flags are no
    numbers."""
    flat = {name: getattr(columns, name) for name in ("reward", *FLAGS)}
    for name, array in {**columns.signals, **flat}.items():
        if type(array) is not np.ndarray or array.shape[:1] != (rows,) or (name in flat and array.ndim != 1):
            found = array.shape if type(array) is np.ndarray else type(array).__name__
            raise ValueError(
                f"step_columns gave {name} {found}; expected an array with {rows} rows, one for each world"
            )
        if name in flat and array.dtype.kind not in NUMBERS:
            raise ValueError(f"step_columns gave {name} of {array.dtype}; expected numbers or flags")
