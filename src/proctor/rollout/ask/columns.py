"""Asking a policy for all worlds of a device at once, with arrays that lie there.

A `Pilot` is one agent's policy beside the worlds of one task. Every forward has a row for every world, those of other
agents and those without a trial included: what is answered for these is dropped. Actions are checked where they are,
by the rules of `ask.actions`; what is wrong with one is said once it has come to the host.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Actions, AnyPolicy, Batch, Policy
from proctor.rollout.ask.decide import decide, too_long
from proctor.rollout.ask.lanes import LaneStats
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.tasks import Task
from proctor_host.episode import Outcome
from proctor_host.kit import Kit, same_device
from proctor_host.layout import Layout
from proctor_host.messages import Chunk
from proctor_host.trials import Trial

if TYPE_CHECKING:
    from proctor_host.task import Task as Described

DEFAULT_ROWS = PolicyOptions().pad_to


class Flown(NamedTuple):
    """Arrays of the device with a row for every world: actions that can be executed, which rows were no valid actions,
    which were clipped, and what the policy had given."""

    actions: Any
    invalid: Any
    clipped: Any
    given: Any


def why_not(policy: AnyPolicy, task: Described, pad_to: int | None) -> str | None:
    """Why this policy, with rows of `pad_to`, cannot be asked for all worlds of a device task at once; None: it can."""
    if not isinstance(policy, Policy):
        return "its policy has stages"
    if policy.row_by_row:
        return "its policy is asked row by row"
    if policy.device is None:
        return "its policy takes arrays of numpy: it says no device"
    if not same_device(policy.device, task.device):
        return f"its policy is on {policy.device}, and the worlds are on {task.device}"
    if task.layout is None or not task.layout.flat:
        return "observations are neither one array nor a flat dict of arrays"
    if pad_to not in (None, DEFAULT_ROWS, task.worlds):
        return f"options.pad_to is {pad_to}, and a forward for all worlds has {task.worlds} rows"
    return None


def rows_beside(policy: AnyPolicy, options: PolicyOptions, tasks: Sequence[Described]) -> int | None:
    """How many rows every forward of a policy has that is asked for all worlds of a device at once; None where it is
    not."""
    sizes = {task.worlds for task in tasks if task.device and why_not(policy, task, options.pad_to) is None}
    return max((size for size in sizes if size is not None), default=None)


def widened(options: PolicyOptions, rows: int | None) -> PolicyOptions:
    """An agent's options with so many rows to a forward; None: as they are."""
    return options if rows is None else options.model_copy(update={"pad_to": rows, "max_batch": rows})


class Pilot:
    """`layout` and `checker` are those of the task. `told` are the statistics that the engine is told."""

    def __init__(self, runner: PolicyRunner, task: Task, worlds: int, kit: Kit):
        assert task.layout is not None
        self.runner, self.task, self.kit = runner, task, kit
        self.place = self
        """By what its answers are remembered."""
        self.refused: str | None = None
        self.stats, self.steps = LaneStats(), 0
        self._layout: Layout = task.layout
        self._worlds = worlds
        self._requests: dict[int, Request] = {}
        self._trials: list[Trial] = []
        self._rows: Any = None
        self._drawn: set[int] = set()
        self._check = _Check(task, kit)

    # Trials -----------------------------------------------------------------------------------------------------------

    def admit(self, trial: Trial, slot: int, seen: Sequence[Any], owner: Any) -> tuple[Request | None, str | None]:
        """What a trial asks, and what its policy raised as it began; None and a reason where it cannot be asked
        here."""
        if self.refused is None:
            request = Request(owner, trial, self.task, self.runner.first_stage)
            request.see(seen, slot)
            error = self.runner.begin(request)
            if error is not None or request.state is None:
                return request, error
            self.refuse("its policy has a memory of each trial, which lies on the host")
        return None, self.refused

    def refuse(self, why: str) -> None:
        """From now on its trials are asked otherwise."""
        self.refused = why

    def joins(self, slot: int, request: Request) -> None:
        """A world's trial asks here from now on."""
        if not self._trials:
            self._trials = [request.trial] * self._worlds
        self._requests[slot], self._trials[slot], self._rows = request, request.trial, None

    def leaves(self, slot: int) -> None:
        """A world's trial asks no more."""
        del self._requests[slot]
        self._rows = None

    def rows(self) -> Any:
        """The worlds whose trials ask here, as a mask on the device."""
        if self._rows is None:
            mask = np.zeros(self._worlds, bool)
            mask[list(self._requests)] = True
            self._rows = self.kit.put(mask)
        return self._rows

    # Asking -----------------------------------------------------------------------------------------------------------

    def act(self, leaves: Sequence[Any], resting: np.ndarray | None) -> Flown:
        """Actions for every world. Raises what the policy raises, and ValueError for answers that have to be looked at
        one by one."""
        for slot in self._drawn:
            if slot in self._requests:
                self._requests[slot].stream.keep()
        self._drawn.clear()
        batch = Batch(self._layout.join(leaves), None, _Rngs(self, resting), self._trials)
        answer = self.runner.on_device(batch)
        given = self._as_rows(answer.actions if isinstance(answer, Actions) else answer)
        if isinstance(answer, Actions) and answer.state is not None:
            raise ValueError("a policy without a memory returned a state")
        return Flown(*self._check(given), given)

    def _as_rows(self, answer: Any) -> Any:
        kit = self.kit
        given = kit.put(answer) if type(answer) is np.ndarray else kit.own(answer)
        shape = self.task.checker.shape
        if given.ndim == 2 + len(shape) and given.shape[1] == 1:
            given = given[:, 0]
        if tuple(given.shape) != (self._worlds, *shape):
            raise ValueError(f"the policy answered {tuple(given.shape)}; expected {(self._worlds, *shape)}")
        kit.type_of(given)
        return given.detach() if getattr(given, "requires_grad", False) else given

    def tell(self) -> tuple[LaneStats, int]:
        """What has been asked since the last call: statistics, and steps of environments that got actions."""
        told = self.stats, self.steps
        self.stats, self.steps = LaneStats(), 0
        return told

    def took(self, seconds: float) -> None:
        """A forward took so long."""
        rows = len(self._requests)
        self.stats.add(LaneStats(1, rows, seconds, rows * seconds))
        self.steps += rows

    def reason(self, given: np.ndarray) -> str:
        """What is wrong with an action."""
        chunk = self.task.checker.check(given[None])
        return chunk.reason or "the action is not valid"

    def ask(
        self, slots: Sequence[int], alone: bool, limit_s: float
    ) -> Iterator[tuple[int, Chunk | None, tuple[Outcome, str] | None]]:
        """Ask for these worlds as elsewhere, on the host: for each its actions, or how its trial ends; neither where it
        gave something else. `alone`: one by one, and whoever takes longer than the limit fails."""
        requests = [self._requests[slot] for slot in slots]
        slot_of = dict(zip(map(id, requests), slots, strict=True))
        for request in requests:
            request.stream.rewind()
        self._drawn.clear()
        for some in [[request] for request in requests] if alone else [requests]:
            began = time.perf_counter()
            answers = self.runner.answers(self.runner.first_stage, some)
            if alone and time.perf_counter() - began > limit_s:
                yield slot_of[id(some[0])], None, (Outcome.POLICY_ERROR, too_long(self.runner.first_stage, limit_s))
                continue
            acting, chunks, asking, ended = decide(answers)
            for request, chunk in zip(acting, chunks, strict=True):
                whole = chunk if isinstance(chunk, Chunk) else Chunk(chunk, len(chunk))
                yield slot_of[id(request)], whole, None
            for request in asking:
                yield slot_of[id(request)], None, None
            for request, outcome, error in ended:
                yield slot_of[id(request)], None, (outcome, error)
        for request in requests:
            request.stream.keep()


class _Rngs(Sequence[np.random.Generator]):
    """The generators of the trials in their worlds' rows; worlds without a trial of this agent, and those in their
    warm-up, have one of their own."""

    def __init__(self, pilot: Pilot, resting: np.ndarray | None):
        self._pilot, self._resting = pilot, resting
        self._other: np.random.Generator | None = None

    def __len__(self) -> int:
        return self._pilot._worlds

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError(row)
        row %= len(self)
        request = self._pilot._requests.get(row)
        if request is None or (self._resting is not None and self._resting[row]):
            if self._other is None:
                self._other = np.random.default_rng(0)
            return self._other
        self._pilot._drawn.add(row)
        return request.stream.take()


class _Check:
    """The rules of `ActionChecker`, for rows of a device."""

    def __init__(self, task: Task, kit: Kit):
        checker = task.checker
        self._checker, self._kit = checker, kit
        kind = np.dtype(np.int64) if checker.whole else checker.dtype
        low, high = (np.array(np.broadcast_to(end, checker.shape), kind) for end in (checker.low, checker.high))
        self._bounded = checker.whole or bool(np.isfinite(low).all() and np.isfinite(high).all())
        self._free = not checker.whole and bool((low == -np.inf).all() and (high == np.inf).all())
        self._low, self._high = kit.put(low), kit.put(high)
        self._dummy = kit.put(np.array(np.broadcast_to(np.asarray(task.dummy, checker.dtype), checker.shape)))

    def __call__(self, given: Any) -> tuple[Any, Any, Any]:
        """Actions of the space's type, which rows are invalid, which are clipped."""
        if self._kit.type_of(given).kind not in "fiub":
            raise ValueError("actions that are no numbers")
        return self._whole(given) if self._checker.whole else self._real(given)

    def _real(self, given: Any) -> tuple[Any, Any, Any]:
        xp, kit = self._kit.xp, self._kit
        cast = kit.as_type(given, self._checker.dtype)
        finite = xp.isfinite(given)
        if self._free:
            invalid = self._any(~(finite & xp.isfinite(cast)))
            return xp.where(self._beside(invalid, cast), self._dummy, cast), invalid, xp.zeros_like(invalid)
        inside = xp.clip(cast, self._low, self._high)
        finite = finite if self._bounded else finite & xp.isfinite(inside)
        beyond = inside != cast
        outside, invalid = self._any(beyond), self._any(~finite)
        if not self._checker.clip:
            invalid = invalid | outside
            return xp.where(self._beside(invalid, cast), self._dummy, cast), invalid, xp.zeros_like(invalid)
        clean = xp.where(beyond, inside, cast)
        return xp.where(self._beside(invalid, cast), self._dummy, clean), invalid, outside & ~invalid

    def _whole(self, given: Any) -> tuple[Any, Any, Any]:
        xp, kit = self._kit.xp, self._kit
        bad = (given < self._low) | (given > self._high)
        if kit.type_of(given).kind == "f":
            bad = bad | ~xp.isfinite(given) | (given != xp.floor(given))
        invalid = self._any(bad)
        dummy = kit.as_type(self._dummy, kit.type_of(given))
        clean = kit.as_type(xp.where(self._beside(invalid, given), dummy, given), self._checker.dtype)
        return clean, invalid, xp.zeros_like(invalid)

    def _any(self, flags: Any) -> Any:
        return flags if flags.ndim == 1 else flags.reshape((len(flags), -1)).any(1)

    def _beside(self, rows: Any, like: Any) -> Any:
        return rows.reshape((-1, *[1] * (like.ndim - 1)))
