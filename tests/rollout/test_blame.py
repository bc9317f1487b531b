"""The law of blame: what a policy breaks is its own, the same for the same trials, wherever it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from crossing import EVERY
from examining import policy

from proctor import Outcome, Run

N = 5
BAD = 123 + 2
PLACES = [("inline", "engine"), ("inline", "worker"), (1, "engine"), (1, "worker")]


def troubled(trouble: str, placement: str) -> dict[str, Any]:
    kwargs = {"trouble": trouble, "seeds": [BAD], "nap_s": 1.5}
    return policy("Troubled", placement=placement, kwargs=kwargs)


def verdicts(run: Run) -> dict[int, tuple[Any, ...]]:
    """By seed: outcome, success, the first line of the error, and what was recorded."""
    return {
        r.trial.seed: (r.outcome, r.success, r.error and r.error.splitlines()[0], r.digest, r.attempts)
        for r in run.results()
    }


@pytest.mark.parametrize(
    ("trouble", "outcome", "slots"),
    [
        ("raise", Outcome.POLICY_ERROR, N),
        ("exit", Outcome.POLICY_ERROR, N),
        ("generator", Outcome.POLICY_ERROR, N),
        ("reset", Outcome.POLICY_ERROR, N),
        ("nan", Outcome.INVALID_ACTION, N),
        ("shape", Outcome.INVALID_ACTION, 1),
        ("hang", Outcome.POLICY_ERROR, N),
    ],
)
def test_a_fault_of_a_policy_is_the_same_wherever_it_is_asked(
    examine: Callable[..., Run], trouble: str, outcome: Outcome, slots: int
) -> None:
    """Every trouble meets both kinds of workers and both placements; two troubles meet all four places."""
    limits = {"act_s": 0.5 if trouble == "hang" else 60.0}
    found = [
        verdicts(
            examine(agents=[troubled(trouble, where)], n_trials=N, num_parallel=slots, workers=workers, limits=limits)
        )
        for workers, where in (PLACES if EVERY or trouble in ("raise", "hang") else PLACES[:: len(PLACES) - 1])
    ]
    assert found[0][BAD][0] is outcome
    assert [seed for seed, verdict in found[0].items() if verdict[2] is not None] == [BAD]
    assert all(other == found[0] for other in found[1:])


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("die", "a worker process died of SIGSEGV in its policy"),
        ("kill", "a worker process died of SIGKILL in its policy"),
        ("quit", "a worker process ended with exit code 0 in its policy"),
    ],
)
def test_a_policy_that_ends_its_process_fails_as_one_that_raises(
    examine: Callable[..., Run], trouble: str, says: str
) -> None:
    """In the main process it would end the run; in a worker it ends the trial, and no other."""
    keys = {"n_trials": N, "num_parallel": N, "workers": 1, "limits": {"retries": 0}}
    raised = verdicts(examine(agents=[troubled("raise", "worker")], **keys))
    died = verdicts(examine(agents=[troubled(trouble, "worker")], **keys))
    assert died.pop(BAD) == (Outcome.POLICY_ERROR, False, says, None, 1)
    assert raised.pop(BAD)[:2] == (Outcome.POLICY_ERROR, False)
    assert died == raised
