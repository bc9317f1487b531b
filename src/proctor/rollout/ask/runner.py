"""Running a policy on requests of many trials, so that none can tell who shared its batch.

Requests are split into blocks of `pad_to` rows; missing rows repeat a real one. Pad rows draw from a generator of their
own and their answers are dropped. If a forward raises, the block is split until the guilty trials are found; a trial's
generator is put back to where it was before the failed attempt, so the others answer as if nothing had happened.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np

from proctor.plan.trial import Trial
from proctor.policies.options import PolicyOptions
from proctor.policies.padding import as_tokens, left_pad
from proctor.policies.protocol import (
    Actions,
    AnyPolicy,
    Batch,
    Decision,
    Execute,
    Fail,
    Goto,
    Idle,
    Policy,
    Stage,
    StagedPolicy,
    StageOutput,
    Unavailable,
)
from proctor.policies.stages import ACT, declared_stages, stages_of
from proctor.policies.tree import leaves_of, split_rows, stack_rows, take_row
from proctor.record.episode import Outcome
from proctor.rollout.ask.actions import ActionChecker
from proctor.rollout.layout import Layout

MAX_HOPS = 64
"""Stages that a policy may ask for one after the other without an action."""
RAISED = (Exception, SystemExit)
"""What a policy may raise at the cost of its own trial."""
MAX_STUMBLES = 8
"""Forwards of `act_together` that may raise before it is no longer tried: each is asked again."""
make_tuple = tuple.__new__
"""Makes a named tuple in a third of the time that its class takes: this is done for every row."""


class TaskEntry:
    """What a forward must know of a task: `dummy` is the action that `Idle` takes. Requests with equal `key` may share
    a batch."""

    def __init__(self, name: str, layout: Layout | None, checker: ActionChecker, dummy: Any = 0):
        self.name, self.layout, self.checker = name, layout, checker
        self.dummy = np.broadcast_to(np.asarray(dummy, checker.dtype), (1, *checker.shape))
        self.key = f"{name if layout is None else layout} {checker.shape}"


class Stream:
    """A trial's generator, made when first used. What a forward drew from it can be taken back, until `keep`."""

    __slots__ = ("_before", "_rng", "_trial")

    def __init__(self, trial: Trial):
        self._trial = trial
        self._rng: np.random.Generator | None = None
        self._before: Any = None

    def take(self) -> np.random.Generator:
        if self._rng is None:
            self._rng = self._trial.policy_rng()
        if self._before is None:
            self._before = self._rng.bit_generator.state
        return self._rng

    def keep(self) -> None:
        """What has been drawn stays drawn."""
        self._before = None

    def rewind(self) -> None:
        """Take back what was drawn since the last `keep`."""
        if self._before is not None and self._rng is not None:
            self._rng.bit_generator.state = self._before
            self._before = None

    def fork(self) -> Stream:
        """A stream of its own from before the forward that now draws from this one, which may go on with it."""
        twin = Stream(self._trial)
        state = self._before or (None if self._rng is None else self._rng.bit_generator.state)
        if state is not None:
            twin._rng = self._trial.policy_rng()
            twin._rng.bit_generator.state = state
        return twin


class Rngs(Sequence[np.random.Generator]):
    """The rows' generators. Only the rows that are asked for cost anything."""

    def __init__(self, block: Sequence[Request], rows: int):
        self._block, self._rows = block, rows
        self._pad: np.random.Generator | None = None

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[i] for i in range(*row.indices(self._rows))]
        if row < 0:
            row += self._rows
        if not 0 <= row < self._rows:
            raise IndexError(row)
        if row < len(self._block):
            return self._block[row].stream.take()
        if self._pad is None:
            self._pad = np.random.default_rng(0)
        return self._pad


FRESH = object()
"""The state of a trial before its first forward."""


class Request:
    """What a slot wants of its policy. A trial has one, which is asked again and again: `leaves` is its freshest
    observation, `state` the policy's state of the trial, `ticket` the slot's at the time of asking."""

    __slots__ = ("lane", "leaves", "since", "slot", "state", "stream", "task", "ticket", "tokens", "trial")

    def __init__(self, slot: Any, trial: Trial, task: TaskEntry):
        self.slot, self.trial, self.task = slot, trial, task
        self.stream, self.state = Stream(trial), FRESH
        self.ticket, self.since = 0, 0.0
        self.leaves: Any = None
        self.lane: Any = None
        """Where it was last asked, if that took a while."""
        self.tokens: Any = None
        """What the trial is told, once it has been asked for."""

    def ask(self, ticket: int, since: float) -> Self:
        """With the observation as it is now. The last answer has been used: what it drew is settled."""
        self.ticket, self.since = ticket, since
        self.stream.keep()
        return self

    def again(self) -> Request:
        """The same wish once more, though a forward that does not return still holds this one."""
        twin = Request(self.slot, self.trial, self.task)
        twin.stream, twin.state = self.stream.fork(), self.state
        twin.ticket, twin.leaves, twin.since, twin.tokens = self.ticket, self.leaves, self.since, self.tokens
        self.slot.wish = twin
        return twin


class Answer(NamedTuple):
    """What came of a request: a decision, or the policy's error."""

    request: Request
    decision: Decision | None
    state: Any = None
    error: str | None = None
    valid: bool = False
    """Whether its actions have been checked and found valid."""


class Chunks(NamedTuple):
    """What came of many requests at once: `actions` (requests, horizon, *action). `valid`: as in `Answer`."""

    actions: np.ndarray
    valid: bool


class PolicyRunner:
    """A loaded policy with its padding: `pad_to` rows, or as many as the stage says. Stages of one policy may run at
    once, each with its own buffers."""

    def __init__(self, policy: AnyPolicy, pad_to: int | None, stages: tuple[Stage, ...] | None = None):
        self.policy = policy
        self.stages = stages or declared_stages(policy)
        self._pad_to = {stage.name: stage.pad_to or pad_to for stage in self.stages}
        self._tokens = {stage.name: stage.tokens for stage in self.stages}
        self._staged = policy if isinstance(policy, StagedPolicy) else None
        self._told = any(self._tokens.values())
        self._buffers: dict[Any, list[np.ndarray]] = {}
        self._stumbles = 0
        self.plain = self._staged is None
        """Whether, as far as is known, it has no state and gives one action a row."""

    @classmethod
    def of(cls, policy: AnyPolicy, options: PolicyOptions) -> PolicyRunner:
        """With the stages and the padding that an agent's options leave."""
        return cls(policy, options.pad_to, stages_of(policy, options))

    @property
    def first_stage(self) -> str:
        return self.stages[0].name

    def answers(self, stage: str, requests: Sequence[Request]) -> list[Answer]:
        """As `run`, whatever the policy raises."""
        try:
            return self.run(stage, list(requests))
        except RAISED as problem:
            return [Answer(r, None, error=blame(problem)) for r in requests]

    def run(self, stage: str, requests: list[Request]) -> list[Answer]:
        """An answer for every request, in order."""
        size = self._pad_to[stage] or len(requests)
        if len(requests) <= size:
            return self._block(stage, requests)
        blocks = [requests[i : i + size] for i in range(0, len(requests), size)]
        return [answer for block in blocks for answer in self._block(stage, block)]

    def act_together(
        self, requests: Sequence[Request], trials: list[Trial], columns: Sequence[np.ndarray] | None = None
    ) -> Chunks | None:
        """What `run` would answer to requests of one task, whose trials are `trials`, in one array. Their observations
        are the rows of `columns`, or what each has. None where that cannot be had so: as if nothing had been asked, and
        `run` finds out what is wrong."""
        chunks = None
        try:
            if self.plain and self._stateless(requests):
                chunks = self._together(requests, trials, columns)
        except RAISED:
            self._stumbles += 1  # whose fault it is, is found out by asking again
            self.plain = self._stumbles < MAX_STUMBLES
        if chunks is None:
            for request in requests:
                request.stream.rewind()
        return chunks

    def _stateless(self, requests: Sequence[Request]) -> bool:
        """Whether, now that all have begun, none has a state."""
        if all([request.state is None for request in requests]):
            return True
        if self._begin(requests):
            return False
        self.plain = all([request.state is None for request in requests])
        return self.plain

    def _together(
        self, requests: Sequence[Request], trials: list[Trial], columns: Sequence[np.ndarray] | None
    ) -> Chunks | None:
        policy, task, rows = cast("Policy", self.policy), requests[0].task, self._pad_to[ACT] or len(requests)
        layout, shape = task.layout, task.checker.shape
        if layout is None:
            return None
        buffers, found = self._buffers_for(ACT, task, rows), []
        for start in range(0, len(requests), rows):
            block, names = requests[start : start + rows], trials[start : start + rows]
            n = len(block)
            if columns is None:
                _gather(buffers, block)
            else:
                for buffer, column in zip(buffers, columns, strict=True):
                    buffer[:n] = column[start : start + n]
                    buffer[n:] = buffer[:1]
            batch = Batch(layout.join(buffers), None, Rngs(block, rows), names + names[:1] * (rows - n))
            answer = policy.act(batch)
            if isinstance(answer, Actions):
                if answer.state is not None:
                    self.plain = False
                    return None
                answer = answer.actions
            actions = np.array(answer)
            self.plain = actions.ndim == 1 + len(shape)
            chunks = actions[:, None] if self.plain else actions
            if len(chunks) != rows or chunks.ndim != 2 + len(shape):
                return None
            found.append(chunks[:n])
        chunks = found[0] if len(found) == 1 else np.concatenate(found)
        valid = task.checker.all_valid(chunks)
        return Chunks(chunks, False) if valid is None else Chunks(valid, True)

    def _block(self, stage: str, block: list[Request]) -> list[Answer]:
        failed = self._begin(block)
        if not failed:
            return self._of_begun(stage, block)
        begun = [request for request in block if request not in failed]
        others = iter(self._of_begun(stage, begun) if begun else [])
        return [failed[request] if request in failed else next(others) for request in block]

    def _of_begun(self, stage: str, block: list[Request]) -> list[Answer]:
        """Of requests that have begun."""
        rows = self._pad_to[stage] or len(block)
        rngs = Rngs(block, rows)
        try:
            decisions, states, valid = self._forward(stage, block, rngs)
        except RAISED as problem:
            for request in block:
                request.stream.rewind()
            if len(block) == 1:
                return [Answer(block[0], None, error=blame(problem))]
            half = (len(block) + 1) // 2
            return [*self._of_begun(stage, block[:half]), *self._of_begun(stage, block[half:])]
        return [make_tuple(Answer, (r, d, s, None, valid)) for r, d, s in zip(block, decisions, states, strict=True)]

    def _begin(self, block: Sequence[Request]) -> dict[Request, Answer]:
        """Give new trials their initial state. The answers of those whose reset raises."""
        failed: dict[Request, Answer] = {}
        for request in block:
            if request.state is FRESH:
                try:
                    state = self.policy.reset([request.trial])
                    request.state = None if state is None else take_row(state, 0)
                    if self._told and self._staged is not None:
                        request.tokens = as_tokens(self._staged.tokens(request.trial))
                except RAISED as problem:
                    failed[request] = Answer(request, None, error=blame(problem))
        return failed

    def _forward(self, stage: str, block: list[Request], rngs: Rngs) -> tuple[Sequence[Decision], list[Any], bool]:
        """Decisions and next states of the block's rows, and whether the actions have been checked."""
        rows, n = len(rngs), len(block)
        padded = block + [block[0]] * (rows - n)
        batch = Batch(
            observation=self._observation(stage, block, rows),
            state=None if block[0].state is None else stack_rows([r.state for r in padded]),
            rngs=rngs,
            trials=[r.trial for r in padded],
        )
        rule = self._tokens[stage]
        if rule is not None:
            batch.tokens, batch.token_mask = left_pad([r.tokens for r in padded], rule)
        if self._staged is not None:
            output = self._staged.forward(stage, batch)
            decisions, state, valid = self._decisions(output, rows, block), output.state, False
        else:
            decisions, state, valid = self._act(cast("Policy", self.policy), batch, block)
        if state is None:
            return decisions, [None] * n, valid
        for path, leaf in leaves_of(state):
            if len(leaf) != rows:
                raise ValueError(
                    f"the policy returned a state {path or 'array'} of {len(leaf)} rows for a batch of {rows}"
                )
        return decisions, split_rows(state, n), valid

    def _observation(self, stage: str, block: list[Request], rows: int) -> Any:
        layout = block[0].task.layout
        if layout is None:
            objects = [r.leaves for r in block]
            return objects + [objects[0]] * (rows - len(objects))
        buffers = self._buffers_for(stage, block[0].task, rows)
        _gather(buffers, block)
        return layout.join(buffers)

    def _buffers_for(self, stage: str, task: TaskEntry, rows: int) -> list[np.ndarray]:
        key = (stage, task.key, rows)
        buffers = self._buffers.get(key)
        if buffers is None:
            assert task.layout is not None
            buffers = self._buffers[key] = task.layout.empty(rows)
        return buffers

    def _act(self, policy: Policy, batch: Batch, block: list[Request]) -> tuple[list[Decision], Any, bool]:
        answer = policy.act(batch)
        actions, state = (answer.actions, answer.state) if isinstance(answer, Actions) else (answer, None)
        rows = np.array(actions)
        if rows.ndim == 0 or len(rows) != len(batch):
            raise ValueError(f"act returned an array of shape {rows.shape} for a batch of {len(batch)} rows")
        task = block[0].task
        if rows.ndim != 2 + len(task.checker.shape):
            rows = rows[:, None]
        rows = rows[: len(block)]
        checked = task.checker.all_valid(rows) if all(r.task is task for r in block) else None
        decisions: list[Decision] = [make_tuple(Execute, (c, ACT)) for c in (rows if checked is None else checked)]
        return decisions, state, checked is not None

    def _decisions(self, output: StageOutput, rows: int, block: list[Request]) -> Sequence[Decision]:
        if len(output.decisions) != rows:
            raise ValueError(f"the policy answered {len(output.decisions)} rows for a batch of {rows}")
        for decision in output.decisions:
            self._check(decision)
        pairs = zip(block, output.decisions, strict=False)
        return [Execute(r.task.dummy, d.then) if type(d) is Idle else d for r, d in pairs]

    def _check(self, decision: Decision) -> None:
        match decision:
            case Execute(then=stage) | Idle(then=stage) | Goto(stage=stage):
                if stage not in self._pad_to:
                    declared = ", ".join(sorted(self._pad_to))
                    raise ValueError(f'the policy asked for stage "{stage}"; it declares {declared}')
            case Fail() | Unavailable():
                pass
            case _:
                found = type(decision).__name__
                raise TypeError(f"a stage must answer Execute, Goto, Idle or Fail for each row; found {found}")


def _gather(buffers: Sequence[np.ndarray], block: Sequence[Request]) -> None:
    """Fill the buffers with the observations of a block; rows that are left over repeat its first one."""
    n = len(block)
    for j, buffer in enumerate(buffers):
        for i, request in enumerate(block):
            buffer[i] = request.leaves[j]
        if n < len(buffer):
            buffer[n:] = buffer[0]


def setback(decision: Decision | None, error: str | None) -> tuple[Outcome, str]:
    """What becomes of a trial whose policy gave neither an action nor another stage, and why. An outcome that is not
    scored ends this attempt only."""
    match decision:
        case Fail(reason):
            return Outcome.POLICY_ERROR, reason
        case Unavailable(reason):
            return Outcome.WORKER_LOST, reason
        case _:
            return Outcome.POLICY_ERROR, error or "the policy gave no answer"


def too_long(stage: str, limit_s: float) -> str:
    return f"TimeoutError: the policy's {stage} took longer than {limit_s:g} s"


def endless(stage: str) -> str:
    return f"the policy went through {MAX_HOPS} stages without an action; last {stage}"


def blame(problem: BaseException) -> str:
    """First line: what it is. Then the policy's traceback."""
    return f"{type(problem).__name__}: {problem}\n{''.join(traceback.format_exception(problem))}"
