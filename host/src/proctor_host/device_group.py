"""Device rounds: worlds on a device, stepped together with policies that live there, and nothing waits for the device.

A round is queued: forward, step, what is to be recorded, and a *letter* with what decides how trials go on (rewards,
flags, whether numbers are finite). Letters are opened `LAG` rounds later, when the device has long sent them, so the
device always has something to do. By then an ended trial's world has made some rounds more; nobody records them. What
begins, ends or breaks is dealt with trial by trial; everything else is arithmetic on arrays with a row for each world.

Trials whose policies cannot be asked so (`Pilots.pilot` says why) go by columns, as in any batch environment. Worlds go
one way at a time: whoever needs the other waits until nothing runs.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Sequence

import numpy as np

from proctor_host.asking import Asked, Asking
from proctor_host.blocks import Blocks, column_kinds
from proctor_host.device_worlds import DeviceWorlds, Stepped
from proctor_host.episode import Outcome
from proctor_host.errors import BREAKS, explain
from proctor_host.flights import Flight, Flights
from proctor_host.group import Group
from proctor_host.kit import Fetched, Mark, NumpyKit, kit_of
from proctor_host.layout import nan_in
from proctor_host.letters import Letter, Letters, Look
from proctor_host.limits import ALL_SLOTS, STEPPING
from proctor_host.messages import Ended, Start, Way
from proctor_host.recording import Leaving, Sight
from proctor_host.tape import SIGNAL
from proctor_host.task import Task
from proctor_host.trial import RunningTrial
from proctor_host.worlds import Reset

if TYPE_CHECKING:
    from proctor_host.host import Host

LAG = 2
"""Rounds after which a letter is opened."""
PATIENCE = 4
"""Rounds that a trial waits, at most, for others to begin with it."""
TOGETHER = 32
"""Trials begin together when there is one for every so many worlds."""


class _Sent(NamedTuple):
    """A round on its way: its number, its letter, and when its parts were done."""

    number: int
    letter: Fetched
    marks: tuple[Mark, Mark, Mark]
    seconds: tuple[float, float]


class DeviceGroup(Group):
    """The worlds of one `DeviceEnv`."""

    worlds: DeviceWorlds

    def __init__(self, host: Host, task: Task, worlds: DeviceWorlds, slots: int):
        super().__init__(host, task, worlds, slots)
        assert task.device is not None
        assert task.worlds is not None
        self._n = n = task.worlds
        self._flights = Flights(n, task.cfg.wait_steps, task.max_steps)
        self._admitted: dict[int, tuple[Any, Any, str | None]] = {}
        """Slots whose trials are to begin and go by device rounds: pilot, request, and the error of its policy."""
        self._waits_since = 0
        self._next = 0
        """The number of the next round."""
        self._sent: deque[_Sent] = deque()
        self._begun: deque[tuple[int, np.ndarray, Any]] = deque()
        """Trials that have begun: the round of their first step, their worlds, and a look at what they began with."""
        self._leaves: list[Any] = []
        self._blocks: Blocks | None = None
        self._kinds: Any = None
        self._look: Look | None = None
        """What the last letter that was opened said of observations."""
        self._judged = -1
        """The round that was last looked at, and `_sights`, what those worlds showed after it that it decided about."""
        self._sights: dict[int, Sight] = {}
        self._said: set[tuple[str, str | None]] = set()
        self._equip()

    def _equip(self) -> None:
        """Be ready for arrays of the device, now that it is known which libraries are in use. Nothing runs."""
        task, kit = self.task, kit_of(str(self.task.device))
        self.host.scribes.equip(kit.on_host)
        self._kit = self.worlds.kit = kit
        self._letters = Letters(kit, task, self._n, LAG + 4, finite=self._nans is not None)
        self._asking = Asking(task, self.worlds, self._flights, self._letters, kit)
        self._kinds = None
        self._drop_blocks()

    def _drop_blocks(self) -> None:
        if self._blocks is not None:
            self._blocks.flush()
            self._blocks.close()
            self._blocks = None

    # Which way ----------------------------------------------------------------------------------------------------

    def expect(self, start: Start) -> None:
        super().expect(start)
        why = self._admit_to_rounds(start)
        agent = start.trial.agent
        if (agent, why) not in self._said:
            self._said.add((agent, why))
            self.host.emit(Way(agent, self.task.name, why))

    def _admit_to_rounds(self, start: Start) -> str | None:
        """Have a trial go by device rounds; or why it cannot."""
        if start.video:
            return "it is filmed"
        if start.alone:
            return "its policy is asked for it alone, since one of a batch has killed a worker"
        if not start.in_worker:
            return "its policy is asked by the engine"
        if type(self._kit) is NumpyKit and "torch" in sys.modules and not (self.in_use or self._admitted):
            self._equip()
        pilot = self.host.policies.pilot(start.trial.agent, self.task, self._kit)
        if isinstance(pilot, str):
            return pilot
        request, error = pilot.admit(start.trial, start.slot, self.worlds.seen, (self, start.slot))
        if request is None:
            return error
        if not self._admitted:
            self._waits_since = self._next
        self._admitted[start.slot] = pilot, request, error
        return None

    @property
    def in_use(self) -> bool:
        return super().in_use or bool(self._flights or self._sent)

    @property
    def can_begin(self) -> bool:
        if not self.starts:
            return False
        others = len(self.starts) - len(self._admitted)
        if self.running:
            return others > 0 and self.worlds.can_reset(len(self.running))
        if not self._flights:
            return not self._sent
        waiting = len(self._admitted)
        return waiting > 0 and (waiting * TOGETHER >= self._n or self._next - self._waits_since >= PATIENCE)

    def begin(self, slots: Sequence[int]) -> None:
        others = [slot for slot in slots if slot not in self._admitted]
        if others and not self._flights:
            super().begin(others)
        else:
            self._take_off(sorted(slot for slot in slots if slot in self._admitted))

    @property
    def can_go(self) -> bool:
        return super().can_go or bool(self._sent) or (bool(self._flights) and self._has_room)

    @property
    def _has_room(self) -> bool:
        """Whether records are written about as quickly as they come."""
        return len(self.host.recording.outstanding) <= max(self._n, 64)

    def round(self) -> int:
        return super().round() if self.running else self._fly()

    # Beginning ----------------------------------------------------------------------------------------------------

    def _take_off(self, slots: list[int]) -> None:
        """Begin these trials, all in one call."""
        cfg, kit = self.host.cfg, self._kit
        starts = [self.starts.pop(slot) for slot in slots]
        admitted = [self._admitted.pop(slot) for slot in slots]
        self._waits_since = self._next
        resets = [Reset(s.slot, cfg.task_of(s.trial), s.trial.seed, s.trial.index, films=False) for s in starts]
        trials = [RunningTrial(start, self.task, self._labels, None) for start in starts]
        fresh = not self.worlds.made
        self.host.recording.expect(len(self._flights) + len(slots))  # they come while worlds are made
        found, problem, seconds = self.worlds.begin_device(resets)
        late = self.host.limits.broken(seconds, seconds, self.host.limits.reset_s)
        if problem is not None or late:
            outcome, error = (Outcome.TIMEOUT, late or "") if problem is None else (Outcome.ENV_ERROR, explain(problem))
            for slot in slots:
                self.host.broke(slot, outcome, error)
            if problem is not None:
                self._open_all()
                self._break_all(Outcome.ENV_ERROR, error)
            return
        self._leaves, constants = found
        if fresh:
            self._kinds = None
        where = np.array(slots, np.int64)
        shown = kit.fetch(self._leaves, where)
        self._begun.append((self._next, where, self._letters.look_now(self._leaves)))
        rows = zip(starts, admitted, trials, constants)
        for i, (start, (pilot, request, error), trial, said) in enumerate(rows):
            self._flights.add(Flight(trial, request, pilot, self._next, Sight(shown, i), seconds, error))
            try:
                trial.record.keep(said)
            except BREAKS as broken:
                self._crash(start.slot, Outcome.ENV_ERROR, explain(broken))

    # Rounds -------------------------------------------------------------------------------------------------------

    def _fly(self) -> int:
        """Queue a round, and open the letter of an earlier one. How many trials have been stepped."""
        made = 0
        if self._flights and self._has_room and self._next <= self._flights.last_due():
            made = self._queue()
        if self._sent and (len(self._sent) > LAG or not made):
            self._open()
        if self._blocks is not None and not (self._sent or (self._flights and self._has_room)):
            self._blocks.flush()
        return made

    def _queue(self) -> int:
        kit = self._kit
        began = kit.mark()
        asked = self._ask()
        if asked is None:
            return 0
        actions, invalid, clipped, act_s = asked
        answered = kit.mark()
        if act_s is None:  # they were asked for on the host, by whose clock
            act_s, began = 0.0, answered
        stepped, problem, step_s = self.worlds.step_device(actions)
        done = kit.mark()
        if problem is None:
            try:
                self._write(stepped, actions)
            except BREAKS as odd:
                problem = odd
                self.worlds.close()
        if problem is not None:
            self._open_all()
            self._break_all(Outcome.ENV_ERROR, explain(problem))
            return 0
        self._leaves = stepped.leaves
        letter = self._letters.send(self._next, stepped, invalid, clipped)
        self._sent.append(_Sent(self._next, letter, (began, answered, done), (act_s, step_s)))
        self._next += 1
        return len(self._flights)

    def _write(self, stepped: Stepped, actions: Any) -> None:
        """Append what is recorded of a round."""
        values = {"actions": actions, "rewards": stepped.reward, "success": stepped.success, **stepped.signals}
        for i in range(len(self._labels)):
            values[str(i)] = stepped.leaves[i]
        kinds = column_kinds(self._kit, values)
        if self._blocks is None or kinds != self._blocks.packing.kinds:
            if self._kinds is not None:
                raise ValueError(_other_kinds(self._kinds, kinds))
            self._drop_blocks()
            self._blocks = Blocks(self._kit, self._n, kinds, self._next, self._landed)
        self._kinds = kinds
        self._blocks.write(values)

    def _landed(self) -> None:
        """Rounds have come to the host. On any thread."""
        needed = self._flights.needed_from()
        for leaving in list(self.host.recording.outstanding.values()):
            if leaving.blocks is self._blocks:
                needed[leaving.world] = min(needed[leaving.world], leaving.needed_from)
        if self._blocks is not None:
            self._blocks.forget(needed)
        self.host.recording.look()

    # Asking -------------------------------------------------------------------------------------------------------

    def _ask(self) -> Asked | None:
        """What all worlds do; None where nobody is left who needs an action."""
        asked = self._asking.together(self._leaves, self._next, self.host.watch)
        if asked is not None:
            return asked
        self._open_all()
        asked, refused = self._asking.apart(self._leaves, self._next, self.host.limits)
        for slot, outcome, error in refused:
            if outcome is None:
                self._turn_back(slot)
            elif outcome.scored:
                self._land(self._flights[slot], outcome, error, self._next)
            else:
                self._crash(slot, outcome, error)
        return asked if self._flights else None

    def _turn_back(self, slot: int) -> None:
        """A policy that answers in chunks: its trials start again, by columns."""
        flight = self._flights[slot]
        flight.pilot.refuse("its policy answers in chunks of actions")
        self._flights.remove(slot)
        flight.trial.abandon()
        self.expect(flight.trial.start)

    # Letters ------------------------------------------------------------------------------------------------------

    def _open_all(self) -> None:
        while self._sent:
            self._open()

    def _open(self) -> None:
        """See what came of the oldest round that is on its way."""
        number, fetched, (began, answered, done), (act_s, step_s) = self._sent.popleft()
        watch, limits = self.host.watch, self.host.limits
        watch.begin(STEPPING, ALL_SLOTS)
        letter = self._letters.read(fetched)
        watch.end()
        act_s, step_s = max(act_s, answered.since(began)), max(step_s, done.since(answered))
        self._asking.one_by_one |= act_s > limits.act_s
        for pilot in self._flights.pilots:
            pilot.took(act_s)
        while self._begun and self._begun[0][0] <= number:
            first, worlds, look = self._begun.popleft()
            self._flights.steps_in(first)
            self._look = self._letters.renewed(self._look, look, worlds)
        before, self._look = self._look, letter.look
        self._flights.clock += step_s
        self._judge(number, letter, before, step_s)

    def _judge(self, number: int, letter: Letter, before: Look | None, step_s: float) -> None:
        """End what ended in this round, and the attempts that broke."""
        self._judged = number
        flights = self._flights
        wait, live = self.task.cfg.wait_steps, flights.first <= number
        ends = letter.terminated | letter.truncated
        hot = ends | letter.invalid | letter.odd | (flights.due <= number)
        if before is not None or letter.look is not None:
            for look in (before, letter.look):
                if look is not None:
                    hot |= look.nan > 0
        if self.task.cfg.stop_on_success:
            hot |= letter.success
        if step_s > self.host.limits.step_s:
            hot = live
        elif self.host.limits.trial_s < math.inf:
            hot |= flights.seconds(slice(None)) > self.host.limits.trial_s
        hot[list(flights.doomed)] = True
        if letter.clipped.any():
            counted = letter.clipped & live & ~letter.invalid
            flights.clips += counted & (number >= flights.first + wait) if wait else counted
        slots = np.flatnonzero(hot & live).tolist()
        self._sights = dict(zip(slots, self._letters.sights(number, slots))) if slots else {}
        for slot in slots:
            self._decide(flights[slot], slot, _Seen(number, letter, before, step_s))

    def _decide(self, flight: Flight, slot: int, seen: _Seen) -> None:
        """What one trial's step came to, in the order in which a group looks at any step."""
        number, letter, _, step_s = seen
        limits, done = self.host.limits, number - flight.first - self.task.cfg.wait_steps
        total = float(self._flights.seconds(slot))
        late = limits.broken(step_s, total, limits.step_s)
        if done >= 0 and self._was_refused(flight, slot, seen, done):
            return
        problem = None if done < 0 else self._problem(slot, letter)
        if problem is not None:
            self._crash(slot, Outcome.ENV_ERROR, explain(ValueError(problem)))
        elif late:
            self._crash(slot, Outcome.TIMEOUT, late)
        elif done < 0:
            if letter.terminated[slot] or letter.truncated[slot]:
                why = ValueError("the environment ended the episode during the warm-up steps")
                self._crash(slot, Outcome.ENV_ERROR, explain(why))
        else:
            terminated, truncated = bool(letter.terminated[slot]), bool(letter.truncated[slot])
            limit = done + 1 >= self.task.max_steps
            if terminated or truncated or limit or (self.task.cfg.stop_on_success and letter.success[slot]):
                flight.trial.end = terminated, truncated or (limit and not terminated)
                self._land(flight, None, None, number + 1)

    def _was_refused(self, flight: Flight, slot: int, seen: _Seen, done: int) -> bool:
        """Deal with a trial that should not have made this step: what its policy saw first holds NaN, or what it
        answered is no valid action."""
        number, letter, before, _ = seen
        if done == 0 and before is not None and before.nan[slot]:
            self._crash(slot, Outcome.ENV_ERROR, explain(ValueError(nan_in(self._leaf_named(before.nan[slot])))))
            return True
        if flight.error is not None:
            self._land(flight, Outcome.POLICY_ERROR, flight.error, number)
            return True
        if not letter.invalid[slot]:
            return False
        reason = flight.pilot.reason(self._letters.given(number, flight.pilot.place, slot))
        if before is not None and before.infinite[slot]:
            why = f"the observation holds infinity; the policy answered: {reason}"
            self._crash(slot, Outcome.ENV_ERROR, why)
        else:
            self._land(flight, Outcome.INVALID_ACTION, reason, number)
        return True

    def _problem(self, slot: int, letter: Letter) -> str | None:
        if letter.odd[slot]:
            return f"the environment gave reward {np.float64(letter.reward[slot])}"
        if letter.look is not None and letter.look.nan[slot]:
            return nan_in(self._leaf_named(letter.look.nan[slot]))
        return None

    def _leaf_named(self, number: int) -> str:
        assert self.task.layout is not None
        return self.task.layout.leaves[number - 1].label

    # The end ------------------------------------------------------------------------------------------------------

    def _land(self, flight: Flight, outcome: Outcome | None, error: str | None, stop: int) -> None:
        """A trial has ended; its last step was made in the round before `stop`. Its slot is free at once."""
        trial, slot, wait = flight.trial, flight.trial.start.slot, self.task.cfg.wait_steps
        trial.stop()
        trial.clipped_steps = int(self._flights.clips[slot])
        first = min(flight.first + wait, stop)
        leaving = Leaving(trial, self._blocks, slot, (first, stop))
        leaving.outcome, leaving.error, leaving.begun = outcome, error, flight.begun
        leaving.seconds = float(self._flights.seconds(slot)) if stop > flight.first else flight.reset_s
        leaving.seen_at = first - 1 if wait and self._labels else -1
        leaving.last = flight.begun if stop == flight.first else self._last_sight(stop - 1, slot)
        try:
            leaving.success_known = self.worlds.success_known(slot)
        except BREAKS as problem:
            self._crash(slot, Outcome.ENV_ERROR, explain(problem))
            return
        self.host.emit(Ended(slot))
        self.host.freed = True
        self.host.recording.put(leaving)
        self._flights.remove(slot)

    def _last_sight(self, number: int, slot: int) -> Sight:
        """What a world showed after a round."""
        known = self._sights.get(slot) if number == self._judged else None
        return known or self._letters.sights(number, [slot])[0]

    def _crash(self, slot: int, outcome: Outcome, error: str) -> None:
        """An attempt broke."""
        self._flights[slot].trial.abandon()
        self._flights.remove(slot)
        self.host.broke(slot, outcome, error)

    def _break_all(self, outcome: Outcome, error: str) -> None:
        """The environment broke, and is not used again."""
        for slot in self._flights:
            self._crash(slot, outcome, error)

    def close(self) -> None:
        self._sent.clear()
        for slot in self._flights:
            self._flights[slot].trial.abandon()
            self._flights.remove(slot)
        self._admitted.clear()
        self._drop_blocks()
        super().close()

    def rest(self) -> None:
        self._sent.clear()
        self._begun.clear()
        if self._blocks is not None:
            self._blocks.flush()
        super().rest()


class _Seen(NamedTuple):
    number: int
    letter: Letter
    before: Look | None
    step_s: float


def _other_kinds(before: Any, now: Any) -> str:
    """What the signals of a step have that those of the first did not."""
    for name in [*before, *now]:
        if before.get(name) != now.get(name):
            label = name[len(SIGNAL) :] if name.startswith(SIGNAL) else name
            if name in before and name in now:
                return f'signal "{label}" changes its shape from step to step; it must keep one'
            return f'signal "{label}" is not given at every step; give it always, NaN where unknown'
    return "signals change from step to step"
