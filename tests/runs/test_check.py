"""What `check` finds out before a run: everything at once, and without ending with what it examines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import examination, odd, odd_task, policy, task
from gymnasium.spaces import Box, Dict, Discrete
from telling import Tell

from proctor import config_from_dict, run_evaluation
from proctor.cli import main
from proctor.errors import InputError
from proctor.runs.check import STEPS, Check, check
from proctor.spaces import in_a_line

Checked = Callable[..., Check]


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    def run(**keys: Any) -> Check:
        return check(config_from_dict(examination(tmp_path / "out", **keys)))

    return run


def test_a_sound_config_is_fine_and_nothing_is_left_behind(checked: Checked, tmp_path: Path) -> None:
    found = checked(agents=[policy("Noisy"), policy("TwoStages")])
    assert found.ok
    assert (found.problems, found.warnings) == ([], [])
    space, action = "Box(-inf, inf, (6,), float32)", "Box(-1.0, 1.0, (2,), float32)"
    assert found.fine[0] == f'task "toy": observation {space}, action {action}'
    assert [line.partition(":")[0] for line in found.fine[1:]] == [
        'agent "noisy" on task "toy"',
        'agent "twostages" on task "toy"',
    ]
    assert found.steps == 2 * 5 * 30, "agents x trials x the environment's own limit"
    assert found.seconds is not None
    assert found.seconds > 0
    assert list(tmp_path.iterdir()) == []


def test_a_large_space_is_told_in_a_line() -> None:
    angles = Box(-np.arange(30.0), np.arange(30.0), dtype=np.float64)
    assert in_a_line(angles) == "float64 (30,)"
    assert in_a_line(Discrete(4)) == "Discrete(4)"
    info = Dict({name: Box(-9, 9, (12,)) for name in ("ball", "feet", "goal", "team", "wind")})
    assert in_a_line(Dict({"observation": angles, "info": info})) == (
        "of 6 entries: observation float64 (30,), info.ball float32 (12,), info.feet float32 (12,), "
        "info.goal float32 (12,), and 2 more"
    )


def test_every_problem_is_listed_at_once(checked: Checked) -> None:
    found = checked(agents=[odd("Wide"), odd("Unborn"), odd("Steady")], tasks=[odd_task()])
    assert not found.ok
    first, second = sorted(found.problems)
    assert first == 'agent "unborn": RuntimeError: no weights here'
    assert second == (
        'agent "wide" on task "walk": invalid_action: action has shape (4,); the task\'s action space has (1,)'
    )
    assert any('agent "steady" on task "walk": 8 steps tried' in line for line in found.fine)


def test_an_environment_that_cannot_be_made_is_a_problem(checked: Checked) -> None:
    found = checked(tasks=[task(kwargs={"colour": "red"}), {**task(kwargs={"size": 3}), "name": "other"}])
    assert [line.partition(" cannot")[0] for line in found.problems] == [
        'the environment of task "toy"',
        'the environment of task "other"',
    ]


def test_agents_are_examined_where_a_task_is_bad(checked: Checked) -> None:
    bad = {**task(kwargs={"colour": "red"}), "name": "bad"}
    found = checked(agents=[odd("Unborn"), policy("Linear")], tasks=[bad, task()])
    assert [line.partition(": ")[0] for line in found.problems] == [
        'the environment of task "bad" cannot be made',
        'agent "unborn"',
    ]
    assert [line.partition(":")[0] for line in found.fine] == ['task "toy"', 'agent "linear" on task "toy"']


def test_agents_are_examined_where_no_task_is_good(checked: Checked, tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    found = checked(
        agents=[{"name": "net", "checkpoint": str(broken)}, policy("Linear")],
        tasks=[{**task(kwargs={"colour": "red"}), "name": "bad"}],
    )
    environment, agent = found.problems
    assert environment.startswith('the environment of task "bad" cannot be made')
    assert agent.startswith('agent "net"')


def test_a_log_has_what_does_not_go_into_a_line(tmp_path: Path) -> None:
    raw = examination(tmp_path, agents=[odd("Unborn"), policy("Linear")], tasks=[task(), odd_task()])
    found = check(config_from_dict(raw), log_file=tmp_path / "check.log")
    assert found.log == str(tmp_path / "check.log")
    written = (tmp_path / "check.log").read_text()
    assert "Traceback (most recent call last):" in written
    assert "RuntimeError: no weights here" in written
    for line in (*found.fine, *found.warnings, *found.problems):
        assert line in written


def test_the_command_says_where_its_log_is(tell: Tell, tmp_path: Path) -> None:
    config = tmp_path / "exam.yml"
    config.write_text(json.dumps(examination(tmp_path / "out", name="walk/1")))
    said = tell("check", config)
    (file,) = (tmp_path / "out" / "checks").iterdir()
    assert file.name.endswith("_walk_1.log")
    assert said.out.endswith(f"log: {file}\n")
    (tmp_path / "out" / "checks").rename(tmp_path / "out" / "old")
    (tmp_path / "out" / "checks").write_text("in the way")
    without = tell("check", config)
    assert (without.code, "log: " in without.out) == (0, False)
    assert without.err == f"no log is kept: {tmp_path / 'out' / 'checks'} cannot be made: File exists\n"


@pytest.mark.parametrize(
    ("trouble", "says"),
    [
        ("raise", "env_error: RuntimeError: the simulator diverged"),
        ("reset", "env_error: RuntimeError: the simulator does not start"),
        ("die", "worker_lost: a worker process died of SIGSEGV"),
    ],
)
def test_an_environment_that_breaks_is_reported_once_and_others_are_still_tried(
    checked: Checked, trouble: str, says: str
) -> None:
    broken = {**task(kwargs={"trouble": trouble, "seeds": [123]}), "name": "broken"}
    found = checked(
        agents=[policy("Linear"), policy("Noisy")], tasks=[broken, task()], workers="process", num_parallel=1
    )
    (problem,) = found.problems
    assert problem.startswith(f'task "broken": {says}')
    assert [line.partition(":")[0] for line in found.fine if line.startswith("agent")] == [
        'agent "linear" on task "toy"',
        'agent "noisy" on task "toy"',
    ]


def test_rows_that_depend_on_their_neighbours_are_a_warning(checked: Checked) -> None:
    found = checked(agents=[odd("Crowd")], tasks=[odd_task()])
    assert found.ok
    (warning,) = found.warnings
    assert warning.startswith('agent "crowd" on task "walk": a row\'s answer depends on the other rows\' content')
    assert warning.endswith("its trials are not reproducible to the byte")


def test_an_unpadded_agent_is_a_warning(checked: Checked) -> None:
    found = checked(agents=[policy("Linear", pad_to=None)])
    assert found.warnings == [
        'agent "linear": pad_to is null, so a trial\'s bytes may depend on which trials share its batch'
    ]


@pytest.mark.parametrize("name", ["Carrying", "Dice"])
def test_an_environment_that_carries_something_over_is_a_warning(checked: Checked, name: str) -> None:
    found = checked(agents=[odd("Steady")], tasks=[odd_task(name)])
    assert found.ok
    (warning,) = found.warnings
    assert warning.startswith(
        f'task "{name.lower()}": the environment gives another episode for the same seed once it has been used'
    )


def test_a_fresh_environment_for_each_trial_carries_nothing_over(checked: Checked) -> None:
    assert checked(agents=[odd("Steady")], tasks=[odd_task("Carrying", reuse=False)]).warnings == []


def test_clipped_actions_are_a_warning(checked: Checked) -> None:
    wild = {**policy("Troubled", kwargs={"trouble": "range", "seeds": [123]}), "name": "wild"}
    found = checked(agents=[wild], tasks=[{**task(), "out_of_range": "clip"}])
    (warning,) = found.warnings
    assert warning.startswith('agent "wild" on task "toy": 1 of ')
    assert warning.endswith("actions were clipped")


def test_the_time_grows_with_the_trials(checked: Checked) -> None:
    few, many = checked(n_trials=1), checked(n_trials=10_000)
    assert few.seconds is not None
    assert many.seconds is not None
    assert (few.steps, many.steps) == (30, 300_000)
    assert many.seconds > few.seconds


def test_a_long_episode_is_tried_for_a_few_steps_only(checked: Checked) -> None:
    found = checked(agents=[{"name": "zero", "policy": "zero"}], tasks=["Pendulum-v1"])
    assert any(line.endswith(f": {STEPS} steps tried") for line in found.fine)
    assert found.steps == 5 * 200


BROKEN = {
    "syntax": ("def score(result:\n    return 1\n", "line 1: SyntaxError: '(' was never closed"),
    "import": (
        "import sys\nimport no_such_package\n",
        "line 2: ModuleNotFoundError: No module named 'no_such_package'",
    ),
    "raises": ("def f():\n    return 1 / 0\n\n\nf()\n", "line 2: ZeroDivisionError: division by zero"),
}
PLACES = {
    "scoring": lambda file: {"scoring": f"{file}:score"},
    "metric": lambda file: {"scoring": {"mode": "return", "metrics": [f"{file}:Metric"]}},
    "policy": lambda file: {"agents": [{"policy": f"{file}:Policy"}]},
    "suite": lambda file: {"tasks": [{"suite": f"{file}:Suite"}]},
    "logger": lambda file: {"loggers": [f"{file}:Logger"]},
    "import": lambda file: {"tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1", "imports": [file]}}]},
    "wrapper": lambda file: {
        "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1", "wrappers": [f"{file}:Wrapper"]}}]
    },
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", BROKEN)
def test_a_file_of_the_user_that_cannot_be_imported_is_named_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str, place: str
) -> None:
    source, problem = BROKEN[how]
    file = tmp_path / f"mine_{how}_{place}.py"
    file.write_text(source)
    keys = {"agents": [{"policy": "random"}], "workers": "inline", **PLACES[place](str(file))}
    (tmp_path / "eval.yaml").write_text(json.dumps(examination(tmp_path / "out", **keys)))
    code, text = _ended(capsys, ["proctor", "check", str(tmp_path / "eval.yaml")])
    assert code == 2
    assert f"{file}, {problem}" in text
    assert "Traceback" not in text


def _ended(capsys: pytest.CaptureFixture[str], command: list[str]) -> tuple[Any, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
    said = capsys.readouterr()
    return ended.value.code, said.out + said.err


def test_a_run_does_not_begin_with_a_scoring_that_cannot_be_loaded(tmp_path: Path) -> None:
    file = tmp_path / "unfinished_scoring.py"
    file.write_text("def score(result:\n")
    cfg = config_from_dict(examination(tmp_path / "out", scoring=f"{file}:score"))
    with pytest.raises(InputError, match=r"scoring: .*unfinished_scoring.py, line 1: SyntaxError"):
        run_evaluation(cfg)
    assert not (tmp_path / "out").exists()


def test_an_own_scoring_that_fails_on_a_short_trial_is_a_warning(tmp_path: Path, checked: Checked) -> None:
    file = tmp_path / "lacking_scoring.py"
    file.write_text("def score(result):\n    return result.metrics['nothing']\n")
    found = checked(agents=[policy("Noisy")], scoring=f"{file}:score")
    assert found.ok
    assert "failed on trial zero/toy/0000: KeyError: 'nothing'" in found.warnings[0]
