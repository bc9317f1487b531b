"""Asking the policies of trials in worlds of a device: for all worlds at once, and where that fails trial by trial."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy as np

from proctor_host.device_worlds import DeviceWorlds
from proctor_host.episode import Outcome
from proctor_host.errors import BREAKS
from proctor_host.flights import Flights
from proctor_host.kit import Kit
from proctor_host.letters import Letters
from proctor_host.limits import ACTING, ALL_SLOTS, Limits, Watch
from proctor_host.task import Task


class Asked(NamedTuple):
    """Actions for all worlds, which rows of the policies' were no valid actions, which were clipped, and the seconds
    that this took; None where the host was asked, by whose clock it counts."""

    actions: Any
    invalid: Any
    clipped: Any
    seconds: float | None


class Refused(NamedTuple):
    """A trial that got no action: its policy's fault or its attempt's, or `outcome` None where it answers in chunks."""

    slot: int
    outcome: Outcome | None
    error: str


class Asking:
    """For one task's worlds and the arrays of `kit`."""

    def __init__(self, task: Task, worlds: DeviceWorlds, flights: Flights, letters: Letters, kit: Kit):
        assert task.worlds is not None
        self._task, self._worlds, self._flights, self._letters, self._kit = task, worlds, flights, letters, kit
        self._n = task.worlds
        self._dummy = kit.put(np.broadcast_to(task.dummy, (self._n, *task.action_shape)))
        self._resting: tuple[Any, Any] | None = None
        """Worlds in their warm-up, as a mask on the device; and the mask on the host that it was made of."""
        self.one_by_one = False
        """A forward has taken too long: who is slow when asked alone fails."""

    def together(self, leaves: Sequence[Any], number: int, watch: Watch) -> Asked | None:
        """Ask for all worlds; None where somebody has to be asked trial by trial."""
        found, xp = None, self._kit.xp
        resting = self._flights.resting(number)
        watch.begin(ACTING, ALL_SLOTS)
        try:
            if not self.one_by_one:
                for pilot in self._flights.pilots:
                    flown = pilot.act(leaves, resting)
                    self._letters.note(number, pilot.place, flown.given)
                    if found is None:
                        found = list(flown[:3])
                    else:
                        own = pilot.rows()
                        found = [xp.where(_beside(own, new), new, old) for new, old in zip(flown[:3], found)]
        except BREAKS:
            found = None
        seconds = watch.end()
        return None if found is None else Asked(self._rested(found[0], resting), found[1], found[2], seconds)

    def apart(self, leaves: Sequence[Any], number: int, limits: Limits) -> tuple[Asked, list[Refused]]:
        """Ask for trial by trial what could not be answered for all at once: the guilty are found, and the others act
        as if nothing had happened. All letters have been opened."""
        kit, flights = self._kit, self._flights
        slow, self.one_by_one = self.one_by_one, False
        for column, leaf in zip(self._worlds.seen, kit.fetch(leaves).get()):
            column[: self._n] = leaf
        actions = np.array(np.broadcast_to(self._task.dummy, (self._n, *self._task.action_shape)))
        clipped = np.zeros(self._n, bool)
        resting = flights.resting(number)
        alike: dict[Any, list[int]] = {}
        for slot in flights:
            if resting is None or not resting[slot]:
                alike.setdefault(flights[slot].pilot, []).append(slot)
        refused: list[Refused] = []
        for pilot, slots in alike.items():
            for slot, chunk, ending in pilot.ask(slots, alone=slow, limit_s=limits.act_s):
                if ending is not None:
                    refused.append(Refused(slot, *ending))
                elif chunk is None or len(chunk.actions) > 1:
                    refused.append(Refused(slot, None, ""))
                elif not chunk.valid:
                    refused.append(Refused(slot, Outcome.INVALID_ACTION, chunk.reason or ""))
                else:
                    actions[slot], clipped[slot] = chunk.actions[0], chunk.clipped is not None
        asked = Asked(kit.put(actions), kit.put(np.zeros(self._n, bool)), kit.put(clipped), None)
        return asked._replace(actions=self._rested(asked.actions, resting)), refused

    def _rested(self, actions: Any, resting: np.ndarray | None) -> Any:
        """The actions, and that of the warm-up in worlds that are in theirs."""
        if resting is None:
            return actions
        if self._resting is None or not np.array_equal(self._resting[1], resting):
            self._resting = self._kit.put(resting), resting
        return self._kit.xp.where(_beside(self._resting[0], actions), self._dummy, actions)


def _beside(mask: Any, like: Any) -> Any:
    """A mask of worlds with as many axes as an array of theirs."""
    return mask.reshape((-1, *[1] * (like.ndim - 1)))
