"""Kinds of faults, and seeded schedules of them.

A fault is drawn with the moment at which it is to strike: a time of the session, a number of file operations, or a
step of a trial. It counts as tried only if it struck.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from campaign.examination import BASE_SEED, Layout
from campaign.smalldisk import may_mount

ENVIRONMENT = {
    "environment raises": ("step", "raise"),
    "environment raises at reset": ("reset", "raise"),
    "environment runs out of memory": ("step", "memory"),
    "environment calls sys.exit": ("step", "exit"),
    "environment gives NaN": ("step", "nan_reward"),
    "environment changes its shape": ("step", "wrong_shape"),
    "environment says \"False\"": ("step", "word_for_bool"),
    "environment prints a megabyte": ("step", "flood"),
    "environment leaves a process behind": ("step", "leave_child"),
    "environment crashes": ("step", "segfault"),
    "environment ends its process": ("step", "vanish"),
    "environment hangs": ("step", "hang"),
    "environment hangs at reset": ("reset", "hang"),
}  # fmt: skip
"""Kind -> the call in which it happens, and what the environment then does (`campaign.subject`)."""

ONLY_APART = (
    "environment hangs",
    "environment hangs at reset",
    "environment ends its process",
    "environment leaves a process behind",
)
"""Inline there is nobody who could notice."""

LETHAL = {
    "main killed": 4.0,
    "main killed at a file operation": 120,
    "main interrupted": 4.0,
    "main terminated": 4.0,
    "disk full": 100,
    "disk full for the ledger": 60,
    "file size limit": 60_000,
    "small disk": 400_000,
}
"""Kind -> the latest moment at which it strikes: seconds, or operations, or bytes. It ends the session."""

PASSING = {
    "worker killed": 6.0,
    "worker killed while starting": 1.0,
    "worker stalled": 5.0,
    "main stalled": 5.0,
    "ledger locked": 5.0,
    "clock jumps": 3.0,
    "server killed": 6.0,
}
"""Kind -> the latest moment, in seconds. The session is to go on."""

BETWEEN = (
    "record cut short",
    "record emptied",
    "record damaged",
    "record removed",
    "leftover of a write",
    "reports removed",
)
"""What happens to the folder while nobody works on it."""

POLICY = ("policy raises", "policy calls sys.exit", "policy gives NaN")
"""The agent `faulty` does this in some trials, always in the same ones."""


@dataclass(frozen=True)
class Fault:
    kind: str
    at: float = 0.0
    choice: int = 0
    """Which of several: worker, record, trial."""


@dataclass(frozen=True)
class Session:
    """One command on the run, what strikes while it goes on, and what happened to the folder before."""

    faults: tuple[Fault, ...] = ()
    before: tuple[Fault, ...] = ()
    n_trials: int = 0


@dataclass(frozen=True)
class Schedule:
    """All that is done to one run."""

    seed: int
    layout: Layout
    served: bool
    tokens: tuple[tuple[str, str], ...]
    """Kind, and the file that tells the environment."""
    sessions: tuple[Session, ...]

    @property
    def n_trials(self) -> int:
        """How many trials per agent and task there are in the end."""
        return max(session.n_trials for session in self.sessions)


def draw(seed: int) -> Schedule:
    """The schedule of this seed: disturbed sessions, each of which may extend the run, and a last one in peace."""
    rng = random.Random(seed)
    layout = Layout.draw(rng)
    served = rng.random() < 0.2
    n_sessions = rng.randint(3, 6)
    n_trials = [4 + 2 * i for i in range(n_sessions)] if rng.random() < 0.5 else [10] * n_sessions
    sessions = [_session(rng, layout, served, n) for n in n_trials]
    return Schedule(
        seed, layout, served, _tokens(rng, layout, n_trials[-1]), (*sessions, Session(n_trials=n_trials[-1]))
    )


def _session(rng: random.Random, layout: Layout, served: bool, n_trials: int) -> Session:
    lethal = rng.choice([kind for kind in LETHAL if kind != "small disk" or may_mount()])
    faults = [Fault(lethal, rng.uniform(0, 1) * LETHAL[lethal], rng.randrange(1000))]
    possible = [kind for kind in PASSING if layout.apart or "worker" not in kind]
    possible = [kind for kind in possible if served or kind != "server killed"]
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(possible)
        faults.append(Fault(kind, rng.uniform(0, PASSING[kind]), rng.randrange(1000)))
    before = [Fault(rng.choice(BETWEEN), 0.0, rng.randrange(1000)) for _ in range(rng.randint(0, 3))]
    return Session(tuple(sorted(faults, key=lambda fault: fault.at)), tuple(before), n_trials)


def _tokens(rng: random.Random, layout: Layout, n_trials: int) -> tuple[tuple[str, str], ...]:
    possible = [kind for kind in ENVIRONMENT if layout.apart or kind not in ONLY_APART]
    found: dict[tuple[str, int, int], tuple[str, str]] = {}
    for _ in range(rng.randint(6, 14)):
        kind = rng.choice(possible)
        call, deed = ENVIRONMENT[kind]
        seed, step = BASE_SEED + rng.randrange(n_trials), 0 if call == "reset" else rng.randint(1, 6)
        found[call, seed, step] = (kind, f"{call}.{deed}.{seed}.{step}")
    return tuple(found.values())
