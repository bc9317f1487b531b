"""Going on with a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examining import ODDITIES, by_key, digests, examination, odd, odd_task, policy, task, timeless

from proctor import ConfigError, InputError, Run, RunError, config_from_dict, run_evaluation
from proctor.record import environment
from proctor.rollout.progress import AgentProgress, CancelToken
from proctor.runs.report import write_report
from proctor.runs.resume import resume
from proctor.runs.score import score
from proctor.runs.session import Hooks
from proctor.runs.start import start
from proctor_host.episode import Outcome

Examine = Callable[..., Run]


TIMES = {"environment.json", "report.json", "report.md", "report.html", "run.log", "lock"}
"""Files that say when; everything else is the same whenever it was written."""


def contents(run: Run) -> dict[str, bytes]:
    files = [p for p in run.path.rglob("*") if p.is_file() and "ledger" not in p.name and p.name not in TIMES]
    return {str(p.relative_to(run.path)): p.read_bytes() for p in files}


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


def test_more_trials_after_a_look_are_tested_as_such(examine: Examine) -> None:
    run = examine(agents=[policy("Noisy"), policy("Linear")], n_trials=3)
    assert not run.report()["comparison"]["looked_again"]
    resume(run.path)
    assert not run.report()["comparison"]["looked_again"], "nothing was added"
    resume(run.path, ["n_trials=6"])
    found = run.report()
    assert found["comparison"]["looked_again"]
    tests = {pair["score"]["test"] for pair in found["comparison"]["pairs"]}
    assert tests <= {None, "always-valid bets on signs"}
    assert any("hold at every look" in finding["text"] for finding in found["findings"])
    with run.ledger() as ledger:
        assert ledger.looks() == [3]


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
        resume(run.path, ["n_trials=3"], trust=True)
    assert str(error.value) == (
        "the files of agent steady have changed since this run began; its finished trials belong to the old ones. "
        "Put the old files back, or start a new run."
    )
    assert run.config().n_trials == 2
    changed.write_text(original[changed])
    assert resume(run.path, ["n_trials=3"]).complete


def test_progress_counts_what_earlier_sessions_have_done(tmp_path: Path, examine: Examine) -> None:
    world = tmp_path / "world"
    keys = {"tasks": [task(), odd_task(kwargs={"file": str(world)})], "n_trials": 3, "limits": {"retries": 0}}
    run = examine(agents=[{"name": "zero", "policy": "zero"}], **keys)
    seen: list[AgentProgress] = []
    world.touch()
    resume(run.path, ["n_trials=4"], Hooks(lambda p: seen.append(replace(p.agents["zero"]))))
    results = [result for result in run.results() if result.trial.index < 3]
    won = sum(bool(result.success) for result in results if result.outcome.scored)
    assert (seen[0].scored, seen[0].successes, seen[0].unscored) == (3, won, 3)
    assert (seen[-1].scored, seen[-1].unscored) == (5, 3)
    assert resume(run.path).progress.unscored == 3, "also where nothing is left to run"


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
    with pytest.raises(InputError, match=f"record of trial noisy/toy/0002, {lost}, is damaged: it is missing"):
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
    first, second = run.environment().sessions
    assert "warnings" not in first
    assert second["warnings"] == [f"numpy was {first['versions']['numpy']} when this run began and is 9.9 now"]
    assert first["seconds"] > 0
    assert second["seconds"] > 0
    caution = {"level": "caution", "text": f"{second['warnings'][0]}: trials of the two sessions may differ."}
    assert run.report()["findings"].count(caution) == 1
    score(run.path)
    assert run.report()["findings"].count(caution) == 1, "scoring again forgets nothing"


def test_a_session_without_trials_makes_none_differ(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    run = examine(n_trials=1)
    real = environment.versions
    monkeypatch.setattr(environment, "versions", lambda: {**real(), "numpy": "9.9"})
    resume(run.path)
    assert not [f for f in run.report()["findings"] if "two sessions" in f["text"]]


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


def test_what_a_writer_left_when_it_died_is_removed(examine: Examine) -> None:
    run = examine()
    kept = sorted(path.name for path in (run.path / "trials").iterdir())
    (run.path / "trials" / f"{kept[0]}.tmp").write_bytes(b"half")
    (run.path / ".report.html.17.tmp").write_bytes(b"half")
    resume(run.path)
    assert sorted(path.name for path in (run.path / "trials").iterdir()) == kept
    assert not list(run.path.glob("*.tmp")) + list(run.path.glob(".*.tmp"))


def test_options_in_a_damaged_config_are_named(examine: Examine) -> None:
    run = examine()
    text = (run.path / "config.json").read_text()
    (run.path / "config.json").write_text(text.replace('"pad_to": 16', '"pad_to": "1e999"'))
    with pytest.raises(InputError, match=r"options that no agent can have(.|\n)*pad_to"):
        resume(run.path)
