"""A policy that says that what it runs on is gone: never a failed trial."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from examining import by_key, digests, task

from proctor import Outcome, Run

POLICIES = '''
import numpy as np

from proctor import Batch, Execute, Stage, StagedPolicy, StageOutput
from proctor.policies.protocol import Unavailable


class Shaky(StagedPolicy):
    """Gone for each trial's fourth request, as often as `times` says."""

    stages = (Stage("act"),)

    def __init__(self, times: int):
        self.left = {}
        self.times = times

    def reset(self, trials):
        return np.zeros(len(trials), np.int64)

    def forward(self, stage, batch):
        return StageOutput([self._row(batch, i) for i in range(len(batch))], batch.state + 1)

    def _row(self, batch: Batch, i: int):
        trial = batch.trials[i]
        if i == batch.trials.index(trial) and batch.state[i] == 3:
            self.left[trial.key] = self.left.get(trial.key, self.times) - 1
            if self.left[trial.key] >= 0:
                return Unavailable("the server is gone")
        return Execute(np.tanh(batch.rngs[i].normal(size=(2, 2))), "act")
'''


@pytest.fixture
def shaky(tmp_path: Path) -> Callable[..., dict]:
    file = tmp_path / "shaky.py"
    file.write_text(POLICIES)

    def agent(times: int, placement: str = "auto") -> dict:
        options = {"kwargs": {"times": times}, "placement": placement}
        return {"name": "shaky", "policy": f"{file}:Shaky", "options": options}

    return agent


@pytest.mark.parametrize(("workers", "placement"), [("inline", "engine"), ("inline", "worker"), (2, "engine")])
def test_the_trial_starts_again_from_its_first_step(workers, placement, shaky, examine: Callable[..., Run]) -> None:
    calm, disturbed = (examine(agents=[shaky(times, placement)], tasks=[task()], workers=workers) for times in (0, 2))
    assert digests(disturbed) == digests(calm)
    assert {r.attempts for r in by_key(disturbed).values()} == {3}
    assert {r.attempts for r in by_key(calm).values()} == {1}


def test_after_the_retries_it_is_unscored_and_no_failure(shaky, examine: Callable[..., Run]) -> None:
    results = by_key(examine(agents=[shaky(9)], limits={"retries": 1})).values()
    hit = [r for r in results if not r.outcome.scored]
    assert hit
    assert {(r.outcome, r.error, r.attempts) for r in hit} == {(Outcome.WORKER_LOST, "the server is gone", 2)}
