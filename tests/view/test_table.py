"""Filtering and sorting the trials of a run, against what a loop over them gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from viewing import large_run

from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.view.snapshot import Snapshot, signature_of
from proctor.view.table import Query, counterparts, described, found, neighbours, numbers, page
from proctor_host.result import TrialResult


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_run(tmp_path_factory.mktemp("large"), 2000)


@pytest.fixture(scope="module")
def snapshot(run: Path) -> Snapshot:
    return Snapshot(run, signature_of(run), trust=False)


@pytest.fixture(scope="module")
def results(run: Path) -> list[TrialResult]:
    return list(RunDir(run).results())


def keys(snapshot: Snapshot, text: str) -> list[str]:
    """The trials that an address means."""
    given = [tuple(part.split("=", 1)) for part in text.split("&") if part]
    most = page(snapshot, Query.of(given), 0, 10**6, ())  # type: ignore[arg-type]
    rows = list(most["rows"])
    while len(rows) < most["found"]:
        rows += page(snapshot, Query.of(given), len(rows), 10**6, ())["rows"]  # type: ignore[arg-type]
    return [row["key"] for row in rows]


FILTERS = {
    "": lambda r: True,
    "agent=agent1": lambda r: r.trial.agent == "agent1",
    "agent=agent1&agent=agent2&task=task3": lambda r: r.trial.agent in ("agent1", "agent2") and r.trial.task == "task3",
    "outcome=truncated&outcome=env_error": lambda r: r.outcome.value in ("truncated", "env_error"),
    "seed=125": lambda r: r.trial.seed == 125,
    "range=steps:100:150": lambda r: 100 <= r.steps_total <= 150,
    "range=wall_force_max:0.5:": lambda r: r.metrics["wall_force_max"] >= 0.5,
    "range=path_ratio_last::0.2": lambda r: (r.metrics["path_ratio_last"] or 9) <= 0.2,
    "text=unstable": lambda r: "unstable" in (r.error or ""),
    "text=agent2 task1 0007": lambda r: r.trial.key == "agent2/task1/0007",
    "filmed=1": lambda r: r.video is not None,
    "case=x": lambda r: False,
    "seed=99999999999999999999999": lambda r: False,
}


@pytest.mark.parametrize("text", FILTERS)
def test_a_filter_keeps_what_it_says_in_the_order_of_the_plan(
    snapshot: Snapshot, results: list[Any], text: str
) -> None:
    assert keys(snapshot, text) == [result.trial.key for result in results if FILTERS[text](result)]


@pytest.mark.parametrize("name", ["steps", "score", "wall_force_max", "seed", "outcome", "agent"])
def test_sorting_is_a_permutation_and_its_reverse_is_in_reverse(snapshot: Snapshot, name: str) -> None:
    up, down = (found(snapshot, Query(sort=sort)) for sort in (name, f"-{name}"))
    assert sorted(up.tolist()) == sorted(down.tolist()) == list(range(snapshot.trials.n))
    if name not in ("outcome", "agent"):
        values = numbers(snapshot, name)
        known = [value for value in values[up].tolist() if value == value]
        assert known == sorted(known)
        assert [value for value in values[down].tolist() if value == value] == known[::-1]


def test_what_has_no_value_comes_last_either_way(snapshot: Snapshot) -> None:
    for sort in ("path_ratio_last", "-path_ratio_last"):
        values = numbers(snapshot, "path_ratio_last")[found(snapshot, Query(sort=sort))]
        missing = values != values
        assert missing.any()
        assert missing[-missing.sum() :].all()


def test_neighbours_walk_through_all_that_was_found(snapshot: Snapshot) -> None:
    query = Query(outcomes=("truncated",), agents=("agent0",))
    listed = keys(snapshot, "outcome=truncated&agent=agent0")
    walked, here = [listed[0]], neighbours(snapshot, query, listed[0])
    assert "before" not in here
    while "after" in here:
        walked.append(here["after"])
        here = neighbours(snapshot, query, here["after"])
        assert here["before"] == walked[-2]
    assert walked == listed


def test_a_trial_outside_the_list_is_followed_by_the_first(snapshot: Snapshot) -> None:
    listed = keys(snapshot, "agent=agent1")
    assert neighbours(snapshot, Query(agents=("agent1",)), "agent0/task0/0000") == {
        "at": -1, "found": len(listed), "after": listed[0],
    }  # fmt: skip


def test_counterparts_have_the_same_task_and_index(snapshot: Snapshot) -> None:
    others = counterparts(snapshot, "agent1/task2/0003")
    assert [other["key"] for other in others] == [f"agent{i}/task2/0003" for i in (0, 2, 3)]


def test_pages_put_together_are_the_whole(snapshot: Snapshot) -> None:
    def parts() -> Iterator[str]:
        for offset in range(0, 2000, 300):
            yield from (row["key"] for row in page(snapshot, Query(sort="-score"), offset, 300, ())["rows"])

    assert list(parts()) == keys(snapshot, "sort=-score")


def test_what_can_be_shown_is_said(snapshot: Snapshot) -> None:
    about = described(snapshot)
    assert {"name": "tip_speed_max_mm_s", "unit": "mm/s"} in about["metrics"]
    assert about["agents"] == [f"agent{i}" for i in range(4)]
    assert sum(about["outcomes"].values()) == about["total"] == 2000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([("seed", "x")], 'the seed "x" is no whole number'),
        ([("range", "steps:a:b")], 'the range "steps:a:b" is none'),
        ([("range", "nothing:1:2")], 'there is no number "nothing"'),
        ([("sort", "nothing")], 'there is no number "nothing"'),
    ],
)
def test_what_is_no_query_is_refused_in_a_sentence(snapshot: Snapshot, given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        found(snapshot, Query.of(given))
