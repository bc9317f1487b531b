"""Scoring a run again from its records."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import ODDITIES, by_key, digests, odd, odd_task, policy, timeless

from proctor import ConfigError, InputError, Run, metrics
from proctor.foreign import read_npz
from proctor.runs import score as scoring_again
from proctor.runs.resume import resume
from proctor.runs.score import score
from proctor_host.npz import write_npz

Examine = Callable[..., Run]


TIMES = {"environment.json", "report.json", "report.md", "report.html", "run.log", "lock"}
"""Files that say when; everything else is the same whenever it was written."""


def contents(run: Run) -> dict[str, bytes]:
    files = [p for p in run.path.rglob("*") if p.is_file() and "ledger" not in p.name and p.name not in TIMES]
    return {str(p.relative_to(run.path)): p.read_bytes() for p in files}


@pytest.fixture
def orphan(tmp_path: Path, examine: Examine) -> Run:
    """A run whose environment and policy are gone."""
    source = tmp_path / "mine.py"
    shutil.copyfile(ODDITIES, source)
    run = examine(agents=[odd("Steady", source)], tasks=[odd_task(file=source)], n_trials=4)
    source.unlink()
    return run


def test_scoring_again_changes_nothing(examine: Examine) -> None:
    run = examine(agents=[policy("Noisy"), policy("Linear")], scoring="default_v1")
    before, results = contents(run), by_key(run)
    score(run.path)
    assert contents(run) == before
    assert by_key(run) == results


@pytest.mark.parametrize(("bound", "value"), [("MOST_TRIALS", 3), ("MOST_BYTES", 1)])
def test_how_many_records_are_in_memory_together_changes_nothing(
    examine: Examine, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    run = examine(agents=[policy("Noisy"), policy("Linear")], scoring="default_v1", n_trials=7)
    before, results = contents(run), by_key(run)
    sizes: list[int] = []
    whole = metrics.compute_many
    monkeypatch.setattr(metrics, "compute_many", lambda some, *more: sizes.append(len(some)) or whole(some, *more))
    monkeypatch.setattr(scoring_again, bound, value)
    monkeypatch.setattr(scoring_again, "cores", lambda: 2)
    score(run.path)
    assert sizes == [4, 4, 4, 2]
    assert contents(run) == before
    assert by_key(run) == results


def test_another_scoring_needs_neither_simulator_nor_model(orphan: Run) -> None:
    report = score(orphan.path, ["scoring=return"]).report
    rewards = [r.episode_reward for r in orphan.results() if r.episode_reward is not None]
    assert report.agents[0].overall.score.mean == pytest.approx(sum(rewards) / 4)
    assert [float(row["score"]) for row in timeless(orphan)] == rewards
    assert orphan.config().scoring.mode == "return"
    assert orphan.report()["scoring"]["name"] == "return"


def test_a_metric_and_a_scoring_of_ones_own_are_computed_from_the_records(orphan: Run) -> None:
    mode, peak = f"{ODDITIES}:by_peak", f"{ODDITIES}:Peak"
    score(orphan.path, [f"scoring.metrics=[{peak}]", f"scoring.mode={mode}", "scoring.options={factor: 2}"])
    peaks = [orphan.episode(r).arrays["rewards"].max() for r in orphan.results()]
    rows = timeless(orphan)
    assert [float(row["peak"]) for row in rows] == peaks
    assert [float(row["score"]) for row in rows] == [2 * p for p in peaks]


def test_back_to_the_first_scoring_gives_the_first_files(examine: Examine) -> None:
    run = examine(scoring="default_v1")
    before = contents(run)
    score(run.path, ["scoring.mode=return", "scoring.floor=5"])
    assert contents(run) != before
    score(run.path, ["scoring.mode=default_v1", "scoring.floor=null"])
    assert contents(run) == before


def test_only_the_scoring_may_change(orphan: Run) -> None:
    before = contents(orphan)
    with pytest.raises(InputError) as error:
        score(orphan.path, ["n_trials=3"])
    assert str(error.value) == "proctor score changes the scoring only: --set scoring.KEY=VALUE"
    with pytest.raises(ConfigError, match=r'unknown scoring "sucess"(.|\n)*did you mean "success"'):
        score(orphan.path, ["scoring=sucess"])
    with pytest.raises(ConfigError, match=r"scoring\.options\.w_success(.|\n)*expected a number"):
        score(orphan.path, ["scoring.mode=default_v1", "scoring.options.w_success=much"])
    assert contents(orphan) == before


def test_a_record_that_was_changed_is_noticed_and_nothing_is_written(examine: Examine) -> None:
    run = examine(n_trials=3)
    path = run.path / by_key(run)["linear/toy/0001"].npz  # type: ignore[operator]
    arrays = read_npz(path)
    arrays["rewards"][0] += 1e-9
    write_npz(path, arrays)
    results = by_key(run)
    with pytest.raises(InputError) as error:
        score(run.path, ["scoring=return"])
    assert "is damaged: its bytes are not those that were written" in str(error.value)
    assert run.config().scoring.mode == "success"
    assert by_key(run) == results


def test_a_run_without_series_is_scored_from_its_metrics(examine: Examine) -> None:
    keys: dict[str, Any] = {"agents": [policy("Noisy")], "scoring": "default_v1"}
    summary, series = examine(**keys, record="summary"), examine(**keys)
    assert list((summary.path / "trials").iterdir()) == []
    assert digests(summary) == digests(series)
    for run in (summary, series):
        score(run.path, ["scoring=return"])
    without = [{**row, "npz_path": ""} for row in timeless(series)]
    assert timeless(summary) == without


def test_a_run_goes_on_under_its_new_scoring(examine: Examine) -> None:
    run = examine(n_trials=2)
    score(run.path, ["scoring=return", f"scoring.metrics=[{ODDITIES}:Peak]"])
    resume(run.path, ["n_trials=4"])
    assert all(row["peak"] and float(row["score"]) == float(row["episode_reward"]) for row in timeless(run))
