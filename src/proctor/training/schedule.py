"""When to evaluate inside a training loop."""

from __future__ import annotations

from typing import Any

from proctor.errors import InputError


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
