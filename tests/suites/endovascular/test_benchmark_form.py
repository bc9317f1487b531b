"""A benchmark's form: one anatomy, agents that bring their tools. It is a short way to write an examination of one
task, and what is wrong with it is reported where it was written."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import steve_double
from examining import timeless

from proctor import CancelToken, EvalConfig, InputError, Progress, Run, config_from_dict, load_config, run_evaluation
from proctor.config import ConfigError
from proctor.runs.resume import resume

FORM = """\
name: arch_benchmark
agents:
  - name: a
    tool: angled_standard
    checkpoint: a.pt
  - {name: b, tool: j_soft, checkpoint: b.onnx, device: cpu}
  - {name: c, policy: random}
n_trials: 4
base_seed: 9
max_episode_steps: 50
policy_device: cuda
use_non_mp_sim: true
output_root: runs
anatomy:
  type: aortic_arch
  arch_type: "II"
  seed: 3
  target_mode: branch_end
  target_branches: [lcca, lsa]
  target_threshold_mm: 4.0
  image_frequency_hz: 7.5
  image_rot_zx_deg: [25, 0]
  friction: 0.01
scoring:
  mode: default_v1
  w_success: 3.0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name in ("a.pt", "b.onnx"):
        (tmp_path / name).write_text("")
    (tmp_path / "form.yml").write_text(FORM)
    return tmp_path / "form.yml"


@pytest.fixture
def no_sofa(monkeypatch):
    monkeypatch.setattr("proctor.suites.endovascular.forms.sofa_is_there", lambda: False)


def small(folder: Path, **keys: Any) -> dict[str, Any]:
    """A form that runs at once."""
    agents = [{"name": "soft", "tool": "j_soft", "policy": "random"}, {"name": "own", "policy": "zero"}]
    return {"agents": agents, "n_trials": 2, "max_episode_steps": 3, "workers": "inline", "simulator": "embedded",
            "output_root": str(folder), "anatomy": {}, **keys}  # fmt: skip


def problems(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        config_from_dict(raw)
    return [str(problem).removeprefix("config: ") for problem in caught.value.problems]


def test_the_form_is_one_task_and_reads_back_equal(file, no_sofa):
    config = load_config(file)
    (task,) = config.tasks
    assert (task.suite, task.name) == ("endovascular", "arch-II-lcca-lsa")
    assert task.options["anatomy"] == task.options["anatomy"] | {
        "type": "aortic_arch", "arch_type": "II", "seed": 3, "target_mode": "branch_end",
        "target_branches": ["lcca", "lsa"], "target_threshold_mm": 4.0, "image_frequency_hz": 7.5,
        "image_rot_zx_deg": [25.0, 0.0], "friction": 0.01,
    }  # fmt: skip
    assert [(a.name, a.policy, a.task_options.get("tool"), a.device) for a in config.agents] == [
        ("a", "torch", "angled_standard", "cuda"), ("b", "onnx", "j_soft", "cpu"), ("c", "random", None, "cuda"),
    ]  # fmt: skip
    assert (config.n_trials, config.base_seed, config.max_episode_steps, config.output_root) == (4, 9, 50, "runs")
    assert config.scoring.options["w_success"] == 3.0
    raw = json.loads(config.model_dump_json())
    assert EvalConfig.model_validate(raw) == config == config_from_dict(raw)


def test_defaults(no_sofa):
    config = config_from_dict({"agents": [{"policy": "zero"}], "anatomy": {}})
    anatomy = config.tasks[0].options["anatomy"]
    assert (config.n_trials, config.base_seed, config.max_episode_steps) == (10, 123, 1000)
    assert (anatomy["image_frequency_hz"], anatomy["target_threshold_mm"], anatomy["friction"]) == (7.5, 5.0, 0.001)
    assert anatomy["image_rot_zx_deg"] == [20.0, 5.0]


def test_auto_takes_sofa_where_it_can_be_imported(monkeypatch, no_sofa):
    form = {"agents": [{"policy": "zero"}], "anatomy": {}, "use_non_mp_sim": False}
    assert config_from_dict(form).tasks[0].suite == "endovascular"
    monkeypatch.undo()
    steve_double.install(monkeypatch)
    task = config_from_dict(form).tasks[0]
    assert (task.suite, task.options["use_non_mp_sim"]) == ("steve", False)
    assert config_from_dict({**form, "simulator": "embedded"}).tasks[0].suite == "endovascular"


def test_overrides_speak_of_the_form(file, no_sofa):
    config = load_config(file, ["anatomy.arch_type=I", "agents.c.tool=micro", "policy_device=cpu"])
    assert config.tasks[0].options["anatomy"]["arch_type"] == "I"
    assert (config.agents[2].task_options, config.agents[2].device) == ({"tool": "micro"}, "cpu")


def test_options_of_the_simulator_are_the_task_s(no_sofa):
    form = {"agents": [{"policy": "zero"}], "anatomy": {}, "options": {"max_push_n": 3.0}}
    assert config_from_dict(form).tasks[0].options["max_push_n"] == 3.0
    assert problems({**form, "options": 3}) == ["options: found 3; expected a mapping of the simulator's options"]
    assert problems({**form, "options": {"max_push": 1}})[0].startswith("options.max_push: unknown key")


def test_problems_are_reported_where_they_were_written(file, no_sofa):
    text = FORM.replace("tool: j_soft", "tool: j_sof").replace("arch_type:", "arch_tpye:").replace("0.01", "-1")
    file.write_text(text.replace("policy_device: cuda", "policy_device: 3").replace("base_seed", "base_sed"))
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    found = [(p.line, p.key, p.hint) for p in caught.value.problems]
    assert found == [
        (9, "base_sed", 'did you mean "base_seed"?'),
        (11, "policy_device", None),
        (16, "anatomy.arch_tpye", 'did you mean "arch_type"?'),
        (23, "anatomy.friction", None),
    ]
    file.write_text(FORM.replace("tool: j_soft", "tool: j_sof"))
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    (problem,) = caught.value.problems
    assert (problem.line, problem.key) == (6, "agents[1].tool")
    assert 'unknown tool "j_sof"; did you mean "j_soft"?' in problem.message
    with pytest.raises(ConfigError) as caught:
        load_config(file, ["anatomy.friction=x", "agents.b.tool=micro"])
    assert str(caught.value.problems[0]) == '--set anatomy.friction=x: anatomy.friction: found "x"; expected a number'


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"anatomy": 3}, "anatomy: found 3; expected a mapping"),
        ({"anatomy": {"type": "heart"}}, 'anatomy.type: found "heart"; expected one of aortic_arch'),
        (
            {"simulator": "sofaa"},
            'simulator: found "sofaa"; expected one of auto, sofa, embedded; did you mean "sofa"?',
        ),
        ({"use_non_mp_sim": "yes"}, 'use_non_mp_sim: found "yes"; expected true or false'),
        (
            {"tasks": ["CartPole-v1"]},
            "anatomy: found beside tasks; give anatomy (it makes one task), or tasks, not both",
        ),
        ({"agents": []}, "agents: found an empty list; expected at least 1 entry"),
        ({"agents": [{"policy": "zero", "tool": 3}]}, "agents[0].tool: found 3; expected text or a mapping"),
        ({"agents": [{"policy": "zero", "tool": {"shaft_bendin": 3}}]}, "agents[0].tool.shaft_bendin: unknown key"),
    ],
)
def test_each_kind_of_problem(no_sofa, change, expected):
    assert problems({"agents": [{"policy": "zero"}], "anatomy": {}, **change})[0].startswith(expected)


def test_a_tool_where_there_are_none():
    raw = {"agents": [{"policy": "random", "task_options": {"tool": "micro"}}], "tasks": ["CartPole-v1"]}
    assert problems(raw) == [
        'agents[0].task_options.tool: task "CartPole-v1" takes no "tool" from an agent (suite gymnasium); leave the '
        "key out, or say it in the policy's options"
    ]


def test_an_agent_brings_what_the_suite_lets_it_bring():
    raw = {"agents": [{"policy": "zero", "task_options": {"max_push_n": 3.0}}], "tasks": [{"suite": "endovascular"}]}
    assert problems(raw) == [
        'agents[0].task_options.max_push_n: task "arch-I-lcca" takes no "max_push_n" from an agent (suite '
        "endovascular); it is an option of the task; write it there"
    ]
    raw["agents"] = [{"policy": "zero", "task_options": {"tol": "micro"}}]
    assert problems(raw)[0].endswith("agents may bring: tool")
    raw["agents"] = [{"policy": "zero", "tool": "micro"}]
    assert problems(raw) == [
        'agents[0].tool: unknown key; "tool" is an option of the task; write it under "task_options"'
    ]


def test_one_run_from_a_thread_with_progress(tmp_path):
    seen: list[Progress] = []
    runs: list[Run] = []
    config = config_from_dict(small(tmp_path))
    thread = threading.Thread(target=lambda: runs.append(run_evaluation(config, progress=seen.append)))
    thread.start()
    thread.join()
    (run,) = runs
    rows = timeless(run)
    assert [(row["agent"], row["tool"], row["trial"], row["seed"]) for row in rows] == [
        ("soft", "j_soft", "0", "123"), ("soft", "j_soft", "1", "124"),
        ("own", "angled_standard", "0", "123"), ("own", "angled_standard", "1", "124"),
    ]  # fmt: skip
    assert Path(rows[0]["npz_path"]).name == "soft_trial0000_seed123.npz"
    assert {agent["agent"]: agent["tool"] for agent in run.report()["agents"]} == {
        "soft": "j_soft", "own": "angled_standard",
    }  # fmt: skip
    assert run.report()["verdict"].startswith("Simulated by the embedded simulator. ")
    assert seen[-1].done == 4


def test_another_tool_is_another_run(tmp_path):
    run = run_evaluation(config_from_dict(small(tmp_path, n_trials=1, max_episode_steps=1)))
    with pytest.raises(InputError, match=r"agents\.0\.task_options\.tool: 'j_soft' -> 'micro'"):
        resume(run.path, ["agents.soft.task_options.tool=micro"])


def test_a_run_can_be_stopped(tmp_path):
    token = CancelToken()
    token.cancel()
    run = run_evaluation(config_from_dict(small(tmp_path)), cancel=token)
    assert list(run.results()) == []


def test_the_tool_reaches_the_trial_and_two_workers_change_nothing(tmp_path):
    one, two = (run_evaluation(config_from_dict(small(tmp_path / str(n), num_parallel=n))) for n in (1, 4))
    for first, second in zip(timeless(one), timeless(two), strict=True):
        assert first == second
        with np.load(one.path / first["npz_path"]) as arrays, np.load(two.path / second["npz_path"]) as again:
            assert str(arrays["tool"]) == first["tool"]
            assert all(arrays[name].tobytes() == again[name].tobytes() for name in arrays.files)
