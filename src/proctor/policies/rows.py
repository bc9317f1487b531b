"""Do a policy's rows depend on each other?

Proctor's promise that a trial is a function of (agent, task, seed) rests on rows: what a policy answers for
one row may depend on that row's observation, state and generator only. Batch statistics, attention across
rows, or a kernel that rounds by position break it. `row_dependence` looks for that on one batch.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.plan.trial import Trial
from proctor.policies.padding import left_pad
from proctor.policies.protocol import Actions, AnyPolicy, Batch, Execute, Policy, StagedPolicy
from proctor.policies.tree import leaves_of, take_rows

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
    """Single observations put into one batch: arrays stacked, dicts and tuples entry by entry, a list for
    objects."""
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


def answers(policy: AnyPolicy, batch: Batch) -> list[Answer]:
    """What the policy answers for each row, actions and next state, as values that compare equal exactly when
    they are equal to the byte. A staged policy is asked its first stage."""
    if isinstance(policy, Policy):
        result = policy.act(batch)
        result = result if isinstance(result, Actions) else Actions(result)
        decisions: list[Any] = [_frozen(np.asarray(action)) for action in result.actions]
    else:
        result = policy.forward(policy.stages[0].name, batch)
        decisions = [
            ("execute", _frozen(np.asarray(d.actions)), d.then) if isinstance(d, Execute) else d
            for d in result.decisions
        ]
    return [(decision, *_state_row(result.state, row)) for row, decision in enumerate(decisions)]


def _state_row(state: Any, row: int) -> list[Any]:
    return [] if state is None else [(path, _frozen(np.asarray(leaf[row]))) for path, leaf in leaves_of(state)]


def _frozen(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


def row_dependence(policy: AnyPolicy, batch: Batch) -> str | None:
    """None if every row's answer stays equal, to the byte, when the rows change places and when the other
    rows are replaced; else a sentence that says what mattered. The batch is not changed and its generators do
    not advance."""
    rows = list(range(len(batch)))
    expected = answers(policy, pick_rows(batch, rows))
    if answers(policy, pick_rows(batch, rows)) != expected:
        return "the same batch with the same generators gives other actions the second time"
    alone = [row for row in rows if answers(policy, pick_rows(batch, [row] * len(rows)))[row] != expected[row]]
    if alone:
        return f"a row's answer depends on the other rows' content (rows {_listed(alone)} of {len(rows)})"
    for order in (rows[::-1], rows[1:] + rows[:1]):
        moved = answers(policy, pick_rows(batch, order))
        changed = [row for place, row in enumerate(order) if moved[place] != expected[row]]
        if changed:
            return f"a row's answer depends on its place in the batch (rows {_listed(changed)} of {len(rows)})"
    return None


def _listed(rows: list[int]) -> str:
    return ", ".join(map(str, rows[:5])) + (", ..." if len(rows) > 5 else "")
