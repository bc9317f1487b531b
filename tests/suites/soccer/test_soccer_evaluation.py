"""An evaluation function of the user's: unchanged, in the worker, with a state of its own for each episode."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import examination
from official_soccer import official, own_function

from proctor import ConfigError, config_from_dict, run_evaluation
from proctor.errors import InputError, TaskCodeError
from proctor.runs.check import check
from proctor.runs.resume import resume
from proctor.runs.score import score
from proctor.suites.soccer.env import SoccerEnv
from proctor.suites.soccer.evaluating import Evaluation
from proctor.suites.soccer.options import EvaluationCfg, SoccerOptions
from proctor.suites.soccer.tasks import TASKS
from proctor_host.episode import Outcome

pytest.importorskip("sai_mujoco", reason="the extra `soccer` is not installed")

GOALIE = TASKS["goalie_penalty_kick"]
COUNTING = """
import os
count = 0

def evaluation_fn(env, eval_state):
    global count
    count += 1
    eval_state["steps"] = eval_state.get("steps", 0) + 1
    assert eval_state["steps"] == count
    flags = 10 * eval_state["terminated"] + 100 * eval_state["truncated"]
    return count + flags, eval_state
"""
"""Pays the number of its calls, with what it was told of the end; keeps a global and a state."""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "my_eval.py"
    path.write_text(text)
    return str(path)


def env_with(file: str, **options: Any) -> SoccerEnv:
    evaluation = {"file": file, "trust": True}
    return SoccerEnv(SoccerOptions.model_validate({"evaluation": evaluation, **options}))


def config(tmp_path: Path, evaluation: dict[str, Any], **keys: Any) -> Any:
    entry = {"suite": "soccer", "options": {"task": "goalie_penalty_kick", "evaluation": evaluation}}
    defaults = {"agents": [{"policy": "random"}], "n_trials": 2, "max_episode_steps": 6, "workers": 1}
    return config_from_dict(examination(tmp_path / "runs", tasks=[entry], **{**defaults, **keys}), tmp_path)


def rewards(env: SoccerEnv, steps: int) -> list[float]:
    env.reset(0, 0)
    return [env.step(np.zeros(12, np.float32)).signals["evaluation_reward"] for _ in range(steps)]


def test_a_contestants_file_pays_what_the_competition_pays(tmp_path: Path) -> None:
    file = written(tmp_path, own_function(GOALIE))
    cfg = config(tmp_path, {"file": "my_eval.py", "trust": True})
    run = run_evaluation(cfg)
    sha256 = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    assert run.config().tasks[0].options["evaluation"] == {
        "file": file, "function": "evaluation_fn", "trust": True, "sha256": sha256,
    }  # fmt: skip
    assert sha256 in (run.path / "report.html").read_text()
    for result in run.results():
        arrays = run.episode(result).arrays
        paid = arrays["evaluation_reward"]
        assert paid.dtype == np.float64
        assert not paid[:-1].any()
        assert paid[-1] == official(GOALIE, result.trial.seed, list(arrays["actions"]), 6).score
        assert str(arrays["evaluation_sha256"]) == sha256
    Path(file).write_text(own_function(GOALIE) + "\n")
    with pytest.raises(InputError, match=r"evaluation: .*my_eval.py has the sha256 .*the file has been changed"):
        resume(run.path, ["n_trials=3"], trust=True)
    Path(file).unlink()
    assert score(run.path).report.scored == 2


def test_each_episode_begins_with_nothing(tmp_path: Path) -> None:
    env = env_with(written(tmp_path, COUNTING))
    env.step_limit = 3
    assert rewards(env, 3) == [1.0, 2.0, 103.0]
    assert rewards(env, 3) == [1.0, 2.0, 103.0]


def test_the_function_learns_how_the_episode_ended_as_from_a_time_limit(tmp_path: Path) -> None:
    """Both flags hold where the world ends on the last step allowed; without a worker the task's own limit holds."""
    env = env_with(written(tmp_path, COUNTING))
    assert rewards(env, 2) == [1.0, 2.0]
    env.reset(0, 0)
    env.step_limit = 1
    joint = env.base.sim.data.get_joint_qpos("env:ball")
    joint[:3] = [0.0, 8.0, 0.1]
    env.base.sim.data.set_joint_qpos("env:ball", joint)
    assert env.step(np.zeros(12, np.float32)).signals["evaluation_reward"] == 111.0


def test_untrusted_code_is_refused_with_its_hash_and_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "it_ran"
    text = f"open({str(mark)!r}, 'w').close()\n{COUNTING}"
    file = written(tmp_path, text)
    with pytest.raises(InputError) as refused:
        run_evaluation(config(tmp_path, {"file": file}))
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    assert f"{file} (sha256 {sha256}) is code that would run on this machine with your rights" in str(refused.value)
    assert "set trust: true" in str(refused.value)
    assert not mark.exists()
    assert not list((tmp_path / "runs").glob("*"))


def test_trusted_code_never_runs_in_the_main_process(tmp_path: Path) -> None:
    text = f"import os\nopen({str(tmp_path)!r} + f'/pid_{{os.getpid()}}', 'w').close()\n{COUNTING}"
    cfg = config(tmp_path, {"file": written(tmp_path, text), "trust": True})
    inline = cfg.model_copy(update={"workers": cfg.workers.model_copy(update={"kind": "inline"})})
    with pytest.raises(InputError, match=r'task "goalie_penalty_kick" runs code of yours.*found workers: inline'):
        run_evaluation(inline)
    assert not list(tmp_path.glob("pid_*"))
    found = check(cfg)
    assert found.ok, found.problems
    pids = {path.name for path in tmp_path.glob("pid_*")}
    assert pids
    assert f"pid_{os.getpid()}" not in pids


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def evaluation_fn(:", r"my_eval.py is no Python file: invalid syntax"),
        (
            "def evaluate(env, state): ...",
            r'defines no function "evaluation_fn"; say which one is meant: function: NAME',
        ),
        ("evaluation_fn = 3", r'defines no function "evaluation_fn"'),
    ],
)
def test_a_file_without_the_function_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Evaluation(EvaluationCfg(file=written(tmp_path, text), trust=True))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("0.0", r"my_eval.py:evaluation_fn returned 0.0; expected \(reward, eval_state\)"),
        ("(0.0, None)", r"returned \(0.0, None\)"),
        ("(float('nan'), state)", "gave the reward nan; expected a finite number"),
    ],
)
def test_a_wrong_answer_is_named(tmp_path: Path, answer: str, said: str) -> None:
    file = written(tmp_path, f"def evaluation_fn(env, state):\n    return {answer}\n")
    evaluation = Evaluation(EvaluationCfg(file=file, trust=True))
    with pytest.raises(TaskCodeError, match=said):
        evaluation(None, False, False)


@pytest.mark.parametrize("fault", ["raise KeyError('no_such_term')", "import sys; sys.exit(3)", "return 'lots', state"])
def test_a_crash_in_the_file_is_told_with_its_line(tmp_path: Path, fault: str) -> None:
    file = written(tmp_path, f"def evaluation_fn(env, state):\n    {fault}\n")
    evaluation = Evaluation(EvaluationCfg(file=file, trust=True))
    said = {
        "raise": rf"^evaluation: {file}, line 2: KeyError: 'no_such_term'$",
        "import": rf"^evaluation: {file}, line 2: SystemExit: 3$",
        "return": r"^evaluation: my_eval.py:evaluation_fn gave the reward 'lots'; could not convert",
    }[fault.partition(" ")[0]]
    with pytest.raises(TaskCodeError, match=said):
        evaluation(None, False, False)


def test_a_crash_is_the_files_and_neither_the_simulators_nor_the_agents(tmp_path: Path) -> None:
    file = written(tmp_path, "def evaluation_fn(env, state):\n    return env.compute_reward()['no_such_term'], state\n")
    run = run_evaluation(config(tmp_path, {"file": file, "trust": True}, n_trials=1))
    (result,) = run.results()
    assert result.outcome is Outcome.ENV_ERROR
    findings = [finding["text"] for finding in json.loads((run.path / "report.json").read_text())["findings"]]
    blamed = "code of the task's own, not simulator or agent"
    assert any(f"{blamed}: evaluation: {file}, line 2: KeyError: 'no_such_term'." in text for text in findings)
    assert not any("may be what drives it" in text for text in findings)


def test_a_file_that_breaks_at_its_top_is_refused_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, "\nimport nowhere_to_be_found\n")
    with pytest.raises(InputError, match=rf"^evaluation: {file}, line 2: ModuleNotFoundError: No module named"):
        Evaluation(EvaluationCfg(file=file, trust=True))


def test_it_imports_the_files_beside_it_and_not_those_beside_another(tmp_path: Path) -> None:
    """Each folder has a `weights.py`, which counts how often it was called since it was run."""
    made = {}
    for name, weight in (("one", 1.0), ("two", 2.0)):
        (tmp_path / name).mkdir()
        counting = f"calls = [0.0]\ndef paid():\n    calls[0] += {weight}\n    return calls[0]\n"
        (tmp_path / name / "weights_beside.py").write_text(counting)
        text = "from weights_beside import paid\ndef evaluation_fn(env, state):\n    return paid(), state\n"
        made[name] = Evaluation(EvaluationCfg(file=written(tmp_path / name, text), trust=True))
    for evaluation, expected in ((made["one"], [1.0, 2.0]), (made["two"], [2.0, 4.0])):
        for _ in range(2):
            assert [evaluation(None, False, False) for _ in range(2)] == expected
            evaluation.reset()
    assert "weights_beside" not in sys.modules


@pytest.mark.parametrize("paid", ["np.float32(0.5)", "True / 2", "np.float64(0.5)", "0.5"])
def test_numbers_of_numpy_and_python_count_alike(tmp_path: Path, paid: str) -> None:
    evaluation = Evaluation(
        EvaluationCfg(file=written(tmp_path, f"def f(env, state):\n    return {paid}, state"), function="f", trust=True)
    )
    assert evaluation(None, True, False) == 0.5


Refused = Callable[[dict[str, Any]], str]


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    def say(evaluation: dict[str, Any]) -> str:
        with pytest.raises(ConfigError) as error:
            config(tmp_path, evaluation)
        return str(error.value)

    return say


def test_configs_that_mean_no_file_are_refused(tmp_path: Path, refused: Refused) -> None:
    written(tmp_path, COUNTING)
    missing = refused({"file": "my_evil.py"})
    assert "1 problem" in missing
    assert "no such file" in missing
    assert "evaluation.file" in refused({})
    assert "expected" in refused({"file": "my_eval.py", "function": "not a name"})
    other = refused({"file": "my_eval.py", "sha256": "0" * 64})
    assert "has the sha256" in other
    assert "but the config has 0000" in other


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        Evaluation(EvaluationCfg(file=str(tmp_path), trust=True))
