"""From YAML to a resolved config: laws of the result, and how names, globs and paths are filled in."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.config import ConfigError, EvalConfig, config_from_dict, load_config
from proctor.config.paths import natural_key

MINIMAL = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"]}

FULL = """
name: full
agents:
  - {name: rnd, policy: random, options: {pad_to: 4}}
  - {policy: "ctl.py:PD", options: {kwargs: {gain: 1e-3, file: x.txt, table: ./x.txt}}}
  - {policy: local_module:Make, options: {normalize: {file: stats.npz}}}
tasks:
  - CartPole-v1
  - CartPole-v1
  - {suite: gymnasium, name: mine, success_rule: ever, options: {id: "envs.py:My-v0", wrappers: ["ctl.py:W"],
     success: {function: "ctl.py:won"}, imports: [envs.py], signals: [info.x, "env.data.qpos[2]"]}}
workers: 3
record: summary
scoring: {mode: "ctl.py:score", metrics: ["ctl.py:M"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("ctl.py", "envs.py", "local_module.py", "stats.npz", "x.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "full.yml").write_text(FULL)
    return tmp_path


def test_json_of_a_config_reads_back_equal(folder):
    config = load_config(folder / "full.yml")
    raw = json.loads(config.model_dump_json())
    assert EvalConfig.model_validate(raw) == config
    assert config_from_dict(raw) == config


def test_resolving_does_not_depend_on_the_working_directory(folder, monkeypatch):
    here = load_config(folder / "full.yml")
    monkeypatch.chdir(folder)
    assert load_config("full.yml") == here
    assert config_from_dict({**MINIMAL, "agents": [{"policy": "ctl.py:PD"}]}).agents[0].policy == f"{folder}/ctl.py:PD"


def test_the_raw_dict_is_not_changed():
    before = json.dumps(MINIMAL)
    config_from_dict(MINIMAL, overrides=["agents.0.device=cuda"])
    assert json.dumps(MINIMAL) == before


def test_paths_become_absolute_and_foreign_keyword_arguments_stay(folder):
    config = load_config(folder / "full.yml")
    rnd, pd, made = config.agents
    assert pd.policy == f"{folder}/ctl.py:PD"
    assert pd.options["kwargs"] == {"gain": 1e-3, "file": "x.txt", "table": f"{folder}/x.txt"}
    assert made.policy == f"{folder}/local_module.py:Make"
    assert made.options["normalize"]["file"] == f"{folder}/stats.npz"
    mine = config.task("mine").options
    assert mine["id"] == f"{folder}/envs.py:My-v0"
    assert mine["wrappers"][0]["target"] == f"{folder}/ctl.py:W"
    assert mine["success"]["function"] == f"{folder}/ctl.py:won"
    assert mine["imports"] == [f"{folder}/envs.py"]
    assert config.scoring.mode == f"{folder}/ctl.py:score"
    assert config.scoring.metrics == (f"{folder}/ctl.py:M",)
    assert config.output_root == "results/eval_runs"
    assert rnd.options["pad_to"] == 4


def test_names_are_filled_in_and_defaults_written_out(folder):
    config = load_config(folder / "full.yml")
    assert [a.name for a in config.agents] == ["rnd", "PD", "Make"]
    assert [t.name for t in config.tasks] == ["CartPole-v1", "CartPole-v1-2", "mine"]
    assert config.task("mine").options["signals"] == {"x": "info.x", "data.qpos[2]": "env.data.qpos[2]"}
    assert config.agents[0].options["frame_stack"] == 1
    assert config.tasks[0].options["reuse"] is True
    assert (config.workers.kind, config.workers.count) == ("process", 3)
    assert config.record.level == "summary"


def test_an_unnamed_task_makes_way_for_a_given_name():
    tasks = ["CartPole-v1", {"suite": "gymnasium", "name": "CartPole-v1", "options": {"id": "Acrobot-v1"}}]
    config = config_from_dict({**MINIMAL, "tasks": tasks})
    assert [t.name for t in config.tasks] == ["CartPole-v1-2", "CartPole-v1"]


def glob_names(tmp_path: Path, files: list[str], **agent) -> list[str]:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("")
    return [a.name for a in config_from_dict({**MINIMAL, "agents": [agent]}, tmp_path).agents]


def test_a_glob_gives_one_agent_per_file_in_the_order_of_steps(tmp_path):
    files = [f"runs/ckpt_{n}.onnx" for n in (10, 9, 100)]
    assert glob_names(tmp_path, files, checkpoint="runs/*.onnx") == ["ckpt_9", "ckpt_10", "ckpt_100"]
    named = glob_names(tmp_path, files, name="ppo", policy="onnx", checkpoint="runs/*.onnx")
    assert named == ["ppo/ckpt_9", "ppo/ckpt_10", "ppo/ckpt_100"]


def test_equal_stems_are_told_apart_by_their_folders_and_endings(tmp_path):
    assert glob_names(tmp_path, ["r/s2/best.zip", "r/s10/best.zip"], checkpoint="r/*/best.zip") == [
        "s2/best",
        "s10/best",
    ]
    both = glob_names(tmp_path, ["q/a.pt", "q/a.pth"], policy="torch", checkpoint="q/*", options={"module": "m:N"})
    assert both == ["a.pt", "a.pth"]


def test_a_file_with_brackets_in_its_name_is_a_file(tmp_path):
    assert glob_names(tmp_path, ["net[1].onnx"], checkpoint="net[1].onnx") == ["net[1]"]


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=20, unique=True), st.integers(0, 2**31))
def test_natural_order_is_the_order_of_numbers(numbers, seed):
    names = [f"step_{n}_x" for n in numbers]
    random.Random(seed).shuffle(names)
    assert sorted(names, key=natural_key) == [f"step_{n}_x" for n in sorted(numbers)]


def test_the_loader_is_inferred_from_the_ending(tmp_path):
    for name, loader in [("a.onnx", "onnx"), ("b.zip", "sb3")]:
        (tmp_path / name).write_text("")
        agent = config_from_dict({**MINIMAL, "agents": [{"checkpoint": name}]}, tmp_path).agents[0]
        assert (agent.policy, agent.name, agent.checkpoint) == (loader, Path(name).stem, str(tmp_path / name))


def test_paths_numpy_and_tuples_are_taken_from_a_dict(tmp_path):
    import numpy as np

    raw = {
        "agents": ({"policy": "random"},),
        "tasks": ("CartPole-v1",),
        "n_trials": np.int64(3),
        "output_root": tmp_path,
    }
    config = config_from_dict(raw)
    assert (config.n_trials, config.output_root) == (3, str(tmp_path))


def test_a_suite_of_your_own_by_import_string(tmp_path):
    (tmp_path / "suite.py").write_text(
        "from proctor.suites.gymnasium.suite import GymnasiumSuite\n"
        "class Mine(GymnasiumSuite):\n"
        "    name = 'mine'\n"
        "    def task_name(self, options):\n"
        "        return 'named by mine'\n"
    )
    raw = {**MINIMAL, "tasks": [{"suite": "suite.py:Mine", "options": {"id": "CartPole-v1"}}]}
    task = config_from_dict(raw, tmp_path).tasks[0]
    assert (task.suite, task.name) == (f"{tmp_path}/suite.py:Mine", "named by mine")


def test_importing_the_config_imports_nothing_heavy():
    heavy = {"numpy", "gymnasium", "torch", "mujoco", "rich"}
    code = f"import sys, proctor.config; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_config_error_is_an_input_error():
    from proctor.errors import InputError

    with pytest.raises(InputError):
        config_from_dict({})
    assert issubclass(ConfigError, InputError)


@pytest.mark.parametrize("policy", ["random", "sb3"])
def test_a_pair_in_options_is_a_list_whatever_the_loader(tmp_path, policy):
    (tmp_path / "model.zip").write_text("")
    agent = {"policy": policy, "options": {"action_scale": {"clip": [-1, 1]}}}
    agent |= {"checkpoint": "model.zip"} if policy == "sb3" else {}
    found = config_from_dict({**MINIMAL, "agents": [agent]}, tmp_path).agents[0]
    assert found.options["action_scale"]["clip"] == [-1, 1]
