"""What lies beside a config can be imported by everything that the config names, in workers too, and hides nothing."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

from proctor import interpreters, load_config, run_evaluation
from proctor.config.code import code_of, module_folders
from proctor.interpreters import search_last
from proctor.policies import load_policy
from proctor.policies.protocol import SpaceInfo
from proctor.registry import import_object
from proctor.runs.check import check
from proctor.runs.replay import replay
from proctor.runs.untrusted import untrusted_code

IDS = """
import gymnasium
gymnasium.register("Beside-v0", "beside_rooms:Room")
"""
ROOMS = """
import gymnasium
import numpy as np

class Room(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 3
        return self.np_random.uniform(-1, 1, 1).astype(np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.zeros(1, np.float32), 1.0, self.left == 0, False, {"success": True}
"""
POLICY = "def act(obs):\n    return obs\n"


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    """Leaves path and modules as they were."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(interpreters, "_ASKED_FOR", {})
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "beside" in name:
            del sys.modules[name]
    import gymnasium

    gymnasium.registry.pop("Beside-v0", None)


@pytest.fixture
def write(tmp_path):
    def make(**more):
        for name, text in (("beside_ids", IDS), ("beside_rooms", ROOMS), ("beside_policy", POLICY)):
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        task = {"suite": "gymnasium", "options": {"id": "Beside-v0", "imports": ["beside_ids"]}, **more.pop("task", {})}
        raw = {
            "agents": [{"name": "a", "policy": "beside_policy:act"}],
            "tasks": [task],
            "n_trials": 1,
            "output_root": str(tmp_path / "runs"),
            **more,
        }
        (tmp_path / "c.yml").write_text(yaml.safe_dump(raw))
        return tmp_path / "c.yml"

    return make


@pytest.mark.parametrize(
    "more",
    [
        {"workers": "inline"},
        {"workers": {"kind": "process", "count": 1}},
        {"task": {"runtime": {"python": sys.executable}}},
    ],
    ids=["inline", "process", "host"],
)
def test_an_entry_point_beside_the_config_is_found(write, more):
    run = run_evaluation(load_config(write(**more)))
    (result,) = run.results()
    assert result.error is None
    assert result.outcome.value == "success"


def test_a_folder_hides_nothing(write):
    config = write(workers={"kind": "process", "count": 1})
    for name in ("random", "secrets", "gymnasium"):
        (config.parent / f"{name}.py").write_text("raise RuntimeError('hijacked')\n")
    (result,) = run_evaluation(load_config(config)).results()
    assert result.error is None


def test_a_run_remembers_the_folder(write):
    path = write(workers="inline")
    config, config_folder = load_config(path), path.parent
    assert config.python_path == (str(config_folder),)
    run = run_evaluation(config)
    sys.path[:] = [entry for entry in sys.path if entry != str(config_folder)]
    for name in [name for name in sys.modules if "beside" in name]:
        del sys.modules[name]
    assert replay(run.path, "a/Beside-v0/0000").equal


def test_check_and_the_list_of_untrusted_code_see_the_same_files(write):
    path = write()
    listed = {entry.file for entry in untrusted_code(path)}
    assert {str(path.parent / f"{name}.py") for name in ("beside_ids", "beside_policy")} <= listed
    assert check(load_config(path)).problems == []


def test_a_file_runs_once_whatever_it_is_called(write):
    """As a file of the config and by its name as a module: a second run would register its ids again."""
    path = write(workers="inline", task={"options": {"id": "Beside-v0", "imports": ["beside_ids.py", "beside_ids"]}})
    load_config(path)
    run_evaluation(load_config(path))
    assert load_config(path) == load_config(path)


def test_a_config_without_code_adds_nothing_to_the_path(tmp_path):
    """So that a run of somebody else, which names none, cannot bring modules of its own."""
    (tmp_path / "c.yml").write_text("agents: [{policy: random}]\ntasks: [CartPole-v1]\n")
    config = load_config(tmp_path / "c.yml")
    assert code_of(config) == []
    assert module_folders(config) == ()


def test_the_folder_is_among_the_code_that_must_be_trusted(write):
    config = load_config(write())
    assert [code.target for code in code_of(config) if code.where == "python_path.0"] == [config.python_path[0]]


def test_pickled_modules_find_their_classes(tmp_path):
    torch = pytest.importorskip("torch")
    from gymnasium import spaces

    (tmp_path / "beside_nets.py").write_text("from torch import nn\nclass Net(nn.Linear):\n    pass\n")
    sys.path.append(str(tmp_path))
    import beside_nets  # type: ignore[import-not-found]

    torch.save(beside_nets.Net(2, 1), tmp_path / "net.pt")
    sys.path.remove(str(tmp_path))
    del sys.modules["beside_nets"]
    agent = "{name: a, checkpoint: net.pt, options: {trust: true}}"
    (tmp_path / "c.yml").write_text(f"agents: [{agent}]\ntasks: [CartPole-v1]\n")
    config = load_config(tmp_path / "c.yml")
    search_last(module_folders(config))
    box = SpaceInfo({"t": spaces.Box(-1, 1, (2,))}, {"t": spaces.Box(-9, 9, (1,))})
    assert type(load_policy(config.agents[0], box).module).__name__ == "Net"


def test_a_file_of_an_imported_package_does_not_make_a_second_copy_of_it(tmp_path: Path, monkeypatch) -> None:
    """A package's own folder gets on the path when a file in it is named; the package is still found above it."""
    package = tmp_path / "beside_pack"
    package.mkdir()
    for name in ("__init__", "one", "two"):
        (package / f"{name}.py").write_text("FOUND = []\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import_object("beside_pack/one.py:FOUND", tmp_path)
    module = importlib.import_module("beside_pack.two")
    assert import_object("beside_pack.two:FOUND", tmp_path) is module.FOUND


def test_a_package_beside_the_config_is_imported_once_also_where_its_folder_was_asked_for(tmp_path: Path) -> None:
    package = tmp_path / "beside_twice"
    package.mkdir()
    for name in ("__init__", "one"):
        (package / f"{name}.py").write_text("FOUND = []\n")
    search_last([str(tmp_path)])
    module = importlib.import_module("beside_twice.one")
    assert import_object("beside_twice.one:FOUND", tmp_path) is module.FOUND
