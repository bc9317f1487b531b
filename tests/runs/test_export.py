"""Episodes for other tools: every number arrives, in the format that the tool reads."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import examination, policy
from telling import Tell

from proctor import Run, config_from_dict, run_evaluation
from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.runs.export import Choice, chosen, write_csv, write_lerobot, write_rerun


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    agents = [policy("Noisy"), policy("Linear")]
    keys = examination(tmp_path_factory.mktemp("runs"), n_trials=2, agents=agents, record={"observations": True})
    return run_evaluation(config_from_dict(keys))


def test_a_csv_file_has_every_number_of_every_step(run: Run, tmp_path: Path) -> None:
    assert write_csv(chosen(run, Choice()), tmp_path / "all.csv") == []
    with open(tmp_path / "all.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(result.steps_total or 0 for result in run.results())
    for result in run.results():
        own = [row for row in rows if (row["agent"], row["index"]) == (result.trial.agent, str(result.trial.index))]
        signals = run.signals(result)
        assert [float(row["rewards"]) for row in own] == signals["rewards"].tolist()
        assert [int(row["step"]) for row in own] == list(range(1, len(own) + 1))
        for name in ("actions", "observations"):
            flat = signals[name][: len(own)].reshape(len(own), -1)
            columns = [name] if signals[name].ndim == 1 else [f"{name}[{i}]" for i in range(flat.shape[1])]
            np.testing.assert_array_equal([[float(row[column]) for column in columns] for row in own], flat)


def test_a_constant_with_a_row_per_step_of_one_trial_is_no_signal(run: Run) -> None:
    class Odd(RunDir):
        def episode(self, result: Any) -> Any:
            found = super().episode(result)
            target = np.zeros(found.n_steps if result.trial.index == 0 else found.n_steps + 1)
            return replace(found, arrays={**found.arrays, "target": target})

    episodes = chosen(Odd(run.path), Choice(agents=("noisy",)))
    assert all("target" in recorded.constants for recorded in episodes)


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(agents=("nosy",)), 'no agent "nosy" in this run; it has noisy, linear.*noisy'),
        (Choice(tasks=("x",)), 'no task "x"'),
        (Choice(outcomes=("lost",)), 'no outcome "lost" in this run; it has'),
        (Choice(filmed=True), "has no such trial among the 4 that are finished"),
        (Choice(trials=("noisy/toy/0077",)), "no finished trial"),
    ],
)
def test_what_is_not_there_is_said(run: Run, choice: Choice, said: str) -> None:
    with pytest.raises(InputError, match=said):
        chosen(run, choice)


def test_rerun_reads_what_was_written(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    path = tmp_path / "two.rrd"
    write_rerun(chosen(run, Choice(agents=("linear",))), path)
    tool = str(Path(sys.executable).with_name("rerun"))
    checked = subprocess.run([tool, "rrd", "verify", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    shown = subprocess.run([tool, "rrd", "stats", path], capture_output=True, text=True, check=True).stdout
    for index in range(2):
        for name in ("actions", "rewards", "observations"):
            assert f"/linear/toy/{index:04d}/{name}" in shown, name
    assert not list(tmp_path.glob("*.tmp"))


def test_a_data_set_has_the_episodes_one_after_the_other(run: Run, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    write_lerobot(chosen(run, Choice()), tmp_path / "set")
    info = json.loads((tmp_path / "set/meta/info.json").read_text())
    data = pq.read_table(tmp_path / "set/data/chunk-000/file-000.parquet")
    episodes = pq.read_table(tmp_path / "set/meta/episodes/chunk-000/file-000.parquet").to_pylist()
    results = list(run.results())
    assert info["codebase_version"] == "v3.0"
    assert (info["total_episodes"], info["total_frames"]) == (len(results), data.num_rows)
    assert set(data.column_names) == set(info["features"])
    assert data["index"].to_pylist() == list(range(data.num_rows))
    for row, result in zip(episodes, results, strict=True):
        part = data.slice(row["dataset_from_index"], row["length"])
        signals = run.signals(result)
        seen = np.array(part["observation.state"].to_pylist()).reshape(row["length"], -1)
        np.testing.assert_array_equal(seen, signals["observations"][:-1].reshape(row["length"], -1).astype(np.float32))
        np.testing.assert_array_equal(part["next.reward"].to_pylist(), signals["rewards"].astype(np.float32))
        assert part["next.done"].to_pylist() == [False] * (row["length"] - 1) + [True]
        assert row["proctor/trial"] == result.trial.key
    stats = json.loads((tmp_path / "set/meta/stats.json").read_text())
    np.testing.assert_allclose(stats["next.reward"]["mean"], [np.mean(data["next.reward"].to_pylist())], rtol=1e-6)


def test_a_folder_with_something_in_it_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(InputError, match="is not empty; name a new folder"):
        write_lerobot(chosen(run, Choice()), tmp_path)
    assert (tmp_path / "mine").read_text() == "kept"


def test_the_command_writes_and_leaves_the_run_as_it_was(run: Run, tell: Tell, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    answer = tell("export", run.path, "linear/toy/0001", "--csv", tmp_path / "one.csv")
    assert answer.code == 0, answer.err
    assert f"1 trial: {tmp_path / 'one.csv'}" in answer.out
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before
    answer = tell("export", run.path)
    assert (answer.code, "say what to write: --csv FILE" in answer.err) == (2, True)
