"""Do a policy's rows depend on each other?

Proctor's promise that a trial is a function of (agent, task, seed) rests on rows: what a policy answers for
one row may depend on that row's observation, state and generator only. Batch statistics, attention across
rows, or a kernel that rounds by position break it. `row_dependence` looks for that on one batch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from proctor.policies.padding import left_pad
from proctor.policies.protocol import (
    Actions,
    AnyPolicy,
    Batch,
    Decision,
    Execute,
    Goto,
    Idle,
    Policy,
    StagedPolicy,
    StageOutput,
)
from proctor.policies.tree import frozen, take_row, take_rows
from proctor_host.trials import Trial

Answer = tuple[Any, ...]


def sample_batch(policy: AnyPolicy, space: Any, trials: Sequence[Trial], seed: int = 0) -> Batch:
    """A batch of these trials at their first step, with observations sampled from the space."""
    sampler = copy.deepcopy(space)
    sampler.seed(seed)
    observation = stack_observations([sampler.sample() for _ in trials])
    batch = Batch(observation, policy.reset(trials), [t.policy_rng() for t in trials], list(trials))
    if isinstance(policy, StagedPolicy) and policy.stages[0].tokens is not None:
        batch.tokens, batch.token_mask = left_pad([policy.tokens(t) for t in trials], policy.stages[0].tokens)
    return batch


def stack_observations(observations: Sequence[Any]) -> Any:
    """Single observations put into one batch: arrays stacked, dicts and tuples entry by entry, a list for objects."""
    first = observations[0]
    if isinstance(first, dict):
        return {key: stack_observations([o[key] for o in observations]) for key in first}
    if isinstance(first, tuple):
        return tuple(stack_observations([o[i] for o in observations]) for i in range(len(first)))
    if isinstance(first, np.ndarray | np.generic | int | float | bool):
        return np.stack([np.asarray(o) for o in observations])
    return list(observations)


def pick_rows(batch: Batch, rows: Sequence[int]) -> Batch:
    """A batch of copies: these rows, in this order, each with a copy of its generator."""
    observation = batch.observation
    picked = [observation[r] for r in rows] if isinstance(observation, list) else take_rows(observation, rows)
    rngs = [copy.deepcopy(batch.rngs[r]) for r in rows]
    copies = Batch(picked, take_rows(batch.state, rows), rngs, [batch.trials[r] for r in rows])
    if batch.tokens is not None and batch.token_mask is not None:
        copies.tokens, copies.token_mask = batch.tokens[list(rows)], batch.token_mask[list(rows)]
    return copies


def stage_batches(policy: AnyPolicy, batch: Batch) -> Iterator[tuple[str | None, Batch]]:
    """Every stage that can be reached from this batch of first steps, with a batch of as many rows that have come
    there: (None, the batch) for a plain policy. Rows that went elsewhere are replaced by repeating the others; all see
    the observations of `batch`."""
    if isinstance(policy, Policy):
        yield None, batch
        return
    rules = {stage.name: stage.tokens for stage in policy.stages}
    reached, open_ends = {policy.stages[0].name}, [(policy.stages[0].name, batch)]
    while open_ends:
        stage, rows = open_ends.pop()
        yield stage, rows
        output = policy.forward(stage, pick_rows(rows, range(len(rows))))
        following = [_next_stage(decision) for decision in output.decisions]
        for name in [name for name in rules if name in following and name not in reached]:
            reached.add(name)
            there = [row for row, then in enumerate(following) if then == name]
            chosen = [there[i % len(there)] for i in range(len(rows))]
            moved = pick_rows(replace(rows, state=output.state), chosen)
            moved.tokens = moved.token_mask = None
            rule = rules[name]
            if rule is not None:
                moved.tokens, moved.token_mask = left_pad([policy.tokens(t) for t in moved.trials], rule)
            open_ends.append((name, moved))


def _next_stage(decision: Decision) -> str | None:
    match decision:
        case Execute(then=stage) | Idle(then=stage) | Goto(stage=stage):
            return stage
        case _:
            return None


def answers(policy: AnyPolicy, batch: Batch, stage: str | None = None) -> list[Answer]:
    """What the policy answers for each row, actions and next state, as values that compare equal exactly when
    they are equal to the byte. `stage` None: the first of a staged policy."""
    result = forward(policy, batch, stage)
    if isinstance(result, Actions):
        decisions: list[Any] = [tuple(frozen(action)) for action in result.actions]
    else:
        decisions = [(tuple(frozen(d.actions)), d.then) if isinstance(d, Execute) else d for d in result.decisions]
    return [(decision, *frozen(take_row(result.state, row))) for row, decision in enumerate(decisions)]


def forward(policy: AnyPolicy, batch: Batch, stage: str | None = None) -> Actions | StageOutput:
    """What the policy answers for a batch. `stage` None: the first of a staged policy."""
    if isinstance(policy, StagedPolicy):
        return policy.forward(stage or policy.stages[0].name, batch)
    result = policy.act(batch)
    return result if isinstance(result, Actions) else Actions(result)


def row_dependence(policy: AnyPolicy, batch: Batch, begin: Callable[[], None] = lambda: None) -> str | None:
    """None if every row's answer, of every stage that can be reached, stays equal, to the byte, when the rows change
    places and when the other rows are replaced; else a sentence that says what mattered. The batch is not changed and
    its generators do not advance. `begin` is called before each forward."""
    for stage, there in stage_batches(policy, batch):
        if found := _stage_dependence(policy, there, stage, begin):
            first = stage is None or (isinstance(policy, StagedPolicy) and stage == policy.stages[0].name)
            return found if first else f"stage {stage}: {found}"
    return None


def rounded_otherwise(policy: AnyPolicy, batch: Batch) -> bool:
    """Whether a row of the first stage gets another answer, to the byte, when it is asked for alone."""
    together = answers(policy, pick_rows(batch, range(len(batch))))
    return any(answers(policy, pick_rows(batch, [row])) != [together[row]] for row in range(len(batch)))


def _stage_dependence(policy: AnyPolicy, batch: Batch, stage: str | None, begin: Callable[[], None]) -> str | None:
    def asked(rows: Sequence[int]) -> list[Answer]:
        begin()
        return answers(policy, pick_rows(batch, rows), stage)

    rows = list(range(len(batch)))
    expected = asked(rows)
    if asked(rows) != expected:
        return "the same batch with the same generators gives other actions the second time"
    alone = [row for row in rows if asked([row] * len(rows))[row] != expected[row]]
    if alone:
        return f"a row's answer depends on the other rows' content (rows {_listed(alone)} of {len(rows)})"
    for order in (rows[::-1], rows[1:] + rows[:1]):
        moved = asked(order)
        changed = [row for place, row in enumerate(order) if moved[place] != expected[row]]
        if changed:
            return f"a row's answer depends on its place in the batch (rows {_listed(changed)} of {len(rows)})"
    return None


def _listed(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
