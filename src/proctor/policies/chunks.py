"""How chunks of actions are run: how many actions of one before the policy is asked again, or the mean of all chunks
that say something of a step.

`replan_steps` is what openpi's clients do with a chunk, and what LeRobot calls `n_action_steps`. `temporal_ensemble` is
ACT's: the policy is asked in every step, and the action is the mean of what all chunks of the trial say of this step,
weighted with exp(-k i), i = 0 for the oldest; LeRobot calls k `temporal_ensemble_coeff`. What chunks have said of steps
to come belongs to the trial and travels in its state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Actions, AnyPolicy, Batch, Execute, Policy, StagedPolicy, StageOutput, State
from proctor_host.trials import Trial


@dataclass(frozen=True)
class Past:
    """What a trial's chunks have said of the steps to come: means (steps, *action), and of how many chunks each."""

    means: np.ndarray
    counts: np.ndarray


class Chunks:
    """What an agent's options say of its chunks; `action`: the action spaces by task."""

    def __init__(self, options: PolicyOptions, action: dict[str, Any]):
        self.replan_steps, self.k = options.replan_steps, options.temporal_ensemble
        self.axes = {task: len(space.shape or ()) for task, space in action.items()}
        for task, space in action.items():
            if self.k is not None and np.dtype(space.dtype).kind != "f":
                raise InputError(
                    f'temporal_ensemble takes the mean of actions; task "{task}" has {space}, whose actions have none'
                )

    def around(self, policy: AnyPolicy) -> AnyPolicy:
        """The policy with its chunks run so. Raises InputError where they are parts of a plan."""
        if isinstance(policy, Policy):
            return ChunkedPolicy(policy, self)
        if len(policy.stages) > 1:
            raise InputError(
                f"replan_steps and temporal_ensemble are for policies of one stage; {type(policy).__name__} has stages "
                f"{', '.join(stage.name for stage in policy.stages)}, which say themselves how long a chunk is run"
            )
        return ChunkedStage(policy, self)

    def blank(self, rows: int) -> np.ndarray:
        """The past of trials that begin, (rows,) of objects."""
        return np.full(rows, None, object)

    def run(self, past: Past | None, chunk: np.ndarray) -> tuple[np.ndarray, Past | None]:
        """The actions of a chunk `(horizon, *action)` that are run before the next one is asked for, and the past that
        the next one meets."""
        if self.k is None:
            return chunk[: self.replan_steps], None
        means, counts = np.array(chunk, np.float64), np.ones(len(chunk), np.int64)
        if past is not None:
            both = min(len(past.means), len(chunk))
            share = np.array([self._share(int(count)) for count in past.counts[:both]]).reshape(
                -1, *[1] * (chunk.ndim - 1)
            )
            before = past.means[:both]
            means[:both] = before + share * (means[:both] - before)
            counts[:both] += past.counts[:both]
            means = np.concatenate([means, past.means[both:]])
            counts = np.concatenate([counts, past.counts[both:]])
        return means[:1].astype(np.result_type(chunk.dtype, np.float32)), Past(means[1:], counts[1:])

    def _share(self, count: int) -> float:
        """The newest chunk's part of a mean, where `count` came before: its weight exp(-k count) by the sum of all."""
        with np.errstate(over="ignore"):
            return float(1.0 / np.exp(np.float64(self.k) * np.arange(count + 1)).sum())

    def rows(self, past: np.ndarray, chunks: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """The same for every row of a batch."""
        run, after = [], self.blank(len(chunks))
        for row, chunk in enumerate(chunks):
            actions, after[row] = self.run(past[row], chunk)
            run.append(actions)
        return run, after


class ChunkedPolicy(Policy):
    """A plain policy. State with an ensemble: `past`, and the inner policy's under `inner` where it has one; else the
    inner policy's."""

    def __init__(self, inner: Policy, chunks: Chunks):
        self.inner, self.chunks = inner, chunks
        self.placement, self.row_by_row, self.elsewhere = inner.placement, inner.row_by_row, inner.elsewhere

    def reset(self, trials: Sequence[Trial]) -> State:
        return _beside(self.chunks, self.inner.reset(trials), self.chunks.blank(len(trials)))

    def act(self, batch: Batch) -> np.ndarray | Actions:
        past, inner = _apart(self.chunks, batch)
        answer = self.inner.act(replace(batch, state=inner))
        result = answer if isinstance(answer, Actions) else Actions(answer)
        given, axes = np.asarray(result.actions), self.chunks.axes[batch.trials[0].task]
        if given.ndim == 1 + axes:
            given = given[:, None]
        if given.ndim != 2 + axes or len(given) != len(batch):
            return result  # no chunks; whoever checks actions says what is wrong
        run, after = self.chunks.rows(past, list(given))
        return Actions(np.stack(run), _beside(self.chunks, result.state, after))

    def close(self) -> None:
        self.inner.close()

    def abandon(self) -> None:
        self.inner.abandon()


class ChunkedStage(StagedPolicy):
    """The same for a policy that declares its one stage, such as a remote one."""

    def __init__(self, inner: StagedPolicy, chunks: Chunks):
        self.inner, self.chunks = inner, chunks
        self.placement, self.elsewhere, self.stages = inner.placement, inner.elsewhere, inner.stages

    def reset(self, trials: Sequence[Trial]) -> State:
        return _beside(self.chunks, self.inner.reset(trials), self.chunks.blank(len(trials)))

    def tokens(self, trial: Trial) -> Sequence[int]:
        return self.inner.tokens(trial)

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        past, inner = _apart(self.chunks, batch)
        output = self.inner.forward(stage, replace(batch, state=inner))
        decisions, after = list(output.decisions), past.copy()
        for row, decision in enumerate(decisions):
            if isinstance(decision, Execute):
                actions, after[row] = self.chunks.run(past[row], np.asarray(decision.actions))
                decisions[row] = decision._replace(actions=actions)
        return StageOutput(decisions, _beside(self.chunks, output.state, after))

    def close(self) -> None:
        self.inner.close()

    def abandon(self) -> None:
        self.inner.abandon()


def _beside(chunks: Chunks, inner: State, past: np.ndarray) -> State:
    """The state of trials; without an ensemble there is no past to keep."""
    if chunks.k is None:
        return inner
    return {"past": past} if inner is None else {"past": past, "inner": inner}


def _apart(chunks: Chunks, batch: Batch) -> tuple[np.ndarray, State]:
    if chunks.k is None:
        return chunks.blank(len(batch)), batch.state
    return batch.state["past"], batch.state.get("inner")
