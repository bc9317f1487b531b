"""Observations that nobody looks at are not made, and that changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import by_key

from proctor import Run, config_from_dict
from proctor.registry import import_file
from proctor.testing import EnvConformance
from proctor_host.episode import Outcome

UNSEEN = Path(__file__).parents[1] / "support" / "unseen.py"
Examine = Callable[..., Run]


@pytest.fixture
def looks() -> list[str]:
    found: list[str] = import_file(UNSEEN).LOOKS
    found.clear()
    return found


def keys(steps: int = 7, wait: int = 0, spoiled: bool = False, **options: Any) -> dict[str, Any]:
    entry = {"suite": f"{UNSEEN}:Pairs", "wait_steps": wait, "options": {"lazy": True, **options}}
    agent = {"name": "threes", "policy": f"{UNSEEN}:Threes", "options": {"kwargs": {"spoiled": spoiled}}}
    return {"agents": [agent], "tasks": [entry], "n_trials": 1, "num_parallel": 1, "max_episode_steps": steps}


def test_only_the_last_step_of_a_chunk_is_looked_at(examine: Examine, looks: list[str]) -> None:
    examine(**keys(steps=8))
    assert looks == ["reset", "skip", "skip", "look", "skip", "skip", "look", "skip", "skip"]


def test_the_step_limit_is_not_looked_at(examine: Examine, looks: list[str]) -> None:
    examine(**keys(steps=6))
    assert looks == ["reset", "skip", "skip", "look", "skip", "skip", "skip"]


def test_the_last_warm_up_step_is_looked_at(examine: Examine, looks: list[str]) -> None:
    examine(**keys(steps=2, wait=3))
    assert looks == ["reset", "skip", "skip", "look", "skip", "skip"]


def test_everything_is_looked_at_that_is_recorded(examine: Examine, looks: list[str]) -> None:
    run = examine(**keys(steps=4), record={"level": "series", "observations": True})
    assert looks == ["reset", *["look"] * 4]
    assert run.episode(next(iter(run.results()))).arrays["observations"].shape == (5, 1)


def test_an_environment_that_saves_nothing_is_always_looked_at(examine: Examine, looks: list[str]) -> None:
    examine(**keys(steps=4, lazy=False))
    assert looks == ["reset", *["look"] * 4]


def test_a_trial_may_end_unseen(examine: Examine, looks: list[str]) -> None:
    tasks = keys(ends_at=2)["tasks"]
    run = examine(**{**keys(), "tasks": [{**tasks[0], "stop_on_success": True}]})
    (result,) = run.results()
    assert result.success
    assert looks == ["reset", "skip", "skip"]


def test_an_action_that_cannot_be_executed_is_still_the_policys(examine: Examine, looks: list[str]) -> None:
    (result,) = examine(**keys(spoiled=True)).results()
    assert result.outcome is Outcome.INVALID_ACTION
    assert looks == ["reset", "skip", "skip"]


def test_seen_or_unseen_the_records_are_equal(examine: Examine) -> None:
    entry = {"suite": f"{UNSEEN}:Pairs", "options": {}}
    run = examine(**{**keys(steps=11), "tasks": [entry], "n_trials": 3})
    results = by_key(run)
    for index in range(3):
        lazy, eager = (run.episode(results[f"threes/{task}/{index:04d}"]).arrays for task in ("lazy", "eager"))
        for name, array in eager.items():
            np.testing.assert_array_equal(lazy[name], array, err_msg=name)


def test_a_suite_by_import_string_has_groups_and_defaults_too() -> None:
    entry = {"suite": f"{UNSEEN}:Pairs", "options": {}}
    raw = {"agents": [{"policy": "zero"}], "tasks": [{**entry, "name": "two"}, {**entry, "wait_steps": 5}]}
    cfg = config_from_dict(raw)
    assert [task.name for task in cfg.tasks] == ["two-lazy", "two-eager", "lazy", "eager"]
    assert [task.wait_steps for task in cfg.tasks] == [1, 1, 5, 5]
    assert {(cfg.trials_of(task), task.success_rule) for task in cfg.tasks} == {(2, "ever")}
    assert {config.trials_of(config.tasks[0]) for config in [config_from_dict({**raw, "n_trials": 9})]} == {9}


class TestConformance(EnvConformance):
    def make(self) -> Any:
        module = import_file(UNSEEN)
        return module.Counter(module.Options())


class Forgetful(EnvConformance):
    """Its unseen steps do nothing."""

    def make(self) -> Any:
        module = import_file(UNSEEN)

        class Lazy(module.Counter):
            def step_unseen(self, action: np.ndarray) -> Any:
                return super().step_unseen(0 * action)

        return Lazy(module.Options())


def test_conformance_finds_unseen_steps_that_differ() -> None:
    with pytest.raises(AssertionError, match="step 1 differs after steps without a look"):
        Forgetful().test_steps_that_nobody_sees_lead_to_the_same_episode()
