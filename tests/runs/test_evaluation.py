"""Going on with a run, scoring it again, and the files that other programs read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import ODDITIES, by_key, digests, examination, odd, odd_task, policy, task, timeless

from proctor import ConfigError, InputError, RunDir, RunError, config_from_dict, run_evaluation
from proctor.record import environment
from proctor.record.episode import Outcome
from proctor.record.npz import read_npz, write_npz
from proctor.rollout.progress import CancelToken
from proctor.runs.evaluation import Hooks, resume, score, start, write_report

Examine = Callable[..., RunDir]

TIMES = {"environment.json", "report.json", "report.md", "report.html", "run.log", "lock"}
"""Files that say when; everything else is the same whenever it was written."""


def contents(run: RunDir) -> dict[str, bytes]:
    files = [p for p in run.path.rglob("*") if p.is_file() and "ledger" not in p.name and p.name not in TIMES]
    return {str(p.relative_to(run.path)): p.read_bytes() for p in files}


# Resume ----------------------------------------------------------------------------------------------------


def test_resuming_a_finished_run_does_nothing(examine: Examine) -> None:
    run = examine(agents=[policy("Noisy"), policy("Linear")])
    before, results = contents(run), by_key(run)
    stamps = {p: p.stat().st_mtime_ns for p in (run.path / "trials").iterdir()}
    finished = resume(run.path)
    assert finished.complete
    assert finished.progress.steps == 0
    assert contents(run) == before
    assert by_key(run) == results
    assert {p: p.stat().st_mtime_ns for p in (run.path / "trials").iterdir()} == stamps


def test_an_extended_run_equals_one_that_was_that_long_from_the_start(examine: Examine) -> None:
    keys = {"agents": [policy("Noisy"), policy("TwoStages")], "tasks": [task(), odd_small()]}
    short = examine(**keys, n_trials=3)
    first = {p: p.stat().st_mtime_ns for p in (short.path / "trials").iterdir()}
    finished = resume(short.path, ["n_trials=7"])
    long = examine(**keys, n_trials=7)
    assert finished.complete
    assert digests(short) == digests(long)
    assert timeless(short) == timeless(long)
    assert short.config() == long.config()
    assert sorted(contents(short)) == sorted(contents(long))
    assert {p: p.stat().st_mtime_ns for p in first} == first, "finished trials are left alone"


def odd_small() -> dict[str, Any]:
    return {**task(kwargs={"scale": 0.3}), "name": "weak"}


def test_how_it_runs_may_change_on_the_way(examine: Examine) -> None:
    run = examine(n_trials=2)
    resume(run.path, ["n_trials=4", "num_parallel=1", "limits.retries=0"])
    assert run.config().num_parallel == 1
    assert digests(run) == digests(examine(n_trials=4))


def test_a_change_that_would_alter_finished_trials_is_refused_and_changes_nothing(examine: Examine) -> None:
    run = examine(n_trials=2)
    before = contents(run)
    with pytest.raises(InputError) as error:
        resume(run.path, ["base_seed=9", "n_trials=1", "agents.linear.options.pad_to=4", "num_parallel=2"])
    lines = str(error.value).splitlines()
    assert lines[1:-1] == [
        "  agents.0.options.pad_to: 16 -> 4",
        "  n_trials: 2 -> 1",
        "  base_seed: 123 -> 9",
    ]
    assert contents(run) == before


def test_an_override_that_leads_nowhere_is_named(examine: Examine) -> None:
    with pytest.raises(ConfigError, match=r'n_trails(.|\n)*did you mean "n_trials"'):
        resume(examine(n_trials=1).path, ["n_trails=3"])


@pytest.mark.parametrize("what", ["source", "checkpoint"])
def test_files_that_changed_since_are_refused(tmp_path: Path, examine: Examine, what: str) -> None:
    source, checkpoint = tmp_path / "mine.py", tmp_path / "push.txt"
    shutil.copyfile(ODDITIES, source)
    checkpoint.write_text("0.25")
    run = examine(agents=[odd("Steady", source, checkpoint=str(checkpoint))], tasks=[odd_task()], n_trials=2)
    original = {p: p.read_text() for p in (source, checkpoint)}
    changed = source if what == "source" else checkpoint
    changed.write_text(original[changed].replace("0.5", "0.6").replace("0.25", "0.35"))
    with pytest.raises(InputError) as error:
        resume(run.path, ["n_trials=3"])
    assert str(error.value) == (
        "the files of agent steady have changed since this run began; its finished trials belong to the old ones. "
        "Put the old files back, or start a new run."
    )
    assert run.config().n_trials == 2
    changed.write_text(original[changed])
    assert resume(run.path, ["n_trials=3"]).complete


def test_what_the_infrastructure_broke_is_run_again_on_request(tmp_path: Path, examine: Examine) -> None:
    world = tmp_path / "world"
    keys = {
        "agents": [odd("Steady")], "tasks": [odd_task(kwargs={"file": str(world)})], "n_trials": 2,
        "limits": {"retries": 1},
    }  # fmt: skip
    run = examine(**keys)
    assert {r.outcome for r in run.results()} == {Outcome.ENV_ERROR}
    assert run.report()["agents"][0]["n_unscored"] == 2
    world.touch()
    assert resume(run.path).progress.steps == 0
    assert {r.outcome for r in run.results()} == {Outcome.ENV_ERROR}
    resume(run.path, retry_unscored=True)
    assert all(r.outcome.scored and r.attempts == 1 and r.error is None for r in run.results())
    assert run.report()["agents"][0]["n_unscored"] == 0
    assert digests(run) == digests(examine(**keys))


def test_a_trial_whose_record_is_gone_is_run_again(examine: Examine) -> None:
    run = examine(agents=[policy("Noisy")])
    before, results = contents(run), digests(run)
    lost = run.path / "trials" / "noisy_trial0002_seed125.npz"
    lost.unlink()
    with pytest.raises(InputError, match=f"record of trial noisy/toy/0002 cannot be read: {lost}"):
        score(run.path)
    assert resume(run.path).complete
    assert digests(run) == results
    assert lost.read_bytes() == before["trials/noisy_trial0002_seed125.npz"]


def test_a_folder_in_use_is_refused(examine: Examine) -> None:
    run = examine(n_trials=1)
    with run.locked():
        for work in (resume, score):
            with pytest.raises(RunError, match=r"is in use by process .* proctor resume"):
                work(run.path)
        write_report(run)
    assert resume(run.path).complete


def test_a_kill_while_a_run_was_being_extended_loses_nothing(examine: Examine) -> None:
    run = examine(n_trials=2)
    run.write_config(run.config().model_copy(update={"n_trials": 4}))
    assert resume(run.path).complete
    assert digests(run) == digests(examine(n_trials=4))


def test_a_run_stopped_before_its_first_trial_can_go_on(tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    finished = start(config_from_dict(examination(tmp_path)), Hooks(cancel=token))
    assert finished.cancelled
    assert not finished.complete
    assert finished.report is None
    assert resume(finished.run.path).complete


def test_every_session_is_noted_and_other_versions_are_a_warning(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = examine(n_trials=1)
    real = environment.versions
    monkeypatch.setattr(environment, "versions", lambda: {**real(), "numpy": "9.9"})
    resume(run.path, ["n_trials=2"])
    first, second = run.read_json("environment.json")["sessions"]
    assert "warnings" not in first
    assert second["warnings"] == [f"numpy was {first['versions']['numpy']} when this run began and is 9.9 now"]
    assert first["seconds"] > 0
    assert second["seconds"] > 0


def test_the_log_says_when_sessions_began_and_ended(examine: Examine) -> None:
    run = examine(n_trials=1)
    resume(run.path, ["n_trials=2"])
    log = (run.path / "run.log").read_text()
    assert [line.split(" INFO ")[1] for line in log.splitlines()] == [
        "session begins: 1 planned, 0 done",
        "session ends: 1 of 1 done, 0 unscored",
        "session begins: 2 planned, 1 done",
        "session ends: 2 of 2 done, 0 unscored",
    ]


def test_two_runs_of_one_config_get_two_folders(examine: Examine) -> None:
    runs = [examine(n_trials=1) for _ in range(2)]
    assert runs[0].path != runs[1].path
    assert digests(runs[0]) == digests(runs[1])


def test_bad_input_leaves_no_folder(tmp_path: Path) -> None:
    raw = examination(tmp_path / "out", agents=[odd("Steady", checkpoint=str(tmp_path / "push.txt"))])
    (tmp_path / "push.txt").write_text("0.5")
    cfg = config_from_dict(raw)
    (tmp_path / "push.txt").unlink()
    with pytest.raises(InputError, match=r"checkpoint: no file .*push\.txt"):
        run_evaluation(cfg)
    assert not (tmp_path / "out").exists()


# Shards ----------------------------------------------------------------------------------------------------


def test_a_shard_runs_its_part_and_says_so(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path))
    run = run_evaluation(cfg, shard="2/2")
    assert [r.trial.index for r in run.results()] == [1, 3]
    assert "This is shard 2/2 of the run." in (run.path / "report.md").read_text()


def test_a_shard_stays_what_it_is(tmp_path: Path) -> None:
    run = run_evaluation(config_from_dict(examination(tmp_path)), shard="1/2")
    with pytest.raises(InputError) as error:
        resume(run.path, ["n_trials=9"])
    assert str(error.value) == (
        f"{run.path} is shard 1/2; n_trials of a shard cannot change: merge the shards, then resume"
    )
    finished = resume(run.path, ["limits.max_loaded_agents=1"])
    assert finished.complete
    assert [r.trial.index for r in run.results()] == [0, 2, 4]


# Score -----------------------------------------------------------------------------------------------------


@pytest.fixture
def orphan(tmp_path: Path, examine: Examine) -> RunDir:
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


def test_another_scoring_needs_neither_simulator_nor_model(orphan: RunDir) -> None:
    report = score(orphan.path, ["scoring=return"])
    rewards = [r.episode_reward for r in orphan.results() if r.episode_reward is not None]
    assert report.agents[0].overall.score.mean == pytest.approx(sum(rewards) / 4)
    assert [float(row["score"]) for row in timeless(orphan)] == rewards
    assert orphan.config().scoring.mode == "return"
    assert orphan.report()["scoring"]["name"] == "return"


def test_a_metric_and_a_scoring_of_ones_own_are_computed_from_the_records(orphan: RunDir) -> None:
    mode, peak = f"{ODDITIES}:by_peak", f"{ODDITIES}:Peak"
    score(orphan.path, [f"scoring.metrics=[{peak}]", f"scoring.mode={mode}", "scoring.options={factor: 2}"])
    peaks = [orphan.episode(r).arrays["rewards"].max() for r in orphan.results()]
    rows = timeless(orphan)
    assert [float(row["peak"]) for row in rows] == peaks
    assert [float(row["score"]) for row in rows] == [2 * p for p in peaks]


def test_back_to_the_first_scoring_gives_the_first_files(examine: Examine) -> None:
    run = examine(scoring="default_v1")
    before = contents(run)
    score(run.path, ["scoring.mode=return", "scoring.w_success=5"])
    assert contents(run) != before
    score(run.path, ["scoring.mode=default_v1", "scoring.w_success=2.0"])
    assert contents(run) == before


def test_only_the_scoring_may_change(orphan: RunDir) -> None:
    before = contents(orphan)
    with pytest.raises(InputError) as error:
        score(orphan.path, ["n_trials=3"])
    assert str(error.value) == "proctor score changes the scoring only: --set scoring.KEY=VALUE"
    with pytest.raises(ConfigError, match=r'unknown scoring "sucess"(.|\n)*did you mean "success"'):
        score(orphan.path, ["scoring=sucess"])
    with pytest.raises(ConfigError, match=r"scoring\.w_success(.|\n)*expected a number"):
        score(orphan.path, ["scoring.w_success=much"])
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
    assert str(error.value) == (f"the record {path} has been changed since it was written; restore it, or run again")
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


# Files that other programs read ----------------------------------------------------------------------------

SUMMARY = [
    "agent",
    "tool",
    "checkpoint",
    "trial",
    "seed",
    "success",
    "steps_total",
    "steps_to_success",
    "episode_reward",
    "path_ratio_last",
    "trajectory_length_last",
    "avg_translation_speed_last",
    "tip_speed_max_mm_s",
    "tip_speed_mean_mm_s",
    "wall_time_s",
    "sim_time_s",
    "wall_lcp_max_abs_max",
    "wall_lcp_sum_abs_mean",
    "wall_wire_force_norm_max",
    "wall_wire_force_norm_mean",
    "wall_collision_force_norm_max",
    "wall_collision_force_norm_mean",
    "wall_force_max",
    "score",
    "score_success",
    "score_efficiency",
    "score_safety",
    "score_smoothness",
    "npz_path",
    "task",
    "outcome",
    "attempts",
]
REPORT = ["name", "generated_at", "scoring", "n_trials", "agents", "summary_csv", "trials_dir"]
AGENT = [
    "agent",
    "tool",
    "checkpoint",
    "n_trials",
    "success_rate",
    "score_mean",
    "score_std",
    "steps_total_mean",
    "steps_to_success_mean",
    "tip_speed_max_mean_mm_s",
    "wall_force_max_mean",
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
