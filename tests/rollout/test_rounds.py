"""Slots that are stepped in rounds are slots like any other: their records are equal to the byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import TOYS, by_key, digests, examination, policy, task
from row_worlds import RowOptions, RowToy

from proctor import Outcome, Run, config_from_dict
from proctor.errors import InputError
from proctor.rollout.progress import Progress
from proctor.runs.session import Hooks
from proctor.runs.start import start
from proctor.testing import EnvConformance
from proctor_host.one_by_one import RowByRow

SUPPORT = Path(__file__).parents[1] / "support"
N = 14
BAD = 123 + 4
POLICIES = ("Linear", "Upward", "Noisy", "Recurrent", "TwoStages")


def rows(**options: Any) -> dict[str, Any]:
    rest = {key: options.pop(key) for key in ("wait_steps", "stop_on_success", "out_of_range") if key in options}
    return {"suite": f"{SUPPORT / 'row_worlds.py'}:RowSuite", "name": "toy", "options": options, **rest}


def columns() -> dict[str, Any]:
    return {"suite": f"{SUPPORT / 'column_worlds.py'}:ColumnSuite", "name": "toy", "options": {}}


def everyone(placement: str, names: tuple[str, ...] = POLICIES) -> Any:
    return [policy(name, placement=placement) for name in names]


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were looked at, each time."""
    counted: list[int] = []
    step = RowByRow.step

    def count(self: RowByRow, *arguments: Any) -> Any:
        given = step(self, *arguments)
        counted.append(len(given.seconds))
        return given

    monkeypatch.setattr(RowByRow, "step", count)
    return counted


class TestRowToy(EnvConformance):
    def make(self) -> RowToy:
        return RowToy(RowOptions(nested=True, signals=True))


@pytest.mark.parametrize("keys", [{"num_parallel": 1}, {"num_parallel": 5}, {"num_parallel": 16, "workers": 2}])
def test_as_one_trial_at_a_time(examine: Callable[..., Run], together: list[int], keys: dict[str, Any]) -> None:
    alone = digests(examine(agents=everyone("engine"), tasks=[task()], n_trials=N, num_parallel=1))
    assert digests(examine(agents=everyone("worker"), tasks=[rows()], n_trials=N, **keys)) == alone
    if keys == {"num_parallel": 5}:
        assert max(together) == 5


@pytest.mark.parametrize(
    "options",
    [{"signals": True}, {"nested": True, "signals": True}, {"wait_steps": 2}, {"stop_on_success": True}],
)
def test_however_the_policy_is_placed(examine: Callable[..., Run], together: list[int], options: Any) -> None:
    keys = {"tasks": [rows(**options)], "n_trials": N, "record": {"level": "series", "observations": True}}
    alone = examine(agents=everyone("engine"), num_parallel=1, **keys)
    assert set(together) == {1}
    there = examine(agents=everyone("engine"), num_parallel=6, **keys)
    assert max(together) == 6, "nobody answers while this process steps"
    here = examine(agents=everyone("worker"), num_parallel=6, **keys)
    assert max(together) == 6
    assert digests(here) == digests(there) == digests(alone)
    assert [r.trace for r in here.results()] == [r.trace for r in alone.results()]


@pytest.mark.parametrize("workers", ["inline", 2])
def test_some_policies_in_the_engine_and_some_in_the_worker(examine: Callable[..., Run], workers: int | str) -> None:
    keys = {"tasks": [rows(signals=True)], "n_trials": N}
    expected = digests(examine(agents=everyone("engine"), num_parallel=1, **keys))
    mixed = [policy(name, placement=("worker", "engine")[i % 2]) for i, name in enumerate(POLICIES)]
    assert digests(examine(agents=mixed, num_parallel=8, workers=workers, **keys)) == expected


@pytest.mark.parametrize("tasks", [[rows()], [task()]], ids=["rows", "steps"])
@pytest.mark.parametrize("trouble", ["raise", "nan_reward", "exit"])
def test_what_one_environment_breaks_costs_its_trial(
    examine: Callable[..., Run], trouble: str, tasks: list[dict[str, Any]]
) -> None:
    def run(**options: Any) -> Run:
        options = {"kwargs": options} if tasks[0]["suite"] == "gymnasium" else options
        make = task if tasks[0]["suite"] == "gymnasium" else rows
        return examine(agents=everyone("worker", ("Linear",)), tasks=[make(**options)], n_trials=N, num_parallel=6)

    healthy, broken = by_key(run()), by_key(run(trouble=trouble, seeds=[BAD]))
    for key, result in broken.items():
        if result.trial.seed == BAD:
            assert result.outcome is Outcome.ENV_ERROR
        else:
            assert result.digest == healthy[key].digest


@pytest.mark.parametrize(("trouble", "outcome"), [("hang", Outcome.TIMEOUT), ("die", Outcome.WORKER_LOST)])
def test_a_hang_or_a_crash_in_a_round_is_blamed_on_the_trial_that_was_stepped(
    examine: Callable[..., Run], trouble: str, outcome: Outcome
) -> None:
    keys = {"agents": everyone("worker", ("Linear",)), "n_trials": 8, "num_parallel": 8, "workers": 2}
    healthy = digests(examine(tasks=[rows()], **keys))
    limits = {"step_s": 1.0, "retries": 0}
    results = by_key(examine(tasks=[rows(trouble=trouble, seeds=[BAD])], limits=limits, **keys))
    assert {r.trial.seed: r.outcome for r in results.values() if not r.outcome.scored} == {BAD: outcome}
    assert all(r.digest == healthy[key] for key, r in results.items() if r.trial.seed != BAD)


def test_a_step_over_the_limit_costs_its_trial(examine: Callable[..., Run]) -> None:
    keys = {"agents": everyone("worker", ("Linear",)), "n_trials": 4, "num_parallel": 4}
    run = examine(tasks=[rows(nap_s=0.01)], limits={"step_s": 0.001, "retries": 0}, **keys)
    assert {r.outcome for r in run.results()} == {Outcome.TIMEOUT}


def test_rows_that_are_not_what_is_observed_are_refused_before_the_first_trial(examine: Callable[..., Run]) -> None:
    with pytest.raises(InputError, match=r"sheet has int16 \(\) for told.age; the observation space uint8 \(\)"):
        examine(tasks=[rows(nested=True, trouble="sheet")])


COUNTED = """
from pathlib import Path

from proctor.registry import import_object

TOYS = "{toys}"


def counted(name):
    class Counted(import_object(f"{{TOYS}}:{{name}}")):
        def __init__(self, count, **kwargs):
            super().__init__(**kwargs)
            self.count = Path(count)

        def act(self, batch):
            with self.count.open("a") as file:
                file.write(".")
            return super().act(batch)

    return Counted


Wobbly, Noisy = counted("Wobbly"), counted("Noisy")
"""


@pytest.mark.parametrize("what", [rows(), task(), columns()], ids=["rows", "steps", "columns"])
@pytest.mark.parametrize("name", ["Wobbly", "Noisy"])
def test_a_policy_is_asked_once_for_a_step_whatever_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: dict[str, Any], name: str
) -> None:
    """Out of range, which is clipped; or in chunks. Forwards that are asked again for their rows' sake aside."""
    monkeypatch.setattr("proctor.rollout.ask.runner.DUE", ())
    (tmp_path / "counted.py").write_text(COUNTED.format(toys=TOYS))
    kwargs: dict[str, Any] = {"count": str(tmp_path / "count")}
    if name == "Wobbly":
        kwargs |= {"trouble": "range", "seeds": list(range(123, 123 + N))}
    agent = {"name": "agent", "policy": f"{tmp_path / 'counted.py'}:{name}"}
    agent |= {"options": {"placement": "worker", "kwargs": kwargs}}
    seen: list[Progress] = []
    keys = {"tasks": [{**what, "out_of_range": "clip"}], "n_trials": N, "num_parallel": 5}
    run = start(config_from_dict(examination(tmp_path, agents=[agent], **keys)), Hooks(seen.append)).run
    assert sum(result.clipped_steps for result in run.results()) > 0 or name == "Noisy"
    assert len((tmp_path / "count").read_text()) == seen[-1].forwards
