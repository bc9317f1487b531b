"""What a server remembers, and for how long."""

from __future__ import annotations

import asyncio
from typing import Any

from proctor.network.seats import Seat, Seats
from proctor_host.trials import Trial


def seat(trial: Trial) -> Seat:
    entry: Any = None
    return Seat(trial, entry, "act")


TRIALS = [Trial("a", "t", i, 100 + i) for i in range(4)]


def test_the_trial_that_has_not_asked_for_longest_makes_room() -> None:
    seats = Seats(most=3)
    for trial in TRIALS[:3]:
        seats.take("s", trial, seat(trial))
    assert seats.find("s", TRIALS[0]) is not None
    seats.take("s", TRIALS[3], seat(TRIALS[3]))
    assert len(seats) == 3
    assert seats.find("s", TRIALS[1]) is None
    assert seats.find("s", TRIALS[0]) is not None


def test_a_trial_that_waits_for_its_answer_keeps_its_seat() -> None:
    seats, waiting = Seats(most=1), seat(TRIALS[0])
    loop = asyncio.new_event_loop()
    waiting.future = loop.create_future()
    seats.take("s", TRIALS[0], waiting)
    seats.take("s", TRIALS[1], seat(TRIALS[1]))
    assert seats.find("s", TRIALS[0]) is waiting
    loop.close()


def test_a_session_ends_with_its_last_connection() -> None:
    seats = Seats(most=9)
    for session, caller in (("s", 1), ("s", 2), ("other", 3)):
        seats.called(session, caller)
    seats.take("s", TRIALS[0], seat(TRIALS[0]))
    seats.take("other", TRIALS[0], seat(TRIALS[0]))
    seats.hung_up(1)
    assert seats.find("s", TRIALS[0]) is not None
    seats.hung_up(2)
    assert seats.find("s", TRIALS[0]) is None
    assert seats.find("other", TRIALS[0]) is not None


def test_a_trial_that_begins_again_has_a_fresh_seat() -> None:
    seats, again = Seats(most=9), seat(TRIALS[0])
    seats.take("s", TRIALS[0], seat(TRIALS[0]))
    seats.take("s", TRIALS[0], again)
    assert len(seats) == 1
    assert seats.find("s", TRIALS[0]) is again
    seats.leave("s", TRIALS[0])
    assert len(seats) == 0
