"""The command line as a process of its own: entry points and signals."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from examining import digests, examination, task

from proctor import InputError, Run
from proctor.record.ledger import Ledger


def proctor(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "proctor", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def write(folder: Path, **keys: Any) -> Path:
    path = folder / "exam.yml"
    path.write_text(yaml.safe_dump(examination(folder / "out", **keys)))
    return path


def napping(folder: Path, workers: Any) -> subprocess.Popen[str]:
    """A run of a few seconds, returned when it has finished its first trials."""
    path = write(folder, tasks=[task(kwargs={"nap_s": 0.01})], n_trials=12, workers=workers)
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while _done(folder) < 2:
        assert time.monotonic() < until
        assert process.poll() is None
        time.sleep(0.02)
    return process


def _done(folder: Path) -> int:
    """Trials that are finished; 0 also while the folder is still being made."""
    for path in (folder / "out").glob("*/ledger.sqlite"):
        with contextlib.suppress(InputError), Ledger.open(path) as ledger:
            return ledger.counts()[1]
    return 0


@pytest.mark.parametrize(("workers", "number"), [("inline", signal.SIGINT), (2, signal.SIGTERM)])
def test_an_interrupted_run_says_how_to_go_on_and_can(tmp_path: Path, workers: Any, number: int) -> None:
    process = napping(tmp_path, workers)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    (folder,) = (tmp_path / "out").iterdir()
    assert process.returncode == 130
    assert "stopping: finished trials are being written (again to stop at once)" in err
    assert "Traceback" not in err
    assert out.splitlines()[-1] == f"to go on: proctor resume {folder}"
    done = _done(tmp_path)
    assert 2 <= done < 12
    assert f"{done} of 12 trials done" in out
    resumed = proctor("resume", folder, "--json", "-q")
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["done"] == 12
    assert len(digests(Run.open(folder))) == 12


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = proctor("run", write(tmp_path, n_trials=1), "-q")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "1 of 1 trials done" in done.stdout


def test_errors_come_without_a_traceback(tmp_path: Path) -> None:
    done = proctor("run", write(tmp_path, agents=[{"policy": "nowhere.py:Policy"}]))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert "nowhere.py" in done.stderr
    assert "Traceback" not in done.stderr
