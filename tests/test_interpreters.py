"""What lies in the working directory, beside the script or beside the config hides nothing that is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from proctor.interpreters import ROOT, command, search_path

HIDDEN = ("random", "secrets", "numpy", "gymnasium", "pickle", "socket", "proctor_absent")
"""Modules of Python, of packages that Proctor needs, and one that nobody asks for."""

ENVIRONMENT = """
import gymnasium
import numpy as np
from neighbour import LENGTH

class Room(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = LENGTH
        return self.np_random.normal(size=1).astype(np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.zeros(1, np.float32), 1.0, self.left == 0, False, {"success": True}

gymnasium.register("Room-v0", Room)
"""

POLICY = """
import numpy as np
from neighbour import LENGTH
from proctor import Policy

class Make(Policy):
    def act(self, batch):
        return np.zeros((len(batch), 1), np.float32)
"""


def lay_traps(folder: Path) -> None:
    """Files with the names of modules: each leaves a file beside it when it is run, and raises."""
    folder.mkdir(exist_ok=True)
    for name in HIDDEN:
        trap = f"open({str(folder / 'sprung')!r}, 'a').write({name!r})\nraise SystemExit('{name}.py was imported')\n"
        (folder / f"{name}.py").write_text(trap)


def write_config(folder: Path) -> None:
    (folder / "my_policy.py").write_text(POLICY)
    (folder / "my_rooms.py").write_text(ENVIRONMENT)
    (folder / "neighbour.py").write_text("LENGTH = 3\n")
    config = {
        "agents": [{"name": "mine", "policy": "my_policy:Make"}],
        "tasks": [{"suite": "gymnasium", "name": "room", "options": {"id": "my_rooms.py:Room-v0"}}],
        "n_trials": 2, "num_parallel": 2, "workers": 1, "scoring": "success", "output_root": "out",
    }  # fmt: skip
    (folder / "exam.yml").write_text(yaml.safe_dump(config))


def run(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(arguments, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    "proctor", [[str(Path(sys.executable).with_name("proctor"))], [sys.executable, "-m", "proctor"]], ids=["it", "-m"]
)
def test_traps_in_the_working_directory_and_beside_the_config_are_not_imported(
    tmp_path: Path, proctor: list[str]
) -> None:
    config, here = tmp_path / "config", tmp_path / "here"
    for folder in (config, here):
        lay_traps(folder)
    write_config(config)
    run([*proctor, "run", "../config/exam.yml", "--quiet"], here)
    run([*proctor, "run", "exam.yml", "--quiet"], config)
    for folder in (here, config):
        assert not (folder / "sprung").exists(), (folder / "sprung").read_text()


def test_traps_beside_a_script_are_not_imported_by_its_workers(tmp_path: Path) -> None:
    """The script itself is run by Python, which looks beside it first: it moves that folder out of the way."""
    lay_traps(tmp_path)
    write_config(tmp_path)
    (tmp_path / "script.py").write_text(
        "import sys\nfolder = sys.path.pop(0)\n"
        "from proctor import load_config, run_evaluation\n"
        "cfg = load_config('exam.yml')\nsys.path.insert(0, folder)\n"
        "print(len(list(run_evaluation(cfg).results())))\n"
    )
    assert run([sys.executable, "script.py"], tmp_path).stdout.strip() == "2"
    assert not (tmp_path / "sprung").exists()


def test_the_doctor_looks_for_what_is_installed(tmp_path: Path) -> None:
    (tmp_path / "mujoco.py").write_text("open('sprung', 'w')\nraise SystemExit('mujoco.py was imported')\n")
    subprocess.run([sys.executable, "-m", "proctor", "doctor"], cwd=tmp_path, capture_output=True, check=False)
    assert not (tmp_path / "sprung").exists()


def path_in(folder: Path, *arguments: str, **variables: str) -> list[str]:
    """Where an interpreter that is started in this folder has others look."""
    code = "from proctor.interpreters import search_path; print(*search_path(), sep='\\n')"
    (folder / "look.py").write_text(code)
    return run([sys.executable, *(arguments or ("-c", code))], folder, **variables).stdout.splitlines()


@pytest.mark.parametrize("arguments", [(), ("look.py",), ("-m", "look")])
def test_the_folder_that_python_put_in_front_comes_last(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    folder = tmp_path.resolve()
    path = path_in(folder, *arguments, PYTHONPATH="")
    assert path.index(str(folder)) == len(path) - 1
    assert path.count(str(folder)) == 1
    assert "" not in path


def test_a_safe_path_stays_without_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert str(tmp_path.resolve()) not in path_in(tmp_path, PYTHONSAFEPATH="1", PYTHONPATH="")


def test_a_folder_that_pythonpath_names_stays_in_front(tmp_path: Path) -> None:
    folder = str(tmp_path.resolve())
    assert path_in(tmp_path, PYTHONPATH=folder)[0] == folder


def test_another_interpreter_looks_where_this_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path / "lib'rary")
    done = subprocess.run(command("print(sys.path == eval(sys.argv[1]))", repr(search_path())), capture_output=True)
    assert done.stdout == b"True\n"


def test_this_package_is_found_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["/nowhere"])
    assert search_path() == ["/nowhere", ROOT]


def test_an_interruption_while_modules_are_imported_is_silent(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    program = "from proctor.__main__ import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
