"""Worlds that are stepped in one call, as columns, hold trials like any other: their records are equal to the byte."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from column_worlds import ColumnOptions, ColumnToys
from examining import digests, examination, policy, task

from proctor import Outcome, Run, config_from_dict, run_evaluation
from proctor.testing import BatchEnvConformance
from proctor_host.batch import BatchWorlds

SUITE = f"{Path(__file__).parents[1] / 'support' / 'column_worlds.py'}:ColumnSuite"
N = 14
BAD = 123 + 4


def columns(**options: Any) -> dict[str, Any]:
    rest = {key: options.pop(key) for key in ("wait_steps", "stop_on_success", "out_of_range") if key in options}
    return {"suite": SUITE, "name": "toy", "options": options, **rest}


def everyone(placement: str, names: tuple[str, ...] = ("Linear", "Upward", "Noisy", "Recurrent", "TwoStages")) -> Any:
    return [policy(name, placement=placement) for name in names]


@pytest.fixture
def stepped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many trials took part in each call."""
    counted: list[int] = []
    step = BatchWorlds.step

    def count(self: BatchWorlds, slots: Any, *rest: Any) -> Any:
        counted.append(len(slots))
        return step(self, slots, *rest)

    monkeypatch.setattr(BatchWorlds, "step", count)
    return counted


class TestColumnToys(BatchEnvConformance):
    def make(self) -> ColumnToys:
        return ColumnToys(ColumnOptions(signals=True, keys=True), 4)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[tuple[str, ...]], dict[str, str | None]]:
    """The digests of these agents one trial at a time, each environment by itself."""

    @cache
    def examined(names: tuple[str, ...]) -> dict[str, str | None]:
        keys = {"agents": everyone("engine", names), "tasks": [task()], "n_trials": N, "num_parallel": 1}
        return digests(run_evaluation(config_from_dict(examination(tmp_path_factory.mktemp("alone"), **keys))))

    return examined


@pytest.mark.parametrize("keys", [{"num_parallel": 1}, {"num_parallel": 5}, {"num_parallel": 16, "workers": 2}])
@pytest.mark.parametrize("names", [("Linear",), ("Linear", "Upward"), ("Linear", "Upward", "Noisy", "Recurrent")])
def test_as_one_trial_at_a_time(
    examine: Callable[..., Run],
    alone: Callable[[tuple[str, ...]], dict[str, str | None]],
    stepped: list[int],
    names: tuple[str, ...],
    keys: dict[str, Any],
) -> None:
    expected = alone(names)
    run = examine(agents=everyone("worker", names), tasks=[columns()], n_trials=N, **keys)
    assert digests(run) == expected
    if "workers" not in keys:
        assert max(stepped) == min(keys["num_parallel"], N * len(names))


@pytest.mark.parametrize(
    "options",
    [
        {"signals": True},
        {"keys": True, "signals": True},
        {"partial": False},
        {"wait_steps": 2},
        {"stop_on_success": True},
    ],
)
def test_however_the_policy_is_placed(examine: Callable[..., Run], stepped: list[int], options: Any) -> None:
    keys = {"tasks": [columns(**options)], "n_trials": N, "record": {"level": "series", "observations": True}}
    there = examine(agents=everyone("engine"), num_parallel=1, **keys)
    assert max(stepped) == 1
    here = examine(agents=everyone("worker"), num_parallel=6, **keys)
    assert max(stepped) == 6
    assert digests(here) == digests(there)
    assert [r.trace for r in here.results()] == [r.trace for r in there.results()]


def test_every_running_world_takes_part_in_every_call(examine: Callable[..., Run], stepped: list[int]) -> None:
    run = examine(agents=everyone("worker", ("Linear", "Upward")), tasks=[columns()], n_trials=N, num_parallel=7)
    assert sum(stepped) == sum(result.steps_total for result in run.results())
    assert sorted(stepped)[len(stepped) // 2] == 7


@pytest.mark.parametrize("trouble", ["raise", "nan", "range", "shape", "reset", "exit"])
def test_what_one_policy_breaks_costs_its_trial(examine: Callable[..., Run], trouble: str) -> None:
    def run(placement: str, n: int) -> Any:
        agent = policy("Wobbly", placement=placement, kwargs={"trouble": trouble, "seeds": [BAD]})
        results = examine(agents=[agent], tasks=[columns(out_of_range="reject")], n_trials=N, num_parallel=n).results()
        return {r.trial.key: (r.outcome, (r.error or "").split("\n")[0], r.digest, r.steps_total) for r in results}

    expected = run("engine", 1)
    assert sum(outcome in (Outcome.POLICY_ERROR, Outcome.INVALID_ACTION) for outcome, *_ in expected.values()) == 1
    assert run("worker", 8) == expected


@pytest.mark.parametrize("trouble", ["nan_reward", "raise", "shape", "dtype"])
def test_what_the_environment_breaks_is_a_fault_as_ever(examine: Callable[..., Run], trouble: str) -> None:
    def run(placement: str) -> Any:
        tasks = [columns(trouble=trouble, seeds=[BAD])]
        run = examine(agents=everyone(placement, ("Linear",)), tasks=tasks, n_trials=N, num_parallel=4)
        return {
            r.trial.key: (r.outcome, (r.error or "").split("\n")[0], r.digest)
            for r in run.results()
            if r.trial.seed == BAD
        }

    assert run("worker") == run("engine")


def test_columns_of_another_length_are_the_environment_s_fault(examine: Callable[..., Run]) -> None:
    tasks = [columns(trouble="rows", seeds=[BAD])]
    run = examine(agents=everyone("worker", ("Linear",)), tasks=tasks, n_trials=N, num_parallel=4)
    bad = [result for result in run.results() if not result.outcome.scored]
    assert bad
    for result in bad:
        assert result.outcome is Outcome.ENV_ERROR
        assert str(result.error).startswith("ValueError: step_columns gave reward (")


def test_a_signal_that_changes_its_shape_is_the_environment_s_fault(examine: Callable[..., Run]) -> None:
    tasks = [columns(trouble="signal", signals=True, seeds=[BAD])]
    run = examine(agents=everyone("worker", ("Linear",)), tasks=tasks, n_trials=N, num_parallel=4)
    errors = {str(result.error).split("\n")[0] for result in run.results() if not result.outcome.scored}
    assert errors == {'ValueError: signal "x" changes its shape from step to step; it must keep one'}


@pytest.mark.parametrize("placement", ["engine", "worker"])
@pytest.mark.parametrize("workers", ["inline", 1])
def test_a_reset_that_breaks_costs_an_attempt_of_those_who_wait_for_their_policy(
    examine: Callable[..., Run], placement: str, workers: Any
) -> None:
    """Worlds that have been stepped ask while another is reset: the answer finds no trial any more."""
    keys = {
        "agents": everyone(placement, ("Linear", "TwoStages")),
        "n_trials": N,
        "num_parallel": 4,
        "workers": workers,
    }
    healthy = digests(examine(tasks=[columns()], **keys))
    results = list(examine(tasks=[columns(trouble="reset", seeds=[BAD])], **keys).results())
    assert len(results) == len(healthy)
    assert not any(r.outcome.scored for r in results if r.trial.seed == BAD)
    scored = [r for r in results if r.outcome.scored]
    assert len(scored) > N
    assert all(r.digest == healthy[r.trial.key] for r in scored)


def test_a_trial_out_of_time_leaves_the_others_alone(examine: Callable[..., Run]) -> None:
    agents = everyone("worker", ("Linear",))
    run = examine(agents=agents, tasks=[columns()], n_trials=4, num_parallel=4, limits={"trial_s": 1e-7, "retries": 0})
    assert {r.outcome for r in run.results()} == {Outcome.TIMEOUT}
