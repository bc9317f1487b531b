"""The run folder: never one that exists, one process at a time, errors that say what it is not."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.errors import InputError, RunError
from proctor.record.rundir import RunDir
from proctor_host.episode import Outcome
from proctor_host.npz import write_npz
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

NOW = datetime(2026, 2, 3, 4, 5, 6)


def config(root: Path, name: str = "exam") -> EvalConfig:
    return EvalConfig(
        name=name,
        agents=(AgentCfg(name="a", policy="zero"),),
        tasks=(TaskCfg(suite="gymnasium", name="t"),),
        output_root=str(root),
    )


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir.create(config(tmp_path), NOW)


def test_two_runs_of_the_same_second_get_two_folders(tmp_path: Path) -> None:
    runs = [RunDir.create(config(tmp_path), NOW) for _ in range(3)]
    names = ["20260203-040506_exam", "20260203-040506_exam-2", "20260203-040506_exam-3"]
    assert [r.path.name for r in runs] == names


@pytest.mark.parametrize(("name", "folder"), [("a/../b c", "a_.._b_c"), ("..", "run"), ("ppo-1.2", "ppo-1.2")])
def test_a_run_is_named_like_a_file(tmp_path: Path, name: str, folder: str) -> None:
    run = RunDir.create(config(tmp_path, name), NOW)
    assert run.path == tmp_path / f"20260203-040506_{folder}"


def test_the_config_comes_back(tmp_path: Path, run: RunDir) -> None:
    assert RunDir.open(run).config() == config(tmp_path)
    assert RunDir.open(str(run.path)).config() == config(tmp_path)


def test_an_output_root_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as error:
        RunDir.create(config(tmp_path / "file" / "below"), NOW)
    assert str(error.value).startswith(f"cannot make a run folder under output_root {tmp_path}/file/below: ")


def test_what_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        RunDir.open(tmp_path / "nowhere")
    assert str(error.value) == f'there is no run folder "{tmp_path / "nowhere"}"'
    with pytest.raises(InputError) as error:
        RunDir.open(tmp_path)
    assert str(error.value) == f"{tmp_path} is not a run folder: it has no ledger.sqlite"


@pytest.mark.parametrize("content", [None, "{", '{"agents": 3}'])
def test_a_config_that_cannot_be_read(run: RunDir, content: str | None) -> None:
    path = run.path / "config.json"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(InputError) as error:
        run.config()
    assert str(error.value).startswith(f"{path} cannot be read as a config of this version: ")


def test_no_report_yet(run: RunDir) -> None:
    with pytest.raises(InputError) as error:
        run.report()
    assert str(error.value) == f"{run.path} has no report.json yet; `proctor report {run.path}` writes it"


# Records ---------------------------------------------------------------------------------------------------


def result(npz: str | None) -> TrialResult:
    return TrialResult(Trial("a", "t", 0, 1), Outcome.SUCCESS, True, 1, 1, 0.0, 10, npz=npz)


def test_an_episode_is_read_from_its_record(run: RunDir) -> None:
    write_npz(run.path / "trials" / "x.npz", {"rewards": np.ones(3)})
    episode = run.episode(result("trials/x.npz"))
    assert (episode.n_steps, episode.task, episode.max_steps) == (3, "t", 10)


def test_a_record_that_is_not_there_or_not_whole(run: RunDir) -> None:
    with pytest.raises(InputError) as error:
        run.episode(result(None))
    text = "trial a/t/0000 has no recorded arrays (`record: summary`, or it was not scored)"
    assert str(error.value) == text
    path = run.path / "trials" / "x.npz"
    for content in (None, b"", b"half a file"):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError) as error:
            run.episode(result("trials/x.npz"))
        start = (
            f"the record of trial a/t/0000, {path}, is damaged: it is missing. "
            if content is None
            else (f"the record of trial a/t/0000 cannot be read: {path}: ")
        )
        assert str(error.value).startswith(start)


# The lock --------------------------------------------------------------------------------------------------


def test_the_second_holder_is_refused_and_told_who_has_it(run: RunDir) -> None:
    with run.locked(), pytest.raises(RunError) as error, RunDir.open(run.path).locked():
        pass
    assert str(error.value).startswith(f"{run.path} is in use by process {os.getpid()} on ")
    assert str(error.value).endswith(f"stop it and then: proctor resume {run.path}")
    with run.locked():
        pass


def test_the_lock_goes_with_its_process_however_that_ends(run: RunDir) -> None:
    holding = (
        "import sys, time; from proctor import Run\n"
        "with Run.open(sys.argv[1]).locked(): print('held', flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", holding, str(run.path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(RunError, match=f"in use by process {process.pid} on "), run.locked():
            pass
        process.kill()
        process.wait()
    with run.locked():
        assert f"process {os.getpid()} on" in (run.path / "lock").read_text()
    assert (run.path / "lock").read_text() == ""


def test_an_error_under_the_lock_gives_it_back(run: RunDir) -> None:
    with pytest.raises(KeyError), run.locked():
        raise KeyError
    with run.locked():
        pass
