"""What the engine and its workers say to each other.

Commands go to a worker's host, events come back. All are tuples of plain data, which `proctor_host.codec` writes and
reads. A slot is named by its number within the worker.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Union

import numpy as np

from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.task import Task
from proctor_host.trials import Trial

FREED = -1
"""In the place of a slot: it was freed when the trial ended, by `Ended`."""


class Chunk(NamedTuple):
    """`actions` (horizon, *shape). Steps from `valid` on are invalid, for `reason`. `clipped` marks clipped steps,
    None if there are none."""

    actions: np.ndarray
    valid: int
    reason: str | None = None
    clipped: np.ndarray | None = None


class Probe(NamedTuple):
    """Make the task's environment once and say what it is like."""

    task: str


class Know(NamedTuple):
    """These are the tasks, now that every one of them has been probed in some worker."""

    tasks: tuple[Task, ...]


class Start(NamedTuple):
    """Begin a trial in a slot."""

    slot: int
    trial: Trial
    stem: str
    """File name of its record, without the ending."""
    video: bool
    in_worker: bool = False
    """Its policy lives in the worker; otherwise the worker asks the engine."""
    alone: bool = False
    """A policy in the worker is asked for it in forwards of its own: one of a batch has killed a worker."""


class Load(NamedTuple):
    """Take an agent's policy into the worker, which is of the engine's interpreter. `agent` is its config."""

    agent: Any


class Consult(NamedTuple):
    """From now on, trials of this agent that begin `in_worker` ask one of its replicas, directly: the first of these
    addresses that answers. `token` proves to it that we may."""

    agent: str
    places: list[str]
    token: bytes


class Unload(NamedTuple):
    """Let go of all policies; no trial needs them any more."""


class Run(NamedTuple):
    """Execute a chunk of actions in each of these slots: an array `(slots, horizon, *action)` of valid actions, or a
    single `Chunk` that is not valid as it is. To another process go the slots alone, and the array lies on the
    board."""

    slots: list[int]
    chunks: Any


class Finish(NamedTuple):
    """End the slot's trial now, because of its policy. An outcome that is not scored is answered with a Fault."""

    slot: int
    outcome: Outcome
    error: str


class Judged(NamedTuple):
    """Answer to Judge: whether the slot's trial was a success. None: nothing is kept of it, and the slot is free."""

    slot: int
    success: bool | None


class Close(NamedTuple):
    """Close environments and stop."""


class Probed(NamedTuple):
    """Answer to Probe."""

    task: Task


class SeedIgnored(NamedTuple):
    """After Probed: the environment of a task begins and goes on alike, whatever the seed."""

    task: str


class ProbeFailed(NamedTuple):
    """Answer to Probe: the environment cannot be made."""

    task: str
    error: str


class Refused(NamedTuple):
    """Answer to Load: the policy cannot be had in the worker."""

    agent: str
    error: str


class Asked(NamedTuple):
    """What a policy in the worker has done since the last such message; `steps`: the actions that it gave."""

    agent: str
    stage: str
    stats: Any
    steps: int


class Asks(NamedTuple):
    """These slots need an action. Their observations are on the board; or `shown` has one for each, where they do not
    fit there or are no arrays."""

    slots: list[int]
    shown: list[Any] | None = None


class Spent(NamedTuple):
    """Seconds of a trial in its worker. `turns_s`: what slots waited for the worker's steps in other slots, all that
    has come together since the last Done."""

    environment_s: float = 0.0
    recording_s: float = 0.0
    turns_s: float = 0.0


class Left(NamedTuple):
    """What a worker leaves to the engine. `record`: the bytes of the trial's record, where it is not on disk. `film`:
    the packed frames, where they are not, and `fps` their speed. `measured`: metrics have been computed."""

    record: bytes | None = None
    film: bytes | None = None
    fps: float = 30.0
    measured: bool = True


class Ended(NamedTuple):
    """The slot's trial has ended and the slot is free again; its record is still being written. Done or Fault follow,
    with `FREED` for the slot."""

    slot: int


class Way(NamedTuple):
    """How the trials of an agent go on the worlds of a device, said once: in device rounds, or by columns for this
    reason."""

    agent: str
    task: str
    why: str | None


class Done(NamedTuple):
    """The slot's trial has ended and its record is on disk, unless it was left to the engine; the slot is free
    again."""

    slot: int
    result: TrialResult
    spent: Spent = Spent()
    left: Left = Left()
    replica: str = ""
    """The address of the replica that its policy was asked at, if it was one."""


class Fault(NamedTuple):
    """This attempt broke for no fault of the policy; the slot is free again."""

    slot: int
    outcome: Outcome
    error: str
    trial: Trial | None = None
    """Which it was, where its slot is `FREED`."""


class Judge(NamedTuple):
    """The slot's trial has ended; the operator has to say whether it was a success. The slot waits."""

    slot: int


class Adrift(NamedTuple):
    """The replica that a trial has asked is gone; the slot is free again, and the trial is to start again. `asked`: it
    waited for an answer, which may be what the replica has died of; `alone`: nobody else was answered then."""

    slot: int
    reason: str
    asked: bool
    alone: bool


class Unclosed(NamedTuple):
    """After Close: an environment or policy did not return in time."""

    reason: str


class Fatal(NamedTuple):
    """The worker cannot write records."""

    error: str


class Rest(NamedTuple):
    """No trial will come for some time: let go of every environment."""


class Take(NamedTuple):
    """A worker tells a replica that a trial has this seat from now on, and this row of its board. A replica is asked by
    `Asks` and answers with `Run` and `Finish`, all with seats for slots. `alone`: its forwards have no company, since
    one of them may have killed a replica."""

    seat: int
    trial: Trial
    row: int
    alone: bool


class Shows(NamedTuple):
    """Where a worker's board is, for a replica on the same machine, which answers with `Sees`. If it can look there,
    the worker then asks with a list of seats, whose observations lie on the board."""

    board: tuple[int, int, int, int, int]


class Sees(NamedTuple):
    """Whether a replica can look at the board."""

    board: bool


class Trying(NamedTuple):
    """A replica is about to answer this seat, and nobody else, until it has."""

    seat: int


class Leave(NamedTuple):
    """The trial of this seat asks no more."""

    seat: int


Command = Union[Probe, Know, Load, Consult, Unload, Start, Run, Finish, Judged, Rest, Close]
Event = Union[
    Asks, Probed, SeedIgnored, ProbeFailed, Refused, Asked, Way, Ended, Done, Fault, Fatal, Judge, Adrift, Unclosed,
]  # fmt: skip
