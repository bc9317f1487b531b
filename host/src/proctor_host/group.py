"""The slots of one task in a worker, and the one way in which they are stepped.

A *round* steps several slots, one after the other or in one call (`worlds`), and only then looks at what they gave, all
together: a simulator drives everything else out of the processor's caches, and what follows a step would take several
times as long by itself. Limits, blame, recording and the end of a trial are decided here and nowhere else.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Sequence

import numpy as np

from proctor_host.episode import Outcome
from proctor_host.errors import BREAKS, explain
from proctor_host.layout import Nans, nan_in
from proctor_host.limits import STEPPING
from proctor_host.lines import Seat
from proctor_host.messages import Chunk, Judge, Start
from proctor_host.tape import Record, RoundRecord, Tape
from proctor_host.task import Task
from proctor_host.trial import Ending, RunningTrial, bytes_of, fps_of
from proctor_host.worlds import Given, Reset, Worlds

if TYPE_CHECKING:
    from proctor_host.host import Host


class Group:
    """`running` maps a slot to its trial, `starts` to one that has not begun."""

    def __init__(self, host: Host, task: Task, worlds: Worlds, slots: int):
        self.host, self.task, self.worlds = host, task, worlds
        self.running: dict[int, RunningTrial] = {}
        self.starts: dict[int, Start] = {}
        self.acting: set[int] = set()
        """Slots that can be stepped."""
        keep = host.cfg.record.observations and task.layout is not None
        self._labels = tuple(leaf.label for leaf in task.layout.leaves) if keep and task.layout else ()
        self._records: dict[int, Record] = {}
        self._tape = Tape()
        self._steps, self._waits, self._cursor = ([0] * slots for _ in range(3))
        """By slot: steps recorded, warm-up steps left, and the next action of the chunk."""
        self._nothing = np.zeros((0, *task.action_shape), task.action.dtype)
        self._chunks = [self._nothing] * slots
        """By slot: the actions that are executed, `(horizon, *action)`."""
        self._seconds = [0.0] * slots
        """What each slot's trial has spent in its environment."""
        self._waiting: set[int] = set()
        """Slots in their warm-up."""
        self._odd: set[int] = set()
        """Slots whose chunk is not valid throughout, or clipped."""
        self._filmed: set[int] = set()
        strict = task.layout is not None and task.cfg.nan_observations == "fault"
        self._nans = Nans(task.layout, worlds.seen) if strict and task.layout is not None else None

    # Trials -----------------------------------------------------------------------------------------------------------

    def expect(self, start: Start) -> None:
        """A trial is to begin in a slot."""
        self.starts[start.slot] = start

    @property
    def in_use(self) -> bool:
        """Whether trials run."""
        return bool(self.running)

    @property
    def can_begin(self) -> bool:
        return bool(self.starts) and self.worlds.can_reset(len(self.running))

    @property
    def can_go(self) -> bool:
        """Whether worlds that step in one call have everybody's action."""
        return self.worlds.in_one_call and 0 < len(self.running) == len(self.acting)

    def begin(self, slots: Sequence[int]) -> None:
        """Begin the trials that wait for these slots."""
        starts = [self.starts.pop(slot) for slot in slots]
        cfg, others = self.host.cfg, list(self.running)
        for start in starts:
            self._admit(start)
        trials = [start.trial for start in starts]
        resets = [Reset(s.slot, cfg.task_of(t), t.seed, t.index, s.video) for s, t in zip(starts, trials)]
        for start, (constants, problem, seconds) in zip(starts, self.worlds.reset(resets)):
            slot, trial = start.slot, self.running[start.slot]
            self._seconds[slot] = seconds
            try:
                if problem is not None:
                    raise problem
                trial.record.keep(constants)
                self._began(slot, trial)
            except BREAKS as broken:
                self.fault(slot, Outcome.ENV_ERROR, explain(broken))
                if self.worlds.in_one_call and problem is not None:
                    for other in [o for o in others if o in self.running]:
                        self.fault(other, Outcome.ENV_ERROR, explain(broken))

    def _admit(self, start: Start) -> None:
        cfg, slot = self.host.cfg, start.slot
        video = self.host.film(start.stem, fps_of(cfg.record, self.task.dt_s)) if start.video else None
        trial = self.running[slot] = RunningTrial(start, self.task, self._labels, video)
        trial.group = self
        trial.request = self.host.request(trial) if start.in_worker else None
        trial.asks_elsewhere = trial.request is None or type(trial.request) is Seat
        self._records[slot] = trial.record
        self._waits[slot] = self.task.cfg.wait_steps
        self._steps[slot] = self._cursor[slot] = 0
        self._chunks[slot] = self._nothing
        if self._waits[slot]:
            self._waiting.add(slot)
        if video is not None:
            self._filmed.add(slot)

    def _began(self, slot: int, trial: RunningTrial) -> None:
        trial.first = self._latest(slot)
        if slot not in self._waiting:
            self._first_look(slot, trial)
        late = self.host.limits.broken(self._seconds[slot], self._seconds[slot], self.host.limits.reset_s)
        if late:
            self.fault(slot, Outcome.TIMEOUT, late)
        elif slot in self._waiting:
            self._act([slot])
        else:
            self.host.ask(self, [slot])

    def _first_look(self, slot: int, trial: RunningTrial) -> None:
        """The policy is asked next, for the first time. Raises ValueError where it would see NaN."""
        if self._nans is not None and (found := self._nans.found([slot])):
            raise ValueError(nan_in(found[slot]))
        if self._labels:
            trial.record.observe([column[slot] for column in self.worlds.seen])
        if trial.video is not None:
            trial.film(self._frame(slot))

    def _latest(self, slot: int) -> bytes:
        return bytes_of(self.worlds.seen, slot, self.task.layout is not None)

    def execute(self, slots: Sequence[int], chunks: Sequence[np.ndarray] | np.ndarray) -> None:
        """Execute a chunk `(horizon, *action)` in each slot, of actions that are all valid, and are not changed any
        more."""
        executed, cursor = self._chunks, self._cursor
        for slot, chunk in zip(slots, chunks):
            executed[slot], cursor[slot] = chunk, 0
        if self._odd:
            self._odd.difference_update(slots)
        self._act(slots)

    def execute_odd(self, slot: int, chunk: Chunk) -> None:
        """Execute a chunk of which some actions are clipped, or which is invalid from some action on."""
        self.execute([slot], chunk.actions[None, : chunk.valid] if chunk.valid else self._nothing[None])
        self.running[slot].odd = chunk
        self._odd.add(slot)

    def _act(self, slots: Sequence[int]) -> None:
        """These can be stepped."""
        self.acting.update(slots)
        if not self.worlds.in_one_call:
            self.host.ready.extend([(self, slot) for slot in slots])

    def round(self) -> int:
        """Step whatever can be stepped, in worlds that step in one call; how many have been stepped."""
        return self.go(sorted(self.acting), 0.0)

    # Rounds -----------------------------------------------------------------------------------------------------------

    def go(self, slots: list[int], until: float) -> int:
        """Step these slots, which have an action; how many have been stepped. Worlds that are stepped one by one stop
        at the time `until`; those left over can be stepped in the next round."""
        self.acting.difference_update(slots)
        if self._odd:
            slots = self._without_invalid(slots)
            if not slots:
                return 0
        waiting = [row for row, slot in enumerate(slots) if slot in self._waiting] if self._waiting else []
        actions = self._next_actions(slots)
        unseen = self._unseen(slots) if self.task.skips and not self._labels else None
        given = self.worlds.step(slots, actions.copy(), unseen, until)  # environments may change what they are given
        n = len(given.seconds)
        if n < len(slots):
            self.acting.update(slots[n:])
            self.host.ready.extendleft([(self, slot) for slot in reversed(slots[n:])])
            slots, actions, waiting = slots[:n], actions[:n], [row for row in waiting if row < n]
        self.host.spent(given.seconds, self.worlds.in_one_call)
        self._digest(slots, actions, given, waiting)
        return n

    def _next_actions(self, slots: list[int]) -> np.ndarray:
        """The next action of each slot; in its warm-up, one that does nothing."""
        chunks, cursor, waiting = self._chunks, self._cursor, self._waiting
        if waiting:
            actions = [self.task.dummy if slot in waiting else chunks[slot][cursor[slot]] for slot in slots]
        else:
            actions = [chunks[slot][cursor[slot]] for slot in slots]
        return np.array(actions, self.task.action.dtype)

    def _without_invalid(self, slots: list[int]) -> list[int]:
        """End the trials whose next action is invalid; the other slots."""
        fine = []
        for slot in slots:
            odd = self.running[slot].odd if slot in self._odd and slot not in self._waiting else None
            if odd is not None and self._cursor[slot] >= odd.valid:
                self._invalid(slot, odd.reason or "")
            else:
                fine.append(slot)
        return fine

    def _invalid(self, slot: int, reason: str) -> None:
        """The policy's action cannot be executed; where the observation it saw was not finite, and the task does not
        say that policies are to deal with that, the environment is to blame."""
        leaves = [column[slot] for column in self.worlds.seen] if self._nans is not None else []
        if any(leaf.dtype.kind == "f" and not np.isfinite(leaf).all() for leaf in leaves):
            self.fault(slot, Outcome.ENV_ERROR, f"the observation holds infinity; the policy answered: {reason}")
        else:
            self.finish(slot, Outcome.INVALID_ACTION, reason)

    def _unseen(self, slots: list[int]) -> list[bool]:
        """Whether nobody looks at what the next step of a slot shows: more of the chunk or of the warm-up follows, or
        the step limit ends the trial."""
        return [
            self._waits[slot] > 1
            if slot in self._waiting
            else self._cursor[slot] + 1 < len(self._chunks[slot])
            or self._steps[slot] + 1 >= self.task.max_steps
            or self._has_invalid(slot)
            for slot in slots
        ]

    def _digest(self, slots: list[int], actions: np.ndarray, given: Given, waiting: list[int]) -> None:
        """Look at what a round gave: faults and limits first, then warm-ups, then the record, then what is next."""
        gone = self._broken(slots, waiting, given)
        for row in waiting:
            if row not in gone:
                self._waited(slots[row], row, given, gone)
        if gone or waiting:
            rows = [row for row in range(len(slots)) if row not in gone and row not in waiting]
            if not rows:
                return
            slots, actions, given = [slots[row] for row in rows], actions[rows], given.take(rows)
        leaves = [column[slots] for column in self.worlds.seen] if self._labels else ()
        own = {"actions": actions, "rewards": given.reward, "success": given.success}
        self._tape.write(tuple(slots), self._records, RoundRecord(own, given.signals, leaves, given.said))
        if self._odd:
            self._count_clipped(slots)
        self._go_on(slots, given)

    def _broken(self, slots: list[int], waiting: list[int], given: Given) -> set[int]:
        """End the attempts that broke: what was raised, a reward or observation that is NaN, a limit. Their rows."""
        faults, limits, total = given.faults, self.host.limits, self._seconds
        if not math.isfinite(sum(given.reward)):
            for row, reward in enumerate(given.reward):
                if not (math.isfinite(reward) or row in faults or row in waiting):
                    faults[row] = ValueError(f"the environment gave reward {reward}")
        if self._nans is not None and (found := self._nans.found(slots)):
            for row, slot in enumerate(slots):
                if slot in found and row not in faults and row not in waiting:
                    faults[row] = ValueError(nan_in(found[slot]))
        for row, problem in faults.items():
            self.fault(slots[row], Outcome.ENV_ERROR, explain(problem))
        gone = set(faults)
        for slot, seconds in zip(slots, given.seconds):
            total[slot] += seconds
        if max(given.seconds) <= limits.step_s and limits.trial_s == math.inf:
            return gone
        for row, slot in enumerate(slots):
            late = None if row in gone else limits.broken(given.seconds[row], total[slot], limits.step_s)
            if late:
                self.fault(slot, Outcome.TIMEOUT, late)
                gone.add(row)
        return gone

    def _waited(self, slot: int, row: int, given: Given, gone: set[int]) -> None:
        """A warm-up step was made."""
        try:
            if given.terminated[row] or given.truncated[row]:
                raise ValueError("the environment ended the episode during the warm-up steps")
            self._waits[slot] -= 1
            if self._waits[slot]:
                self._act([slot])
                return
            self._waiting.discard(slot)
            self._first_look(slot, self.running[slot])
            self.host.ask(self, [slot])
        except BREAKS as problem:
            gone.add(row)
            self.fault(slot, Outcome.ENV_ERROR, explain(problem))

    def _count_clipped(self, slots: list[int]) -> None:
        for slot in self._odd.intersection(slots):
            trial = self.running[slot]
            if trial.odd is not None and trial.odd.clipped is not None:
                trial.clipped_steps += int(trial.odd.clipped[self._cursor[slot]])

    def _go_on(self, slots: list[int], given: Given) -> None:
        """Every slot of these has made a recorded step: it ends, has more to execute, or asks."""
        steps, cursor, chunks, limit = self._steps, self._cursor, self._chunks, self.task.max_steps
        terminated, truncated = given.terminated, given.truncated
        over, acting, asking = [], [], []
        for row, slot in enumerate(slots):
            done, at = steps[slot] + 1, cursor[slot] + 1
            steps[slot], cursor[slot] = done, at
            if terminated[row] or truncated[row] or done >= limit:
                over.append(row)
            elif at < len(chunks[slot]):
                acting.append(slot)
            else:
                asking.append(slot)
        if self._odd or self._filmed or self.task.cfg.stop_on_success:
            over, acting, asking = self._sorted_again(slots, given, over)
        for row in over:
            ended = terminated[row]
            self.running[slots[row]].end = ended, truncated[row] or (steps[slots[row]] >= limit and not ended)
            self.finish(slots[row])
        if acting:
            self._act(acting)
        self.host.ask(self, asking)

    def _sorted_again(self, slots: list[int], given: Given, over: list[int]) -> tuple[list[int], list[int], list[int]]:
        """Rows that end, slots that have more to execute and slots that ask, where more than flags and counts decides:
        success that stops a trial, invalid actions that follow, and frames that cannot be had."""
        if self.task.cfg.stop_on_success:
            over = sorted({*over, *np.flatnonzero(given.success).tolist()})
        broken = self._film(slots) if self._filmed else set()
        ending = {slots[row] for row in over}
        going = [slot for slot in slots if slot not in ending and slot not in broken]
        acting = [slot for slot in going if self._cursor[slot] < len(self._chunks[slot]) or self._has_invalid(slot)]
        return [row for row in over if slots[row] not in broken], acting, [s for s in going if s not in acting]

    def _has_invalid(self, slot: int) -> bool:
        """Whether an invalid action follows in the slot's chunk."""
        odd = self.running[slot].odd if slot in self._odd else None
        return odd is not None and odd.valid < len(odd.actions)

    def _film(self, slots: list[int]) -> set[int]:
        """Take a frame of the slots that are filmed, now and then; the slots whose rendering broke."""
        broken = set()
        every = self.host.cfg.record.every
        for slot in [s for s in slots if s in self._filmed and self._steps[s] % every == 0]:
            try:
                self.running[slot].film(self._frame(slot))
            except BREAKS as problem:
                self.fault(slot, Outcome.ENV_ERROR, explain(problem))
                broken.add(slot)
        return broken

    def _frame(self, slot: int) -> np.ndarray:
        """The slot's current frame. Raises what rendering raises."""
        frame, problem, seconds = self.host.watch.call(STEPPING, slot, self.worlds.render, slot)
        self._seconds[slot] += seconds
        if problem is not None:
            raise problem
        return frame

    # The end ----------------------------------------------------------------------------------------------------------

    def finish(self, slot: int, outcome: Outcome | None = None, error: str | None = None) -> None:
        """End a trial and have it recorded. `outcome`: where its policy ended it."""
        trial = self.running[slot]
        if self.task.is_judged and outcome is None and trial.judged is None:
            trial.stop()
            self.host.emit(Judge(slot))
            return
        try:
            known = trial.judged is not None or self.worlds.success_known(slot)
            ended = trial.finish(Ending(outcome, error, known, self._latest(slot)), self.host.cfg.record)
        except BREAKS as problem:
            self.fault(slot, Outcome.ENV_ERROR, explain(problem))
            return
        seconds = self._seconds[slot]
        replica = trial.request.line.place if type(trial.request) is Seat else ""
        self.release(slot)
        self.host.ended(slot, ended, seconds, replica)

    def judge(self, slot: int, success: bool | None) -> None:
        """A trial that has ended was a success, or was none; or (None) it is dropped without a trace."""
        trial = self.running[slot]
        if success is None:
            trial.abandon()
            self.release(slot)
        else:
            trial.judged = success
            trial.record.keep({"judged_by": "operator"})
            self.finish(slot)

    def fault(self, slot: int, outcome: Outcome, error: str) -> None:
        """An attempt broke: its environment is not used again."""
        trial = self.running[slot]
        trial.abandon()
        self.release(slot)
        self.worlds.discard(slot)
        self.host.broke(slot, outcome, error)

    def drift(self, slot: int) -> None:
        """What the slot's policy needed is gone: the attempt is given up, its environment is as good as before."""
        self.running[slot].abandon()
        self.release(slot)

    def release(self, slot: int) -> None:
        """The slot's trial is over."""
        trial = self.running.pop(slot)
        if type(trial.request) is Seat:
            trial.request.line.leave(trial.request)
        trial.request = None
        del self._records[slot]
        for some in (self.acting, self._waiting, self._odd, self._filmed):
            some.discard(slot)
        self._tape.cut()

    def rest(self) -> None:
        """Let go of every environment; no trial runs."""
        self.worlds.close()

    def close(self) -> None:
        """Drop what runs and let go of every environment."""
        for slot in list(self.running):
            self.running[slot].abandon()
            self.release(slot)
        self.starts = {}
        self.worlds.close()
