"""What a policy is.

A policy never sees an episode; it sees a batch of rows, each from another trial. Everything that belongs to a
trial (recurrent state, noise) comes in with its row and goes out with it, so a policy object holds nothing but
its weights, and a trial comes out the same whatever shares its batch.

Rows: `batch.observation` is an array `(rows, ...)`, or a dict (nested as the environment's) of such arrays, or a
list of objects where the space is not made of arrays. The arrays are valid during the call only: copy what you keep.
`rows` is always the agent's `pad_to` (unless that is null): the last rows may repeat a real one, and what is returned
for them is dropped. Twice in a run a policy is asked again on copies, to see what its rows depend on, once for a single
row; what it raises then is nothing but unknown.

A plain policy writes `act` and, if it has memory, `reset`. A policy with several model calls per action (a
planner, then an action expert) declares `stages` and writes `forward`.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Union

import numpy as np

from proctor.policies.padding import LeftPad
from proctor_host.trials import Trial

Observation = Any
"""Array `(rows, ...)`, nested dict or tuple of arrays, or list of objects."""

Placement = Literal["engine", "worker"]
"""Where a policy is asked: by the engine, which batches across all workers and keeps a model on its device; or in the
worker, next to the environments, for a policy that answers sooner than a message gets to the engine and back."""

State = Any
"""None, or a nested dict / tuple / list of arrays whose first axis is the row."""


@dataclass(frozen=True)
class Stage:
    """One kind of model call. A forward starts when `max_batch` requests wait, when no running slot could still join,
    or when the oldest has waited `max_wait_s` (None: about as long as a forward lately took, longer while workers
    have enough to step). What is None here is as the agent's options say. Images, states and the like have a fixed
    shape; token sequences have one by `tokens`."""

    name: str
    max_batch: int | None = None
    max_wait_s: float | None = None
    pad_to: int | None = None
    """Rows of each forward of this stage."""
    tokens: LeftPad | None = None
    """How the trials' token sequences (`StagedPolicy.tokens`) are filled up; None: this stage takes none."""


@dataclass
class Batch:
    """The rows of one forward. `rngs[i]` is the generator of row i's trial; pad rows get throw-away ones. `tokens` and
    `token_mask` are arrays `(rows, length)` for a stage that declares `tokens`, else None."""

    observation: Observation
    state: State
    rngs: Sequence[np.random.Generator]
    trials: Sequence[Trial]
    tokens: Any = None
    token_mask: Any = None

    def __len__(self) -> int:
        return len(self.trials)

    def normal(self, shape: tuple[int, ...] = (), dtype: Any = np.float64) -> np.ndarray:
        """Standard normal noise `(rows, *shape)`, each row from its own trial's generator."""
        return np.stack([rng.standard_normal(shape, dtype=dtype) for rng in self.rngs])

    def uniform(self, shape: tuple[int, ...] = (), dtype: Any = np.float64) -> np.ndarray:
        """Uniform noise in [0, 1), `(rows, *shape)`, each row from its own trial's generator."""
        return np.stack([rng.random(shape, dtype=dtype) for rng in self.rngs])


def by_task(trials: Sequence[Trial], compute: Callable[[str, np.ndarray | slice], np.ndarray]) -> np.ndarray:
    """Work that differs by task: `compute(task, rows)` for each task of a batch, with the indices of its rows (a slice
    where all rows are of one task); the answers, one item per row, in batch order. Where the tasks' answers differ in
    shape or dtype, the result is an object array with one item per row."""
    rows_of: dict[str, list[int]] = {}
    for row, trial in enumerate(trials):
        rows_of.setdefault(trial.task, []).append(row)
    if len(rows_of) == 1:
        return compute(trials[0].task, slice(None))
    parts = {task: compute(task, np.asarray(rows)) for task, rows in rows_of.items()}
    kinds = {(part.shape[1:], part.dtype) for part in parts.values()}
    shape, dtype = kinds.pop() if len(kinds) == 1 else ((), np.dtype(object))
    done = np.empty((len(trials), *shape), dtype)
    for task, rows in rows_of.items():
        for row, item in zip(rows, parts[task], strict=True):
            done[row] = item
    return done


@dataclass(frozen=True)
class Actions:
    """`actions`: `(rows, *action)` for one action a row, `(rows, horizon, *action)` for a chunk. `state`: what the
    next call of these trials gets (None: stateless)."""

    actions: np.ndarray
    state: State = None


class Execute(NamedTuple):
    """A stage's answer for one row: run these actions `(horizon, *action)`, then ask stage `then`."""

    actions: np.ndarray
    then: str


class Goto(NamedTuple):
    """A stage's answer for one row: ask another stage, with a fresh observation of the same step."""

    stage: str


class Idle(NamedTuple):
    """A stage's answer for one row: take one step with the environment's dummy action, then ask stage `then`."""

    then: str


class Fail(NamedTuple):
    """A stage's answer for one row: the policy gives up; the trial ends as a policy error with this reason."""

    reason: str


class Unavailable(NamedTuple):
    """A stage's answer for one row: what the policy runs on (a server, a device) is gone. No failure of the policy: the
    trial starts again from its first step, and stays unscored once its retries are used up."""

    reason: str


Decision = Union[Execute, Goto, Idle, Fail, Unavailable]  # noqa: UP007 - policies may live in older Pythons


@dataclass(frozen=True)
class StageOutput:
    """One decision per row, and the rows' next state (None: stateless)."""

    decisions: Sequence[Decision]
    state: State = None


@dataclass(frozen=True)
class SpaceInfo:
    """What a loader is told of the tasks its agent will meet, by task name: gymnasium spaces, and what the suite tells
    agents beforehand (its briefing, made when it is called)."""

    observation: dict[str, Any] = field(default_factory=dict)
    action: dict[str, Any] = field(default_factory=dict)
    briefing: dict[str, Callable[[], Any]] = field(default_factory=dict)

    def instruction(self, task: str, given: Mapping[str, str]) -> str | None:
        """What a task is told in words: what is `given` for it, else what its briefing says; None where nobody does."""
        if task in given or task not in self.briefing:
            return given.get(task)
        told = getattr(self.briefing[task](), "instruction", None)
        return told if isinstance(told, str) and told.strip() else None


class Policy(abc.ABC):
    """A policy with one model call, the stage `act`."""

    placement: Placement = "engine"
    """`worker`: it is quick (a script, a table, a few small matrices), takes little memory, and can be loaded again in
    every worker."""
    elsewhere: bool = False
    """Whether it computes in another process: then it is never asked on the engine's own thread."""
    device: str | None = None
    """Where it takes and gives arrays, as torch says it: `cuda:0`. Beside worlds on that device (`DeviceEnv`) it gets
    observations as tensors that lie there, one row for every world, and answers with one; where its worlds are
    elsewhere, and where this is None, it gets arrays of numpy. It must take both."""
    row_by_row: bool = False
    """Whether every row is answered by a call of its own, so that there is nothing to gain from pad rows: it gets
    none."""

    def reset(self, trials: Sequence[Trial]) -> State:
        """The initial state of these trials, stacked on the first axis; None for a policy without memory."""
        return None

    @abc.abstractmethod
    def act(self, batch: Batch) -> np.ndarray | Actions:
        """Actions for every row: an array `(rows, *action)` or a chunk `(rows, horizon, *action)`; with state,
        `Actions`."""

    def close(self) -> None:  # noqa: B027 - optional to override
        """Let go of devices and connections. Called once, after the last act."""

    def abandon(self) -> None:  # noqa: B027 - optional to override
        """A call has taken too long, and this object is left behind: end what still computes, if that is possible.
        Called on another thread, in the place of `close`."""


class StagedPolicy(abc.ABC):
    """A policy of several stages. A trial starts at `stages[0]`; each forward says, per row, what comes next."""

    placement: Placement = "engine"
    """As in Policy."""
    elsewhere: bool = False
    """As in Policy."""
    stages: tuple[Stage, ...]

    def reset(self, trials: Sequence[Trial]) -> State:
        """As in Policy."""
        return None

    def tokens(self, trial: Trial) -> Sequence[int]:
        """What the trial is told, as whole numbers: asked once per trial, where a stage declares `tokens`."""
        raise NotImplementedError(f"{type(self).__name__} declares a stage with tokens: write tokens(trial)")

    @abc.abstractmethod
    def forward(self, stage: str, batch: Batch) -> StageOutput:
        """Run one stage on a batch. Two stages may run at once, each on its own thread."""

    def close(self) -> None:  # noqa: B027 - optional to override
        """As in Policy."""

    def abandon(self) -> None:  # noqa: B027 - optional to override
        """As in Policy."""


AnyPolicy = Union[Policy, StagedPolicy]  # noqa: UP007 - as above
