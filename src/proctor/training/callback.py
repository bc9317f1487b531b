"""The callback that a training loop asks before every step.

    callback = EvaluationCallback([evaluation], eval_every_steps=9_600_000, start=resumed_at, logger=logger)
    while step < total:
        advice = callback(step, agent, next_step=step + num_worlds, env=env)
        if advice.reset_environment:
            observation, _ = env.reset()
        ...
        observation, reward, terminated, truncated, info = env.step(action)
        if advice.truncate:
            truncated[:] = True

An evaluation that borrows the training environment breaks its episodes. So the step that leads up to one is to be
marked truncated, and the environment is to be reset after it: otherwise a transition from before the evaluation would
seem to lead to a state after it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from proctor.errors import InputError
from proctor.runs.loggers.base import Logger
from proctor.training.curriculum import Curriculum, CurriculumUpdate, SamplesMotions, SamplesTrajectories
from proctor.training.humanoidverse.buffer import ExpertBuffer


class EveryNSteps:
    """True once for every multiple of `every` that the step count reaches or passes, and at the first step that is
    asked about (the start of training, or where it resumes).

    Multiples are counted from step 0 and not from where this process began, so a run that was interrupted evaluates at
    the steps of one that was not. Steps may advance by any amount: 1,024 worlds make 1,024 steps at once.

        due = EveryNSteps(9_600_000, start=checkpoint_step)
        if due.check(step):
            evaluate()
            due.mark(step)
    """

    def __init__(self, every: int, start: int = 0):
        if every < 1:
            raise InputError(f"EveryNSteps was asked for every {every} steps; expected at least 1")
        self.every, self.start = every, start
        self._last: int | None = None

    def check(self, step: int) -> bool:
        """Whether `step` is due, seen from the last mark. Changes nothing, so the loop may ask ahead."""
        if self._last is None:
            return step >= self.start
        return step // self.every > self._last // self.every

    def mark(self, step: int) -> None:
        """The evaluation of `step` is done. Raises InputError for a step before the last one."""
        if self._last is not None and step < self._last:
            raise InputError(
                f"step {step} comes after step {self._last}; steps only grow (resume with load_state_dict)"
            )
        self._last = step

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"every": self.every, "last": self._last}

    def load_state_dict(self, state: dict[str, Any], *, evaluate_on_resume: bool = True) -> None:
        """Go on where `state` was taken. With `evaluate_on_resume` the first step asked about is due, as at a start;
        without it only the next multiple is. `every` may have been changed since."""
        self._last = None if evaluate_on_resume else state["last"]


Metrics = dict[str, dict[str, Any]]
"""Motion (or task) -> its numbers."""


class Evaluation(Protocol):
    """What the callback runs. `cfg.name_in_logs` names it; `cfg.requires_replay_buffer()` says whether `run` is to be
    given `replay_buffer`."""

    @property
    def cfg(self) -> Any: ...

    def run(
        self, *, timestep: int, agent_or_model: Any, logger: Logger | None = None, env: Any = None, **kwargs: Any
    ) -> tuple[Metrics, dict[str, float]]: ...


@dataclass(frozen=True)
class Practice:
    """What practises more of what went badly: a library to sample motions from, a buffer of expert trajectories
    (Proctor's, or BFM-Zero's as it is), and by
    the metrics of which evaluation (None: the first)."""

    curriculum: Curriculum = field(default_factory=Curriculum)
    library: SamplesMotions | None = None
    buffer: SamplesTrajectories | ExpertBuffer | None = None
    evaluation: str | None = None


@dataclass(frozen=True)
class Advice:
    """What the loop is to do with the step that it is about to take.

    `reset_environment`: an evaluation has used the environment, reset it before stepping. `truncate`: the evaluation
    after this step will use it, mark the step truncated in every world. `metrics` and `logs`: what was measured, by
    evaluation (empty where none was due). `curriculum`: how the sampling changed, if it did."""

    reset_environment: bool = False
    truncate: bool = False
    metrics: dict[str, Metrics] = field(default_factory=dict)
    logs: dict[str, dict[str, float]] = field(default_factory=dict)
    curriculum: CurriculumUpdate | None = None

    @property
    def evaluated(self) -> bool:
        return bool(self.logs)


class EvaluationCallback:
    """Evaluates at the first step (start or resume) and then every `eval_every_steps`. An exception of an evaluation
    passes through, after everything was given back, and the evaluation stays due."""

    def __init__(
        self,
        evaluations: Sequence[Evaluation],
        eval_every_steps: int,
        start: int = 0,
        logger: Logger | None = None,
        practice: Practice | None = None,
    ):
        self.evaluations = {evaluation.cfg.name_in_logs: evaluation for evaluation in evaluations}
        if len(self.evaluations) < len(evaluations):
            names = ", ".join(evaluation.cfg.name_in_logs for evaluation in evaluations)
            raise InputError(f"two evaluations have one name_in_logs ({names}); their log keys would be the same")
        if practice is not None and practice.evaluation not in (None, *self.evaluations):
            known = ", ".join(self.evaluations)
            raise InputError(f'the curriculum reads the evaluation "{practice.evaluation}"; there is {known}')
        self.schedule = EveryNSteps(eval_every_steps, start)
        self.logger, self.practice = logger, practice
        self.seconds = 0.0
        """Spent evaluating so far."""
        self._began: float | None = None

    @property
    def share(self) -> float:
        """What evaluations have taken of the time since the first call, from 0 to 1; 0 before it."""
        if self._began is None:
            return 0.0
        return self.seconds / max(time.monotonic() - self._began, 1e-9)

    def __call__(self, step: int, agent: Any, *, next_step: int, env: Any = None, replay_buffer: Any = None) -> Advice:
        """Before the step that leads from `step` to `next_step`. `env`: the training environment, where evaluations are
        to borrow it; None: each evaluation has its own."""
        lent, now = env is not None, time.monotonic()
        self._began = now if self._began is None else self._began
        if not self.schedule.check(step):
            return Advice(truncate=lent and self.schedule.check(next_step))
        metrics, logs = {}, {}
        try:
            for name, evaluation in self.evaluations.items():
                extra = {"replay_buffer": replay_buffer} if evaluation.cfg.requires_replay_buffer() else {}
                metrics[name], logs[name] = evaluation.run(
                    timestep=step, agent_or_model=agent, logger=self.logger, env=env, **extra
                )
        finally:
            self.seconds += time.monotonic() - now
        update = self._practise(metrics)
        self.schedule.mark(step)
        return Advice(lent, lent and self.schedule.check(next_step), metrics, logs, update)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"schedule": self.schedule.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], *, evaluate_on_resume: bool = True) -> None:
        """Go on from a checkpoint, as `EveryNSteps.load_state_dict`."""
        self.schedule.load_state_dict(state["schedule"], evaluate_on_resume=evaluate_on_resume)

    def _practise(self, metrics: Mapping[str, Metrics]) -> CurriculumUpdate | None:
        if self.practice is None or not metrics:
            return None
        chosen = self.practice.evaluation or next(iter(self.evaluations))
        return self.practice.curriculum.update(metrics[chosen], self.practice.library, self.practice.buffer)


def log_keys(name_in_logs: str, values: Mapping[str, float]) -> dict[str, float]:
    """Values under the keys that loggers get: `eval/<name_in_logs>/<metric>` and `...#std`."""
    return {f"eval/{name_in_logs}/{key}": value for key, value in values.items()}
