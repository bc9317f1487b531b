"""What follows from a policy's answers: the one place where a decision is interpreted.

The engine, a worker that holds a policy, a server and `tune` call `decide` and find three kinds of requests: those that
got actions, those whose policy wants another of its stages first, and those whose trial ends here.

What the environment raises is the environment's fault and costs an attempt; what the policy raises, or answers instead
of an action, is the policy's and ends its trial. Text of an error: first line what it is, then the traceback.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from proctor.policies.protocol import Decision, Execute, Fail, Goto, Idle, Unavailable
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import Answers
from proctor_host.episode import Outcome
from proctor_host.messages import Chunk


class Ended(NamedTuple):
    """A trial that its policy ends. An outcome that is not scored ends this attempt only."""

    request: Request
    outcome: Outcome
    error: str


class Decided(NamedTuple):
    """`acting` got `chunks`: one array `(requests, horizon, *action)` where every action is valid as it is and chunks
    are of one length, else a checked chunk for each. `asking` go on with their `request.stage`."""

    acting: list[Request]
    chunks: np.ndarray | list[Chunk]
    asking: list[Request]
    ended: list[Ended]


def decide(answers: Answers, check: bool = True) -> Decided:
    """Sort the answers, check actions against the tasks' action spaces, and bring the requests up to date: state, next
    stage, and how many stages were asked for without an action. Without `check`, actions are as the policy gave them:
    whoever asked from elsewhere checks them there."""
    requests = list(answers.requests)
    if answers.states is None:
        for request in requests:
            request.state = None
    else:
        for request, state in zip(requests, answers.states, strict=True):
            request.state = state
    if answers.actions is None:
        return _one_by_one(answers, requests, check)
    return Decided(requests, _checked(requests, answers.actions) if check else answers.actions, [], [])


def _checked(requests: list[Request], actions: np.ndarray) -> np.ndarray | list[Chunk]:
    task = requests[0].task
    if all([request.task is task for request in requests]):
        valid = task.checker.all_valid(actions)
        if valid is not None:
            return valid
    return [request.task.checker.check(chunk) for request, chunk in zip(requests, actions, strict=True)]


def _one_by_one(answers: Answers, requests: list[Request], check: bool) -> Decided:
    acting: list[Request] = []
    chunks: list[Chunk] = []
    decided = Decided(acting, chunks, [], [])
    for request, (decision, error) in zip(requests, answers.each, strict=True):
        match decision:
            case Execute(then=then) | Idle(then=then):
                actions = decision.actions if isinstance(decision, Execute) else request.task.dummy[None]
                request.stage, request.hops = then, 0
                acting.append(request)
                chunks.append(request.task.checker.check(actions) if check else Chunk(actions, len(actions)))
            case Goto(stage) if request.hops < MAX_HOPS:
                request.stage, request.hops = stage, request.hops + 1
                decided.asking.append(request)
            case Goto(stage):
                decided.ended.append(Ended(request, Outcome.POLICY_ERROR, endless(stage)))
            case _:
                decided.ended.append(Ended(request, *setback(decision, error)))
    return decided._replace(chunks=_in_one(acting, chunks)) if check else decided


def _in_one(requests: list[Request], chunks: list[Chunk]) -> np.ndarray | list[Chunk]:
    """One array of the chunks, where they are of one task and length and valid as they are."""
    first = requests[0].task if requests else None
    plain = all([c.valid == len(c.actions) and c.clipped is None and c.reason is None for c in chunks])
    alike = plain and len({c.actions.shape for c in chunks}) == 1 and all([r.task is first for r in requests])
    return np.stack([c.actions for c in chunks]) if alike else chunks


MAX_HOPS = 64
"""Stages that a policy may ask for one after the other without an action."""


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
    """The error of a forward that took longer than `limits.act_s`."""
    return f"TimeoutError: the policy's {stage} took longer than {limit_s:g} s"


def endless(stage: str) -> str:
    """The error of a policy that goes from stage to stage."""
    return f"the policy went through {MAX_HOPS} stages without an action; last {stage}"
