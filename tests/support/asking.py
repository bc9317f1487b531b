"""Tasks without environments, and a policy runner's answers one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Space

from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.tasks import Task
from proctor_host import spaces
from proctor_host import task as described
from proctor_host.cfg import TaskCfg

ANY_NUMBER = Box(-np.inf, np.inf, (1,), np.float64)


def task_of(name: str, observed: Space[Any], action: Space[Any] = ANY_NUMBER) -> Task:
    told = TaskCfg(suite="gymnasium", name=name, options={})
    return Task(described.Task(told, spaces.described(observed), spaces.described(action)))


class Answered(NamedTuple):
    """What came of one request."""

    request: Request
    decision: Any
    state: Any
    error: str | None


def ask(runner: PolicyRunner, stage: str, requests: Sequence[Request]) -> list[Answered]:
    answers = runner.answers(stage, requests)
    states = answers.states or [None] * len(requests)
    each = zip(answers.requests, answers.one_by_one(), states, strict=True)
    return [Answered(request, decision, state, error) for request, (decision, error), state in each]
