"""What counts as success, and from which step on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flags import flags_task

from proctor import RunDir

Examine = Callable[..., RunDir]
NO, YES = False, True


@pytest.mark.parametrize(
    ("flags", "at_end", "ever"),
    [
        ([NO, NO, NO], None, None),
        ([NO, NO, YES], 3, 3),
        ([YES, YES, YES], 1, 1),
        ([NO, YES, NO, YES, YES], 4, 2),
        ([NO, YES, YES, NO], None, 2),
        ([YES], 1, 1),
    ],
)
def test_steps_to_success_are_those_to_the_step_from_which_it_held(
    examine: Examine, flags: list[bool], at_end: int | None, ever: int | None
) -> None:
    tasks = [flags_task(flags, rule, success_rule=rule) for rule in ("at_end", "ever")]
    run = examine(agents=[{"name": "zero", "policy": "zero"}], tasks=tasks, n_trials=1)
    found = {result.trial.task: result for result in run.results()}
    for rule, step in (("at_end", at_end), ("ever", ever)):
        assert (found[rule].steps_to_success, found[rule].success) == (step, step is not None)
        assert found[rule].first_success == ever, "kept for scorings that pay for having been there"
        own = next(cell for cell in run.report()["agents"][0]["tasks"] if cell["task"] == rule)
        assert own["steps_to_success"]["mean"] == step
