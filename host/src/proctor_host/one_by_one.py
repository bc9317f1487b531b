"""Worlds that are stepped one after the other: an environment for each slot, one that writes rows among them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Mapping, Sequence

import numpy as np

from proctor_host.cfg import TaskCfg
from proctor_host.environments import Env, SheetEnv, Step
from proctor_host.errors import BREAKS
from proctor_host.limits import CLOSING, IDLE, MAKING, RESETTING, STEPPING, Watch
from proctor_host.sheet import HEAD, REWARD, SUCCESS, TERMINATED, TRUNCATED
from proctor_host.task import Task
from proctor_host.values import odd_rows, wrong_flag
from proctor_host.worlds import Begun, Given, Maker, Reset, Worlds, given_of


class OneByOne(Worlds):
    """An `Env` for each slot. A slot keeps its environment for the next trial of the same task with the same options,
    unless the suite's environments carry something over a reset."""

    in_one_call = False

    def __init__(self, task: Task, seen: list[Any], watch: Watch, make: Maker):
        self.task, self.seen, self._watch, self._make = task, seen, watch, make
        self._envs: dict[int, Env] = {}
        self._made: dict[int, tuple[TaskCfg, bool]] = {}

    def adopt(self, slot: int, env: Env, task: TaskCfg, renders: bool) -> None:
        """Use an environment that has been made already."""
        self._envs[slot], self._made[slot] = env, (task, renders)

    def can_reset(self, running: int) -> bool:
        return True

    def reset(self, resets: Sequence[Reset]) -> list[Begun]:
        return [self._begin(reset) for reset in resets]

    def _begin(self, reset: Reset) -> Begun:
        constants, problem, seconds = self._watch.call(RESETTING, reset.slot, self._start, reset)
        return Begun(constants or {}, problem, seconds)

    def _start(self, reset: Reset) -> Mapping[str, Any]:
        env = self._env_for(reset)
        env.step_limit = self.task.max_steps + self.task.cfg.wait_steps
        self.see(reset.slot, self._watch.alone(env.reset(reset.seed, reset.index)))
        return env.constants()

    def _env_for(self, reset: Reset) -> Env:
        slot, made = reset.slot, self._made.get(reset.slot)
        fits = made is not None and made[0] == reset.task and (made[1] or not reset.films)
        if not (fits and reset.task.reusable):
            self._watch.now_at(MAKING)
            if slot in self._envs:
                with suppress(*BREAKS):
                    self._take(slot).close()
            env = self._watch.alone(self._make(reset.task, reset.films, 1))
            assert isinstance(env, Env)
            self.adopt(slot, env, reset.task, reset.films)
            self._watch.now_at(RESETTING)
        return self._envs[slot]

    def step(self, slots: Sequence[int], actions: np.ndarray, unseen: Sequence[bool] | None, until: float) -> Given:
        watch, envs, last = self._watch, self._envs, len(slots) - 1
        steps: list[Step | None] = []
        faults: dict[int, BaseException] = {}
        seconds: list[float] = []
        watch.begin(STEPPING, slots[0])
        for row, (slot, action) in enumerate(zip(slots, actions)):
            env = envs[slot]
            try:
                step = env.step(action) if unseen is None or not unseen[row] else env.step_unseen(action)
            except BREAKS as problem:
                step, faults[row] = None, problem
            steps.append(step)
            seconds.append(watch.go_on(slots[row + 1]) if row < last else watch.end())
            if watch.now >= until:
                break
        watch.now_at(IDLE)
        return given_of(self, slots, steps, faults, seconds, unseen)

    def success_known(self, slot: int) -> bool:
        return self._envs[slot].success_known()

    def render(self, slot: int) -> np.ndarray:
        return self._envs[slot].render()

    def discard(self, slot: int) -> None:
        if slot in self._envs:
            self._watch.call(CLOSING, slot, self._take(slot).close)

    def _take(self, slot: int) -> Env:
        """The slot's environment, which is not the slot's any more."""
        self._made.pop(slot, None)
        return self._envs.pop(slot)

    def close(self) -> None:
        for slot in list(self._envs):
            self.discard(slot)


class RowByRow(OneByOne):
    """A `SheetEnv` for each slot: steps are written to rows of numbers, and a round is looked at as columns."""

    def __init__(self, task: Task, seen: list[Any], watch: Watch, make: Maker):
        super().__init__(task, seen, watch, make)
        assert task.layout is not None
        self._paths = [leaf.path for leaf in task.layout.leaves]

    def step(self, slots: Sequence[int], actions: np.ndarray, unseen: Sequence[bool] | None, until: float) -> Given:
        first = self._envs[slots[0]]
        assert isinstance(first, SheetEnv)
        sheet, rows = first.sheet, first.sheet.rows(len(slots))
        faults: dict[int, BaseException] = {}
        seconds: list[float] = []
        for row, slot in enumerate(slots):
            env = self._envs[slot]
            assert isinstance(env, SheetEnv)
            _, problem, spent = self._watch.call(STEPPING, slot, env.write, actions[row], rows[row])
            seconds.append(spent)
            if problem is not None:
                faults[row] = problem
                rows[row] = 0.0
            if self._watch.now >= until:
                break
        rows = rows[: len(seconds)]
        fine = [row for row in range(len(rows)) if row not in faults] if faults else slice(None)
        where = [slots[row] for row in fine] if isinstance(fine, list) else list(slots[: len(rows)])
        for column, leaf in zip(self.seen, sheet.leaves(rows[fine], self._paths)):
            column[where] = leaf
        flags = rows[:, TERMINATED:HEAD]
        held = flags == 1.0
        if held.tobytes() != (flags != 0.0).tobytes():
            faults.update(_odd_flags(flags))
        terminated, truncated, success = (held[:, i - TERMINATED].tolist() for i in (TERMINATED, TRUNCATED, SUCCESS))
        signals = {name: cells.column(rows) for name, cells in sheet.signals.items()}
        return Given(rows[:, REWARD].tolist(), terminated, truncated, success, signals, faults, seconds)


def _odd_flags(flags: np.ndarray) -> dict[int, BaseException]:
    """What is wrong with rows of flags of which some are neither true nor false, by row."""
    found: dict[int, BaseException] = {}
    for name, i in (("terminated", TERMINATED), ("truncated", TRUNCATED), ("success", SUCCESS)):
        column = flags[:, i - TERMINATED]
        found.update({row: wrong_flag(name, column[row]) for row in odd_rows(column)})
    return found
