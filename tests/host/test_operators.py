"""A real robot: a person resets it, judges it, and is asked before anything is tried again."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import by_key, examination, policy, task
from hosts import Serve
from robots_at_hand import HERE, Scripted

from proctor import InputError, config_from_dict
from proctor.cli.progress import TerminalOperator, terminal_operator
from proctor.rollout.attending import Question
from proctor.rollout.backends import address
from proctor.runs.resume import resume
from proctor.runs.session import Hooks, RunEnd
from proctor.runs.start import start
from proctor_host.episode import Outcome
from proctor_host.trials import Trial

RANDOM = {"name": "random", "policy": "random"}
Examine = Callable[..., RunEnd]


def robot(runtime: dict[str, Any], folder: Path, name: str = "robot", **rest: Any) -> dict[str, Any]:
    options = {"folder": str(folder), **rest.pop("options", {})}
    return {"suite": "served", "name": name, "options": options, "runtime": runtime, **rest}


@pytest.fixture
def runtime(serve: Serve) -> dict[str, Any]:
    return serve(entry=f"{HERE}:make").runtime


@pytest.fixture
def attend(tmp_path: Path) -> Examine:
    def run(operator: Scripted | None, **keys: Any) -> RunEnd:
        keys = {"agents": [RANDOM], "n_trials": 3, **keys}
        return start(config_from_dict(examination(tmp_path / "runs", **keys)), Hooks(operator=operator))

    return run


def resets(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "resets").read_text().split()]


def test_each_reset_is_confirmed_and_no_trial_runs_beside_another(
    attend: Examine, runtime: dict[str, Any], tmp_path: Path
) -> None:
    operator = Scripted()
    end = attend(operator, tasks=[robot(runtime, tmp_path), task(), robot(runtime, tmp_path, "again")])
    assert end.complete
    assert [question.kind for question in operator.asked] == ["reset"] * 6
    assert {question.trial.task for question in operator.asked} == {"robot", "again"}
    assert "initial state 1 of 3, seed 123" in operator.asked[0].text
    assert resets(tmp_path) == [question.trial.seed for question in operator.asked], "nobody moves it unasked"
    assert all(result.outcome.scored for result in end.run.results())


def test_a_trial_that_broke_is_tried_again_only_if_the_operator_says_so(
    attend: Examine, runtime: dict[str, Any], tmp_path: Path
) -> None:
    operator = Scripted(again=["n"])
    end = attend(operator, tasks=[robot(runtime, tmp_path, options={"breaks": [124]})])
    assert [question.kind for question in operator.asked].count("again") == 1
    (again,) = [question for question in operator.asked if question.kind == "again"]
    assert "env_error: RuntimeError: the gripper is stuck" in again.text
    found = {result.trial.seed: result.outcome for result in end.run.results()}
    assert found[124] is Outcome.ENV_ERROR
    assert sorted(resets(tmp_path)) == [123, 124, 125]


def test_a_trial_that_is_skipped_stays_open(attend: Examine, runtime: dict[str, Any], tmp_path: Path) -> None:
    end = attend(Scripted(reset=["", "s", ""]), tasks=[robot(runtime, tmp_path)])
    assert not end.complete
    assert resets(tmp_path) == [123, 125]
    again = resume(end.run.path, hooks=Hooks(operator=Scripted()))
    assert again.complete
    assert resets(tmp_path) == [123, 125, 124]


def test_a_robot_whose_host_is_lost_does_not_go_on_unasked(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "RECONNECT_S", 60.0)
    host, operator = serve(entry=f"{HERE}:make"), Scripted(success=["n"])
    ask = operator.ask

    def lose(question: Question) -> None:
        ask(question)
        if question.kind == "success" and host.process.poll() is None:
            host.kill()
            (tmp_path / "robot.lock").unlink(missing_ok=True)
            serve(entry=f"{HERE}:make", port=host.port)
            operator.wait()

    operator.ask = lose
    tasks = [robot(host.runtime, tmp_path, success_by="operator")]
    keys = examination(tmp_path / "runs", agents=[RANDOM], n_trials=1, tasks=tasks)
    end = start(config_from_dict(keys), Hooks(operator=operator))
    assert end.complete
    assert [question.kind for question in operator.asked] == ["reset", "success", "again", "success"]
    assert "the connection to the host at" in operator.asked[2].text
    assert operator.forgotten == 1
    (result,) = end.run.results()
    assert (result.attempts, result.success) == (1, False)


def test_the_operator_can_stop_the_run(attend: Examine, runtime: dict[str, Any], tmp_path: Path) -> None:
    end = attend(Scripted(reset=["", "q"]), tasks=[robot(runtime, tmp_path)])
    assert end.cancelled
    assert resets(tmp_path) == [123]


@pytest.mark.parametrize("workers", ["inline", 1])
def test_success_is_what_the_operator_says(attend: Examine, workers: Any) -> None:
    operator = Scripted(success=["y", "n", "r", "y"])
    end = attend(operator, tasks=[task(success_by="operator")], workers=workers, agents=[policy("Linear")])
    assert end.complete
    found = {key[-4:]: result for key, result in by_key(end.run).items()}
    assert {key: result.success for key, result in found.items()} == {"0000": True, "0001": False, "0002": True}
    assert [question.kind for question in operator.asked] == ["success"] * 3 + ["again", "success"]
    for result in found.values():
        episode = end.run.episode(result)
        assert not episode.arrays["success"][:-1].any()
        assert bool(episode.arrays["success"][-1]) is result.success
        assert str(episode.arrays["judged_by"]) == "operator"
        assert result.attempts == 1
        assert np.isfinite(result.wall_time_s or np.nan)


def test_a_robot_without_a_person_is_refused(attend: Examine, runtime: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'task "robot" need a person .* run it at a terminal'):
        attend(None, tasks=[robot(runtime, tmp_path)])
    with pytest.raises(InputError, match="need a person"):
        attend(None, tasks=[robot(runtime, tmp_path, options={"alone": True}, needs_reset="confirm")])
    assert not (tmp_path / "resets").exists(), "what it is like is known without moving it"


def test_the_terminal_takes_a_line_that_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = pty.openpty()
    question = Question("reset", Trial("a", "t", 0, 123), "ready?", {"": "begin", "s": "skip"})
    with os.fdopen(ours, "wb", buffering=0) as keyboard, os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert terminal_operator() is not None
        operator = TerminalOperator()
        keyboard.write(b"\n")
        operator.ask(question)
        assert operator.answer() is None, "what was typed before the question is no answer"
        keyboard.write(b"maybe\n")
        assert operator.answer() is None
        assert capsys.readouterr().err.count("ready?") == 2
        keyboard.write(b"S\n")
        assert operator.answer() == "s"
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert terminal_operator() is None
