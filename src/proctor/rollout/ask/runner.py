"""Running a policy on requests of many trials, so that none can tell who shared its batch.

Requests are split into blocks of `pad_to` rows; missing rows repeat a real one. Pad rows draw from a generator of their
own and their answers are dropped. If a forward raises, the block is split until the guilty trials are found; a trial's
generator is put back to where it was before the failed attempt, so the others answer as if nothing had happened.

This is the only place where a policy is called: by the engine's lanes, by workers that hold a policy, by a server, by
`tune` and by an evaluation inside a training loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, cast

import numpy as np

from proctor.errors import BREAKS
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
from proctor.policies.rows import pick_rows
from proctor.policies.stages import ACT, declared_stages, stages_of
from proctor.policies.tree import leaves_of, split_rows, stack_rows, take_row
from proctor.rollout.ask.requests import FRESH, Request, Rngs, gather
from proctor.rollout.ask.rows import DUE, RowFindings, examine
from proctor.rollout.tasks import Task
from proctor.threads import hold
from proctor_host.copies import end_if_copied, forks
from proctor_host.errors import explain


class Answers:
    """What came of requests, in their order. A plain policy's actions are in one array `(requests, horizon, *action)`;
    otherwise `each` has a decision for every request, or None and the policy's error. Nothing has been checked yet
    (`decide` does that). `states` are the policy's next states of the trials; None: it has none."""

    __slots__ = ("actions", "each", "requests", "states")

    def __init__(
        self,
        requests: Sequence[Request],
        actions: np.ndarray | None,
        each: Sequence[tuple[Decision | None, str | None]] = (),
        states: list[Any] | None = None,
    ):
        self.requests, self.actions, self.states = requests, actions, states
        self.each = each

    @classmethod
    def failed(cls, requests: Sequence[Request], error: str) -> Answers:
        """All of these got this error."""
        return cls(requests, None, [(None, error)] * len(requests))

    @classmethod
    def joined(cls, parts: Sequence[Answers]) -> Answers:
        """The answers of several blocks as those of one."""
        if len(parts) == 1:
            return parts[0]
        requests = [request for part in parts for request in part.requests]
        states = None
        if any([part.states is not None for part in parts]):
            states = [state for part in parts for state in part.states or [None] * len(part.requests)]
        arrays = [part.actions for part in parts if part.actions is not None]
        if len(arrays) == len(parts) and len({(array.shape[1:], array.dtype) for array in arrays}) == 1:
            return cls(requests, np.concatenate(arrays), (), states)
        return cls(requests, None, [one for part in parts for one in part.one_by_one()], states)

    def one_by_one(self) -> Sequence[tuple[Decision | None, str | None]]:
        """A decision or an error for every request."""
        return self.each if self.actions is None else [(Execute(chunk, ACT), None) for chunk in self.actions]


class _Held(threading.local):
    """Whether this thread computes with the run's number of numeric threads, since the policy was loaded."""

    yes = False


class PolicyRunner:
    """A loaded policy with its padding: `pad_to` rows, or as many as the stage says. Stages of one policy may run at
    once, each with its own buffers."""

    def __init__(self, policy: AnyPolicy, pad_to: int | None, stages: tuple[Stage, ...] | None = None):
        self.policy = policy
        self.stages = stages or declared_stages(policy)
        self._pad_to = {stage.name: stage.pad_to or pad_to for stage in self.stages}
        self._tokens = {stage.name: stage.tokens for stage in self.stages}
        self._staged = policy if isinstance(policy, StagedPolicy) else None
        self._unpadded = isinstance(policy, Policy) and policy.row_by_row
        self._told = any(self._tokens.values())
        self._alone = threading.Lock() if self._staged is None else nullcontext()
        """A plain policy answers one caller at a time: a lane and a worker of this process may share it."""
        self._buffers: dict[Any, list[np.ndarray]] = {}
        self._held = _Held()
        self.examined = False
        """Whether some forwards are asked again, to see what their rows depend on (`rollout.ask.rows`)."""
        self._forwards = {stage.name: 0 for stage in self.stages}
        self._kept: dict[str, Batch] = {}

    @classmethod
    def of(cls, policy: AnyPolicy, options: PolicyOptions) -> PolicyRunner:
        """With the stages and the padding that an agent's options leave."""
        return cls(policy, options.pad_to, stages_of(policy, options))

    @property
    def first_stage(self) -> str:
        return self.stages[0].name

    def rows(self, stage: str) -> int | None:
        """Rows of a forward of a stage."""
        return self._pad_to[stage]

    def answers(self, stage: str, requests: Sequence[Request], most: int | None = None) -> Answers:
        """What the policy answers, in order, asked for at most so many at once; whatever it raises is the answer of the
        trials that made it raise. The requests' tasks must have one key."""
        if not self._held.yes:
            hold()
            self._held.yes = True
        before = forks()
        try:
            with self._alone:
                return self._in_blocks(stage, requests, most or len(requests))
        except BREAKS as problem:
            return Answers.failed(requests, explain(problem))
        finally:
            end_if_copied(before)

    def begin(self, request: Request) -> str | None:
        """Give a new trial its initial state; what its policy raised instead."""
        with self._alone:
            failed = self._begin([request])
        return failed[request][1] if failed else None

    def on_device(self, batch: Batch) -> Any:
        """What a plain policy answers for rows that lie on its device. Raises what it raises."""
        if not self._held.yes:
            hold()
            self._held.yes = True
        before = forks()
        try:
            with self._alone:
                return cast("Policy", self.policy).act(batch)
        finally:
            end_if_copied(before)

    def _in_blocks(self, stage: str, requests: Sequence[Request], most: int) -> Answers:
        size = min(self._pad_to[stage] or most, most)
        if len(requests) <= size:
            return self._block(stage, requests)
        return Answers.joined([self._block(stage, requests[i : i + size]) for i in range(0, len(requests), size)])

    def examine(self, stage: str, begin: Callable[[], None]) -> RowFindings | None:
        """Ask again for the last forward of a stage, if it is one to be examined; `begin` is called before each."""
        kept = self._kept.pop(stage, None)
        if kept is None:
            return None
        with self._alone:
            return examine(self.policy, kept, stage, begin)

    def _keep(self, stage: str, batch: Batch) -> None:
        """Keep a copy of a batch that is to be asked again."""
        self._forwards[stage] += 1
        if self._forwards[stage] in DUE:
            self._kept[stage] = pick_rows(batch, range(len(batch)))

    def _block(self, stage: str, block: Sequence[Request]) -> Answers:
        failed = self._begin(block)
        if not failed:
            return self._begun(stage, block)
        begun = [request for request in block if request not in failed]
        found: dict[Request, tuple[Decision | None, str | None, Any]] = dict(failed)
        if begun:
            others = self._begun(stage, begun)
            states = others.states or [None] * len(begun)
            for request, state, one in zip(begun, states, others.one_by_one(), strict=True):
                found[request] = (*one, state)
        each = [found[request] for request in block]
        return Answers(block, None, [(decision, error) for decision, error, _ in each], [state for *_, state in each])

    def _begin(self, block: Sequence[Request]) -> dict[Request, tuple[None, str, None]]:
        """Give new trials their initial state. The answers of those whose reset raises."""
        failed: dict[Request, tuple[None, str, None]] = {}
        for request in block:
            if request.state is FRESH:
                try:
                    state = self.policy.reset([request.trial])
                    request.state = None if state is None else take_row(state, 0)
                    if self._told and self._staged is not None:
                        request.tokens = as_tokens(self._staged.tokens(request.trial))
                except BREAKS as problem:
                    failed[request] = (None, explain(problem), None)
        return failed

    def _begun(self, stage: str, block: Sequence[Request]) -> Answers:
        """The answers of trials that have a state, or have none on purpose."""
        try:
            return self._forward(stage, block)
        except BREAKS as problem:
            self._kept.pop(stage, None)
            for request in block:
                request.stream.rewind()
            if len(block) == 1:
                return Answers.failed(block, explain(problem))
            half = (len(block) + 1) // 2
            return Answers.joined([self._begun(stage, block[:half]), self._begun(stage, block[half:])])

    def _forward(self, stage: str, block: Sequence[Request]) -> Answers:
        n = len(block)
        rows = n if self._unpadded else self._pad_to[stage] or n
        trials = [request.trial for request in block]
        batch = Batch(
            observation=self._observation(stage, block, rows),
            state=None,
            rngs=Rngs(block, rows),
            trials=trials + trials[:1] * (rows - n),
        )
        if block[0].state is not None:
            states = [request.state for request in block]
            batch.state = stack_rows(states + states[:1] * (rows - n))
        rule = self._tokens[stage]
        if rule is not None:
            told = [request.tokens for request in block]
            batch.tokens, batch.token_mask = left_pad(told + told[:1] * (rows - n), rule)
        if self.examined and self._pad_to[stage] not in (None, 1):
            self._keep(stage, batch)
        if self._staged is not None:
            output = self._staged.forward(stage, batch)
            each = [(decision, None) for decision in self._decisions(output, rows)[:n]]
            return Answers(block, None, each, _states(output.state, n, rows))
        actions, state = _act(cast("Policy", self.policy), batch, block[0].task)
        return Answers(block, actions[:n], (), _states(state, n, rows))

    def _observation(self, stage: str, block: Sequence[Request], rows: int) -> Any:
        layout = block[0].task.layout
        if layout is None:
            objects = [request.columns[request.row] for request in block]
            return objects + objects[:1] * (rows - len(objects))
        key = (stage, block[0].task.key, rows)
        buffers = self._buffers.get(key)
        if buffers is None:
            buffers = self._buffers[key] = layout.empty(rows)
        gather(buffers, block)
        return layout.join(buffers)

    def _decisions(self, output: StageOutput, rows: int) -> Sequence[Decision]:
        if len(output.decisions) != rows:
            raise ValueError(f"the policy answered {len(output.decisions)} rows for a batch of {rows}")
        for decision in output.decisions:
            self._check(decision)
        return output.decisions

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


def _act(policy: Policy, batch: Batch, task: Task) -> tuple[np.ndarray, Any]:
    """Actions `(rows, horizon, *action)`, whatever their shape is worth, and the next state."""
    answer = policy.act(batch)
    given, state = (answer.actions, answer.state) if isinstance(answer, Actions) else (answer, None)
    actions = np.array(given)
    if actions.ndim == 0 or len(actions) != len(batch):
        raise ValueError(f"act returned an array of shape {actions.shape} for a batch of {len(batch)} rows")
    return (actions if actions.ndim == 2 + len(task.checker.shape) else actions[:, None]), state


def _states(state: Any, n: int, rows: int) -> list[Any] | None:
    """The next states of the first `n` rows; None for a policy without memory."""
    if state is None:
        return None
    for path, leaf in leaves_of(state):
        if len(leaf) != rows:
            raise ValueError(f"the policy returned a state {path or 'array'} of {len(leaf)} rows for a batch of {rows}")
    return split_rows(state, n)
