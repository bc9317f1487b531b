"""The files of a run that other programs read."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from examining import odd, odd_task, policy

from proctor import Run

Examine = Callable[..., Run]


SUMMARY = [
    "agent",
    "checkpoint",
    "trial",
    "seed",
    "success",
    "steps_total",
    "steps_to_success",
    "episode_reward",
    "wall_time_s",
    "sim_time_s",
    "score",
    "npz_path",
    "task",
    "outcome",
    "attempts",
]
REPORT = ["name", "generated_at", "scoring", "n_trials", "agents", "summary_csv", "trials_dir"]
AGENT = [
    "agent",
    "checkpoint",
    "n_trials",
    "success_rate",
    "score_mean",
    "score_std",
    "steps_total_mean",
    "steps_to_success_mean",
]


def test_the_columns_of_the_summary_come_in_their_order(examine: Examine) -> None:
    run = examine()
    head, *rows = (run.path / "summary.csv").read_text().splitlines()
    assert head.split(";")[: len(SUMMARY)] == SUMMARY
    assert len(rows) == 5
    assert "nan" not in "".join(rows).lower()


def test_the_report_is_valid_json_with_the_keys_that_programs_know(examine: Examine) -> None:
    run = examine(agents=[policy("Linear"), policy("Quitter")])

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads((run.path / "report.json").read_text(), parse_constant=refuse)
    assert list(found)[: len(REPORT)] == REPORT
    for agent in found["agents"]:
        assert list(agent)[: len(AGENT)] == AGENT
    assert [a["score_mean"] for a in found["agents"]] == sorted(
        (a["score_mean"] for a in found["agents"]), reverse=True
    )
    assert found["agents"][1]["outcomes"] == {"policy_error": 5}
    assert (run.path / found["summary_csv"]).is_file()
    assert (run.path / found["trials_dir"]).is_dir()


def test_a_record_has_the_arrays_that_programs_know(examine: Examine) -> None:
    walk = odd_task(signals=["info.speed"], action_dt_s=0.1)
    run = examine(agents=[odd("Steady")], tasks=[walk], n_trials=1)
    (result,) = run.results()
    arrays = run.episode(result).arrays
    assert set(arrays) == {
        "actions", "rewards", "terminals", "truncations", "success", "action_dt_s", "speed",
    }  # fmt: skip
    assert {len(a) for name, a in arrays.items() if name != "action_dt_s"} == {8}
    assert arrays["actions"].dtype.str == "<f4"
    assert result.sim_time_s == pytest.approx(0.8)


def test_the_files_of_a_run(examine: Examine) -> None:
    names = {p.name for p in examine(n_trials=1).path.iterdir()} - {"lock"}
    assert {n for n in names if not n.startswith("ledger")} == {
        "config.json", "environment.json", "summary.csv", "trials.parquet", "trials", "report.json", "report.csv",
        "report.md", "report.html", "run.log",
    }  # fmt: skip
