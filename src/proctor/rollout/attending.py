"""Trials that a person looks after: somebody sets things up, says whether it went well, and whether it is tried again.

A task is *attended* where its environment or its config says so. Of all attended tasks one trial runs at a time, in
the one slot that has the environment. The engine asks the operator and goes on with other tasks until there is an
answer; no limit runs meanwhile. Nothing is sent to the worker before its trial may begin, and a trial that broke is
never begun again without asking.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from proctor.config.models import EvalConfig
from proctor.errors import InputError
from proctor.rollout.slots import Slot
from proctor.rollout.tasks import Task
from proctor_host.trials import Trial

BEGIN, SKIP, STOP, YES, NO, REDO = "begin", "skip", "stop", "yes", "no", "redo"
_READY = {"": BEGIN, "s": SKIP, "q": STOP}
_AGAIN = {"y": BEGIN, "n": SKIP, "q": STOP}
_JUDGE = {"y": YES, "n": NO, "r": REDO}


@dataclass(frozen=True)
class Question:
    """To the operator. `keys`: what can be answered, and what that means."""

    kind: Literal["reset", "again", "success"]
    trial: Trial
    text: str
    keys: Mapping[str, str]


class Operator(Protocol):
    """A person, or what stands for one. One question is open at a time."""

    def ask(self, question: Question) -> None:
        """Show a question. Returns at once."""
        ...

    def answer(self) -> str | None:
        """What was answered to it, one of its keys; None: nothing yet. Never waits. What is no key is asked for again
        by whoever implements this."""
        ...

    def forget(self) -> None:
        """The question has become pointless: its worker is gone."""
        ...


class Attending:
    """What is asked of the operator in a run. Raises InputError where a task needs one and there is none."""

    def __init__(self, cfg: EvalConfig, tasks: Mapping[str, Task], operator: Operator | None):
        self._cfg, self._operator = cfg, operator
        self._tasks = {name: task for name, task in tasks.items() if task.inside.is_attended}
        self._open: tuple[Question, Slot] | None = None
        self._since = 0.0
        self._broken: dict[str, str] = {}
        """Why the last attempt of a trial came to nothing."""
        for name in self._tasks if operator is None else ():
            raise InputError(
                f'the trials of task "{name}" need a person who resets or judges them; run it at a terminal '
                "(`proctor run`, `proctor resume`), or give an operator from Python: run_evaluation(cfg, operator=...)"
            )

    def __contains__(self, task: str) -> bool:
        return task in self._tasks

    @property
    def waits_for(self) -> str | None:
        """What the operator is asked now."""
        return None if self._open is None else self._open[0].text

    def broke(self, trial: Trial, why: str) -> None:
        """An attempt came to nothing: the next one is asked for."""
        if trial.task in self._tasks:
            self._broken[trial.key] = why

    def must_ask(self, slot: Slot, trial: Trial) -> bool:
        """Whether a trial may not begin yet: the operator has been asked."""
        task = self._tasks.get(trial.task)
        if task is None or not (task.inside.needs_reset or trial.key in self._broken):
            return False
        of = self._cfg.trials_of(self._cfg.task(trial.task))
        state = f"initial state {trial.index + 1} of {of}, seed {trial.seed}"
        which = f'task "{trial.task}", agent "{trial.agent}", {state}'
        broken = self._broken.pop(trial.key, None)
        if broken is not None:
            text, keys = f"{which}: the last attempt came to nothing ({broken}). Again? Put everything into its", _AGAIN
            text += " initial state, then: y begins, n leaves it, q stops the run"
        else:
            text, keys = f"{which}: put everything into its initial state, then press Enter", _READY
            text += "; s skips this trial, q stops the run"
        self._ask(Question("reset" if broken is None else "again", trial, text, keys), slot)
        return True

    def judge(self, slot: Slot) -> None:
        """Have the operator say whether the slot's trial, which has ended, was a success."""
        trial = slot.trial
        assert trial is not None
        which = f'task "{trial.task}", agent "{trial.agent}", seed {trial.seed}'
        text = f"{which}: was this trial a success? y yes, n no, r runs it again"
        self._ask(Question("success", trial, text, _JUDGE), slot)

    def _ask(self, question: Question, slot: Slot) -> None:
        assert self._operator is not None
        assert self._open is None, "attended trials run one at a time"
        self._open, self._since = (question, slot), time.monotonic()
        self._operator.ask(question)

    def drop(self, slot: Slot) -> None:
        """The slot's trial runs no more."""
        if self._open is not None and self._open[1] is slot:
            self._open = None
            assert self._operator is not None
            self._operator.forget()

    def answered(self) -> tuple[Slot, str] | None:
        """The operator's answer, once it is there, and the slot that it is about."""
        if self._open is None or self._operator is None:
            return None
        question, slot = self._open
        said = self._operator.answer()
        if said is None:
            return None
        self._open = None
        slot.since += time.monotonic() - self._since  # a person's time is nobody's cost
        return slot, question.keys[said]
