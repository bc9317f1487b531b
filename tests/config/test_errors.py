"""One error that lists everything: the texts a user reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.config import ConfigError, config_from_dict, load_config
from proctor.registry import BACKENDS, LOADERS, SCORINGS, SUITES

LOADERS, SUITE_NAMES = ", ".join(LOADERS.names()), ", ".join(SUITES.names())
BACKEND_NAMES, SCORING_NAMES = ", ".join(BACKENDS.names()), ", ".join(SCORINGS.names())
GOOD = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"]}


def problems(raw, base: Path | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        config_from_dict(raw, base)
    return [str(p).removeprefix("config: ") for p in caught.value.problems]


def test_all_problems_of_a_file_in_one_error(tmp_path):
    file = tmp_path / "bad.yml"
    file.write_text(
        """\
agents:
  - name: a
    policy: randm
    devise: cuda
  - name: a
    policy: random
    pad_to: 3
    options: {pad_too: 4, max_batch: 0, action_scale: {scale: x}}
tasks:
  - suite: gymnasiun
  - suite: gymnasium
    id: CartPole-v1
    options: {succes: 1, signals: {rewards: info.x}, success: {info: a, terminated: true}}
n_trials: ten
base_seed: .inf
workers: proces
record: {level: serie, video: {first: 0}}
scoring: {mode: defualt_v1, floor: "2"}
limits: []
"""
    )
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert str(caught.value).replace(str(tmp_path) + "/", "").splitlines() == [
        "bad.yml: 21 problems",
        f'  bad.yml:3: agents[0].policy: unknown policy loader "randm"; expected one of {LOADERS}, or an import string '
        'such as my_policies.py:MyPolicy; did you mean "random"?',
        "  bad.yml:4: agents[0].devise: unknown key; expected one of checkpoint, device, group, name, options, policy, "
        'runtime, task_options; did you mean "device"?',
        '  bad.yml:5: agents[1].name: two agents are named "a" (agents[0] and agents[1]); give each its own name',
        '  bad.yml:7: agents[1].pad_to: unknown key; "pad_to" is an option; write it under "options"',
        "  bad.yml:8: agents[1].options.pad_too: unknown key; expected one of action_scale, frame_stack, "
        "frame_stack_axis, frame_stack_join, frame_stack_start, image_layout, info, integers, max_batch, max_wait_s, "
        "normalize, observation_order, pad_to, placement, preprocessor, replan_steps, stages, temporal_ensemble, trust"
        '; did you mean "pad_to"?',
        "  bad.yml:8: agents[1].options.max_batch: found 0; expected at least 1",
        '  bad.yml:8: agents[1].options.action_scale.scale: found "x"; expected a number or a list',
        f'  bad.yml:10: tasks[0].suite: unknown suite "gymnasiun"; expected one of {SUITE_NAMES}, or an import string '
        'such as my_suite.py:MySuite; did you mean "gymnasium"?',
        '  bad.yml:12: tasks[1].id: unknown key; "id" is an option of the gymnasium suite; write it under "options"',
        "  bad.yml:13: tasks[1].options.succes: unknown key; expected one of action_dt_s, id, imports, "
        "info, initial_states, kwargs, reset_options, reuse, signals, success, vector, wrappers; "
        'did you mean "success"?',
        "  bad.yml:13: tasks[1].options.id: missing; expected a value for this key",
        "  bad.yml:13: tasks[1].options.success: found info, terminated; expected exactly one of info, "
        "return_at_least, terminated, function",
        '  bad.yml:13: tasks[1].options.signals: the signal name "rewards" is taken by the record; choose another',
        '  bad.yml:14: n_trials: found "ten"; expected an integer',
        "  bad.yml:15: base_seed: found inf; expected a finite number",
        f'  bad.yml:16: workers.kind: unknown worker backend "proces"; expected one of {BACKEND_NAMES}, or an import '
        'string such as my_parts.py:MyPart; did you mean "process"?',
        '  bad.yml:17: record.level: found "serie"; expected one of summary, series, video; did you mean "series"?',
        "  bad.yml:17: record.video.first: found 0; expected at least 1",
        f'  bad.yml:18: scoring.mode: unknown scoring "defualt_v1"; expected one of {SCORING_NAMES}, '
        'or an import string such as my_scoring.py:score; did you mean "default_v1"?',
        '  bad.yml:18: scoring.floor: found "2"; expected a number',
        "  bad.yml:19: limits: found an empty list; expected a mapping",
    ]


def test_a_problem_is_data_too(tmp_path):
    file = tmp_path / "c.yml"
    file.write_text("agents:\n  - {policy: random, devise: x}\ntasks: [CartPole-v1]\n")
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.key) == (str(file), 2, "agents[0].devise")
    assert problem.hint == 'did you mean "device"?'


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"agents": []}, ["agents: found an empty list; expected at least 1 entry"]),
        ({"tasks": "CartPole-v1"}, ['tasks: found "CartPole-v1"; expected a list']),
        ({"agents": None}, ["agents: found null; expected a list"]),
        ({"agents": ["random"]}, ['agents[0]: found "random"; expected a mapping']),
        ({"agents": [{"name": "a"}]},
         [f"agents[0].policy: missing; expected a loader ({LOADERS}), an import string or a checkpoint"]),
        ({"agents": [{"policy": 3}]}, ["agents[0].policy: found 3; expected text"]),
        ({"agents": [{"policy": "random", "name": ""}]}, ['agents[0].name: found ""; expected text that is not empty']),
        ({"agents": [{"policy": "random", "name": "a\nb"}]},
         [r"agents[0].name: found 'a\nb'; expected a name without control characters or blanks at its ends"]),
        ({"agents": [{"policy": "random", "options": []}]},
         ["agents[0].options: found an empty list; expected a mapping"]),
        ({"tasks": [{"suite": "gymnasium", "name": "a/b", "options": {"id": "CartPole-v1"}}]},
         ["tasks[0].name: found 'a/b'; expected a name without \"/\", control characters or blanks at its ends"]),
        ({"tasks": [{"suite": "gymnasium", "name": "t", "options": {"id": "A-v0"}}] * 2},
         ['tasks[1].name: two tasks are named "t" (tasks[0] and tasks[1]); give each its own name']),
        ({"tasks": [{"options": {"id": "A-v0"}}]}, ["tasks[0].suite: missing; expected a value for this key"]),
        ({"n_trials": True}, ["n_trials: found true; expected an integer"]),
        ({"n_trials": 2.5}, ["n_trials: found 2.5; expected an integer"]),
        ({"n_trials": 0}, ["n_trials: found 0; expected at least 1"]),
        ({"base_seed": float("nan")}, ["base_seed: found NaN; expected a finite number"]),
        ({"limits": {"step_s": 0}}, ["limits.step_s: found 0; expected more than 0"]),
        ({"name": object()},
         ["name: found a object; expected a plain value (text, number, true/false, list, mapping)"]),
        ({3: 1}, ["3: found a key that is no text (int); quote it",
                  "3: unknown key; expected one of agents, base_seed, declare, limits, loggers, max_episode_steps, "
                  "n_trials, name, num_parallel, output_root, python_path, record, report, scoring, "
                  "seeds, stop_when, tasks, workers"]),
        ({"scoring": {"metrics": ["motion"]}},
         ['scoring.metrics[0]: found "motion"; expected an import string such as my_metrics.py:MyMetric '
          "(the built-in metrics are always computed)"]),
    ],
)  # fmt: skip
def test_each_kind_of_problem(change, expected):
    assert problems({**GOOD, **change}) == expected


def test_what_is_no_mapping_is_said():
    with pytest.raises(ConfigError, match=r"config: found a list of 1; expected a mapping with agents and tasks"):
        config_from_dict(["agents"])  # type: ignore[arg-type]


def test_missing_files_name_the_nearest(tmp_path):
    (tmp_path / "model.zip").write_text("")
    (tmp_path / "ctl.py").write_text("")
    raw = {
        **GOOD,
        "agents": [
            {"checkpoint": "modle.zip"},
            {"name": "b", "policy": "clt.py:PD"},
            {"name": "c", "checkpoint": "none/*.zip"},
            {"name": "d", "checkpoint": "none/x.zip"},
            {"name": "e", "policy": "random", "options": {"normalize": {"file": "stats.npz"}}},
            {"name": "f", "checkpoint": "model.bin"},
        ],
    }
    assert [p.replace(str(tmp_path), ".") for p in problems(raw, tmp_path)] == [
        'agents[0].checkpoint: no such file: ./modle.zip; did you mean "model.zip"?',
        'agents[1].policy: no such file: ./clt.py; did you mean "ctl.py"?',
        'agents[2].checkpoint: no file matches "none/*.zip" under .',
        "agents[3].checkpoint: no such file: ./none/x.zip (nor the folder ./none)",
        "agents[4].options.normalize.file: no such file: ./stats.npz",
        'agents[5].policy: missing, and no loader reads "model.bin" by its ending; known: .everl (everl), '
        ".onnx (onnx), .pt (torch), .pth (torch), .safetensors (torch), .zip (sb3); or say which with policy: ...",
        'agents[5].checkpoint: no such file: ./model.bin; did you mean "model.zip"?',
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "c.yml: the file is empty; expected a mapping"),
        (b"- a\n- b\n", "c.yml:1: found a list of 2; expected a mapping with agents and tasks"),
        (b"just text\n", 'c.yml:1: found "just text"; expected a mapping with agents and tasks'),
        (b"a: \xff\n", "c.yml: not UTF-8 text (byte 3); expected a YAML file"),
        (b"a: [1\n", "c.yml:2: invalid YAML: while parsing a flow sequence, expected ',' or ']', but got "
                     "'<stream end>'"),
    ],
)  # fmt: skip
def test_files_that_are_no_config(tmp_path, monkeypatch, content, expected):
    monkeypatch.chdir(tmp_path)
    Path("c.yml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_config("c.yml")
    assert [str(p) for p in caught.value.problems] == [expected]


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("quickstart.yml").write_text("")
    with pytest.raises(ConfigError) as caught:
        load_config("quikstart.yml")
    assert (
        str(caught.value) == 'quikstart.yml: 1 problem\n  quikstart.yml: no such file; did you mean "quickstart.yml"?'
    )
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_config(tmp_path)


def test_a_section_of_another_verb_is_named_as_such():
    raw = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], "goals": {}}
    with pytest.raises(ConfigError, match=r"`proctor goals collect` and `proctor goals evaluate`"):
        config_from_dict(raw)
