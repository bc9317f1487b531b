"""What the engine and its workers say to each other.

Commands go to a worker's host, events come back. All are plain tuples, so they pickle small and fast. A slot is named
by its number within the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from proctor.config.models import AgentCfg
from proctor.plan.trial import Trial
from proctor.policies.protocol import SpaceInfo
from proctor.record.episode import Outcome
from proctor.record.result import TrialResult
from proctor.rollout.ask.lanes import LaneStats


class Probe(NamedTuple):
    """Make the task's environment once and say what its spaces are."""

    task: str


class Start(NamedTuple):
    """Begin a trial in a slot."""

    slot: int
    trial: Trial
    stem: str
    """File name of its record, without the ending."""
    video: bool
    resident: bool = False
    """Its policy lives in the worker; otherwise the worker asks the engine."""


class Load(NamedTuple):
    """Take an agent's policy into the worker. `infos`: of every task."""

    agent: AgentCfg
    infos: tuple[TaskInfo, ...]


class Unload(NamedTuple):
    """Let go of all policies; no trial needs them any more."""


class Run(NamedTuple):
    """Execute a chunk of actions `(horizon, *action)` in a slot. `valid`: it has been checked, every action is valid
    as it is. To another process goes a plain tuple instead, with where the chunk lies in shared memory; or the slot
    alone, where it is valid and lies as the slot's last one did."""

    slot: int
    actions: Any
    valid: bool = False


class Finish(NamedTuple):
    """End the slot's trial now, because of its policy. An outcome that is not scored is answered with a Fault."""

    slot: int
    outcome: Outcome
    error: str


class Close(NamedTuple):
    """Close environments and stop."""


class TaskInfo(NamedTuple):
    """Answer to Probe."""

    task: str
    observation_space: Any
    action_space: Any
    max_steps: int
    own_max_steps: int
    """Where no config sets one."""
    action_dt_s: float | None
    worlds: int | None
    """Worlds of a batch environment; None for a plain one."""
    dummy: Any
    """The action of a step that does nothing."""


def spaces_of(infos: Iterable[TaskInfo], briefings: dict[str, Callable[[], Any]]) -> SpaceInfo:
    """What loaders are told of these tasks."""
    known = list(infos)
    observation = {info.task: info.observation_space for info in known}
    return SpaceInfo(observation, {info.task: info.action_space for info in known}, briefings)


class ProbeFailed(NamedTuple):
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
    stats: LaneStats
    steps: int


Ready = tuple[int, Any]
"""The slot needs an action: its number and its observation's leaves. What is said most is a plain tuple: to make a
named one costs as much as a step of a small environment. A worker process says the number alone where the observation
lies in shared memory."""


class Spent(NamedTuple):
    """Seconds of a trial in its worker. `turns_s`: what slots waited for the worker's steps in other slots, all that
    has come together since the last Done."""

    environment_s: float = 0.0
    recording_s: float = 0.0
    turns_s: float = 0.0


class Done(NamedTuple):
    """The slot's trial has ended and its record is on disk; the slot is free again."""

    slot: int
    result: TrialResult
    spent: Spent = Spent()


class Fault(NamedTuple):
    """This attempt broke for no fault of the policy; the slot is free again."""

    slot: int
    outcome: Outcome
    error: str


class Fatal(NamedTuple):
    """The worker cannot write records."""

    error: str


Command = Probe | Load | Unload | Start | Run | Finish | Close
Event = Ready | TaskInfo | ProbeFailed | Refused | Asked | Done | Fault | Fatal
