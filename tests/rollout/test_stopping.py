"""A run that may stop early stops at the same trial with the same verdict, however it is run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from examining import by_key, examination, policy, task, timeless

from proctor import CancelToken, InputError, Run, config_from_dict
from proctor.rollout import engine
from proctor.runs.resume import resume
from proctor.runs.session import Hooks, RunEnd
from proctor.runs.start import start

Examine = Callable[..., Run]
PAIR = {"agents": [policy("Upward"), {"name": "idle", "policy": "zero"}], "n_trials": 80}
COMPARE = {**PAIR, "stop_when": {"compare": ["upward", "idle"]}}
NARROW = {**PAIR, "stop_when": {"interval_width": 0.5}}


def stopping(run: Run) -> list[dict[str, Any]]:
    return run.report()["stopping"]["tests"]


def in_verdict(run: Run) -> dict[str, bool]:
    """What the verdict is made of, trial by trial."""
    return {key: result.success for key, result in by_key(run).items() if not result.after_stop}


def rates(run: Run) -> list[Any]:
    return [(agent["agent"], agent["success"]) for agent in run.report()["agents"]]


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("serial")
    return start(config_from_dict(examination(root, **COMPARE, num_parallel=1))).run


def test_the_comparison_of_this_page_stops_early(serial: Run) -> None:
    (found,) = stopping(serial)
    assert found["stopped"]
    assert found["better"] == "upward"
    assert 3 < found["n"] < 60
    assert found["interval"][0] >= 0
    assert len(in_verdict(serial)) == 2 * found["n"]


@pytest.mark.parametrize(("num_parallel", "workers"), [(3, "inline"), (16, "inline"), (3, 1), (16, 2)])
def test_it_stops_at_the_same_trial(examine: Examine, serial: Run, num_parallel: int, workers: Any) -> None:
    run = examine(**COMPARE, num_parallel=num_parallel, workers=workers)
    assert stopping(run) == stopping(serial)
    assert in_verdict(run) == in_verdict(serial)
    assert rates(run) == rates(serial)


def test_slow_episodes_change_the_order_of_ends_and_nothing_else(examine: Examine, serial: Run) -> None:
    slow = examine(**COMPARE, tasks=[task(kwargs={"nap_s": 0.002})], num_parallel=12, workers=2)
    assert stopping(slow) == stopping(serial)
    assert in_verdict(slow) == in_verdict(serial)


def test_tasks_are_read_in_turn(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WATCH_S", 0.0)  # results are read at once
    two = {**COMPARE, "tasks": [task(), {**task(kwargs={"scale": 0.5}), "name": "weak", "n_trials": 7}]}
    one_by_one, many = examine(**two, num_parallel=1), examine(**two, num_parallel=16)
    assert stopping(one_by_one) == stopping(many)
    assert in_verdict(one_by_one) == in_verdict(many)
    read = [key.split("/")[1] for key in in_verdict(many)]
    assert read.count("weak") == 14
    assert len(list(one_by_one.results())) <= len(read) + 8, "a task does not run ahead of another"


def cancelled_after(count: int, raw: dict[str, Any]) -> RunEnd:
    token = CancelToken()

    def watch(progress: Any) -> None:
        if progress.done >= count:
            token.cancel()

    return start(config_from_dict(raw), Hooks(progress=watch, cancel=token))


@pytest.mark.parametrize("count", [1, 12])
def test_an_interrupted_run_stops_where_an_undisturbed_one_does(tmp_path: Path, serial: Run, count: int) -> None:
    raw = examination(tmp_path, **COMPARE, num_parallel=3, workers=1)
    raw["tasks"] = [task(kwargs={"nap_s": 0.004})]
    first = cancelled_after(count, raw)
    assert not first.complete
    finished = resume(first.run.path)
    assert finished.complete
    assert stopping(finished.run) == stopping(serial)
    assert in_verdict(finished.run) == in_verdict(serial)


def test_a_killed_run_stops_where_an_undisturbed_one_does(tmp_path: Path, serial: Run) -> None:
    root, config = tmp_path / "killed", tmp_path / "config.yml"
    keys = {**COMPARE, "tasks": [task(kwargs={"nap_s": 0.004})], "num_parallel": 6, "workers": 2}
    config.write_text(yaml.safe_dump(examination(root, **keys)))
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not any(done(folder) for folder in root.glob("*/ledger.sqlite")) and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    process.wait()
    (folder,) = root.iterdir()
    finished = resume(folder)
    assert stopping(finished.run) == stopping(serial)
    assert in_verdict(finished.run) == in_verdict(serial)


def done(ledger: Path) -> int:
    try:
        return len(list(Run(ledger.parent).results()))
    except InputError:
        return 0


def test_a_stopped_run_is_complete_and_resume_runs_nothing(tmp_path: Path) -> None:
    finished = start(config_from_dict(examination(tmp_path, **COMPARE)))
    assert finished.complete
    assert finished.progress.done < finished.progress.planned
    before = timeless(finished.run)
    again = resume(finished.run.path)
    assert again.complete
    assert again.progress.done == finished.progress.done
    assert timeless(again.run) == before


def test_the_exit_code_of_a_stopped_run_is_0(tmp_path: Path) -> None:
    config = tmp_path / "config.yml"
    config.write_text(yaml.safe_dump(examination(tmp_path / "runs", **COMPARE)))
    command = [sys.executable, "-m", "proctor", "run", str(config), "--json", "--quiet"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["complete"]


def test_other_agents_go_on_to_their_last_trial(examine: Examine) -> None:
    agents = [policy("Noisy"), *PAIR["agents"]]
    run = examine(**{**COMPARE, "agents": agents, "n_trials": 40}, limits={"max_loaded_agents": 2})
    counts = {agent["agent"]: agent["finished"] for agent in run.report()["agents"]}
    assert counts["noisy"] == 40
    assert counts["upward"] == counts["idle"] < 40


def test_each_agent_stops_when_its_interval_is_narrow(examine: Examine) -> None:
    runs = [examine(**NARROW, num_parallel=n, workers=w) for n, w in [(1, "inline"), (16, "inline"), (7, 2)]]
    assert stopping(runs[0]) == stopping(runs[1]) == stopping(runs[2])
    assert in_verdict(runs[0]) == in_verdict(runs[1]) == in_verdict(runs[2])
    for found in stopping(runs[0]):
        assert found["stopped"]
        assert found["interval"][1] - found["interval"][0] <= 0.5
        assert found["n"] < 80


def test_unscored_trials_are_skipped_pair_by_pair_and_counted(examine: Examine) -> None:
    broken = task(kwargs={"trouble": "reset", "seeds": [124, 126]})
    runs = [examine(**COMPARE, tasks=[broken], num_parallel=n, limits={"retries": 0}) for n in (1, 16)]
    assert stopping(runs[0]) == stopping(runs[1])
    assert stopping(runs[0])[0]["skipped"] == 2
    assert any("Skipped for unscored trials: 2 pairs." in f["text"] for f in runs[0].report()["findings"])


def test_what_is_run_beyond_the_stop_is_marked_and_in_no_rate(examine: Examine) -> None:
    run = examine(**COMPARE, num_parallel=16)
    after = [key for key, result in by_key(run).items() if result.after_stop]
    assert after, "16 at once overshoot"
    rows = {(row["agent"], row["trial"]): row["after_stop"] for row in timeless(run)}
    assert sum(value == "1" for value in rows.values()) == len(after)
    report = run.report()
    assert report["trials"]["finished"] == len(rows)
    assert sum(agent["n"] for agent in report["agents"]) == len(rows) - len(after)
    assert sum(report["stopping"]["trials_after_stop"].values()) == len(after)
    assert not any("planned trials are finished" in finding["text"] for finding in report["findings"])


def test_a_comparison_that_is_not_settled_runs_to_its_end_and_says_so(examine: Examine) -> None:
    twins = [policy("Linear"), {**policy("Linear"), "name": "twin"}]
    run = examine(agents=twins, n_trials=6, stop_when={"compare": ["linear", "twin"], "max_trials": 4})
    (found,) = stopping(run)
    assert (found["stopped"], found["n"], found["better"]) == (True, 4, None)
    assert (
        "linear against twin went on to the maximum of 4 of at most 4 pairs of trials without a settled difference"
        in (" ".join(finding["text"] for finding in run.report()["findings"]))
    )


def test_the_number_of_trials_was_declared(examine: Examine) -> None:
    run = examine(**COMPARE)
    with pytest.raises(InputError, match="n_trials may not grow: the test was declared for that many"):
        resume(run.path, ["n_trials=100"])


def test_a_shard_cannot_stop_early(tmp_path: Path) -> None:
    from proctor import run_evaluation

    with pytest.raises(InputError, match="a shard cannot follow stop_when"):
        run_evaluation(config_from_dict(examination(tmp_path, **COMPARE)), shard="1/2")
    assert not list(tmp_path.iterdir())


def test_three_agents_are_compared_by_score_and_stop_alike_however_they_run(examine: Examine) -> None:
    agents = [policy("Upward"), {"name": "idle", "policy": "zero"}, policy("Noisy")]
    rule = {"compare": ["upward", "idle", "noisy"], "on": "score", "max_trials": 40}
    runs = [
        examine(agents=agents, n_trials=40, stop_when=rule, num_parallel=many, workers=workers)
        for many, workers in ((1, "inline"), (12, 2))
    ]
    assert stopping(runs[0]) == stopping(runs[1])
    assert in_verdict(runs[0]) == in_verdict(runs[1])
    assert [found["agents"] for found in stopping(runs[0])] == [
        ["upward", "idle"],
        ["upward", "noisy"],
        ["idle", "noisy"],
    ]
    assert {(found["measure"], found["family"]) for found in stopping(runs[0])} == {("score", 3)}
    assert any(found["better"] for found in stopping(runs[0]))
