"""Code of a user's that ends the program, wherever it does: a run that did not run its trials never looks like one that
did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from telling import Tell

from proctor import Run
from proctor.cli import main

PARTS = """

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from proctor import Policy
from proctor.metrics import Metric

WHERE = "{where}"


def here(place):
    if place == WHERE:
        raise {ending}


here("import")


class World(gymnasium.Env):
    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Box(-1, 1, (1,), np.float32)

    def __init__(self):
        here("make")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        here("env reset")
        self.age = 0
        return self.np_random.random(2, np.float32), {{}}

    def step(self, action):
        here("step")
        self.age += 1
        return self.np_random.random(2, np.float32), 1.0, self.age >= 4, False, {{"success": True}}

    def close(self):
        here("env close")


gymnasium.registry.pop("Ending-v0", None)
gymnasium.register("Ending-v0", World)


class Agent(Policy):
    def __init__(self):
        here("load")

    def reset(self, trials):
        here("policy reset")

    def act(self, batch):
        here("act")
        return np.zeros((len(batch), 1))

    def close(self):
        here("policy close")


class Age(Metric):
    name, unit, direction, needs = "age", "steps", "up", ("rewards",)

    def __call__(self, episode):
        here("metric")
        return 1.0


def rate(result):
    here("scoring")
    return 1.0
"""


def exam(folder: Path, where: str, ending: str, **keys: Any) -> Path:
    parts = folder / "parts.py"
    parts.write_text(PARTS.format(where=where, ending=ending))
    config = {
        "agents": [{"name": "ending", "policy": f"{parts}:Agent"}],
        "tasks": [{"suite": "gymnasium", "name": "world", "options": {"id": f"{parts}:Ending-v0"}}],
        "scoring": {"mode": f"{parts}:rate", "metrics": [f"{parts}:Age"]},
        "n_trials": 3, "num_parallel": 2, "workers": "inline", "limits": {"retries": 0},
        "output_root": str(folder / "out"), **keys,
    }  # fmt: skip
    path = folder / "exam.yml"
    path.write_text(yaml.safe_dump(config))
    return path


PLACES = {
    "import": (2, "ends the program when it is imported (SystemExit(0))"),
    "load": (2, 'agent "ending" cannot be loaded: SystemExit: 0'),
    "policy reset": (1, "policy_error"),
    "act": (1, "policy_error"),
    "policy close": (0, ""),
    "make": (2, 'the environment of task "world" cannot be made: SystemExit: 0'),
    "env reset": (1, "env_error"),
    "step": (1, "env_error"),
    "env close": (0, ""),
    "metric": (1, 'the metric "age" failed on an episode of 4 steps: SystemExit: 0'),
    "scoring": (2, "failed on trial"),
}


@pytest.mark.parametrize("where", PLACES)
def test_exiting_with_0_is_never_success(tmp_path: Path, tell: Tell, where: str) -> None:
    code, says = PLACES[where]
    said = tell("run", exam(tmp_path, where, "SystemExit(0)"), "-q")
    assert said.code == code
    assert "Traceback" not in said.err
    if code == 0:
        (folder,) = (tmp_path / "out").iterdir()
        assert len(list(Run.open(folder).results())) == 3
    elif "_error" in says:
        (folder,) = (tmp_path / "out").iterdir()
        assert {str(result.outcome) for result in Run.open(folder).results()} == {says}
    else:
        assert says in said.err


@pytest.mark.parametrize("where", ["import", "load", "act", "make", "step", "scoring"])
def test_check_finds_code_that_exits(tmp_path: Path, tell: Tell, where: str) -> None:
    said = tell("check", exam(tmp_path, where, "SystemExit(0)"))
    if where != "scoring":
        assert said.code == 2
        assert "SystemExit" in said.out + said.err


@pytest.mark.parametrize("ending", ["GeneratorExit", "__import__('asyncio').CancelledError"])
@pytest.mark.parametrize("where", ["load", "act", "make", "step"])
def test_what_is_no_exception_by_name_is_not_success_either(
    tmp_path: Path, tell: Tell, where: str, ending: str
) -> None:
    said = tell("run", exam(tmp_path, where, ending), "-q")
    assert said.code in (1, 2)
    assert "Traceback" not in said.err


@pytest.mark.parametrize("ending", ["KeyboardInterrupt", "BaseException('mine')"])
def test_what_a_policy_raises_on_a_thread_of_its_own_is_its_error(tmp_path: Path, tell: Tell, ending: str) -> None:
    tell("run", exam(tmp_path, "act", ending, n_trials=1), "-q")
    (folder,) = (tmp_path / "out").iterdir()
    (result,) = Run.open(folder).results()
    assert result.outcome == "policy_error"
    assert result.error is not None
    assert result.error.startswith(ending.partition("(")[0])


def test_an_interruption_before_a_verb_begins_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("proctor.cli.command", lambda: interrupted)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
