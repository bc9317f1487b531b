"""What a config may say of an mjlab task, and what it is told where it may not. Nothing here needs mjlab."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

from proctor import ConfigError, config_from_dict
from proctor.errors import InputError
from proctor.suites import find_suite
from proctor.suites.mjlab.building import apply_overrides
from proctor.suites.mjlab.suite import MjlabOptions, MjlabSuite

GO1 = "Mjlab-Velocity-Flat-Unitree-Go1"


def test_the_suite_says_what_it_is() -> None:
    suite = find_suite("mjlab")
    assert isinstance(suite, MjlabSuite)
    one, many = MjlabOptions(task=GO1), MjlabOptions(task=GO1, batch=True)
    assert suite.task_name(one) == GO1
    assert (suite.is_batch(one), suite.is_batch(many)) == (False, True)
    assert suite.needs() == [("mjlab", "mjlab")]
    assert suite.runtime == "mjlab"


def test_success_is_defined_where_the_config_says_so() -> None:
    suite = MjlabSuite()
    rules = {
        rule: MjlabOptions.model_validate({"task": GO1, "success": rule}) for rule in (None, "command", "survived")
    }
    assert [suite.defines_success(options) for options in rules.values()] == [False, True, True]
    assert suite.task_defaults(rules["command"]) == {"success_rule": "ever"}
    assert suite.task_defaults(rules["survived"]) == suite.task_defaults(rules[None]) == {}


def test_a_config_names_a_task_by_its_id() -> None:
    config = config_from_dict({"agents": [{"policy": "zero"}], "tasks": [{"suite": "mjlab", "options": {"task": GO1}}]})
    assert config.tasks[0].name == GO1
    assert config.tasks[0].options["play"] is True


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "task"),
        ({"task": "a b"}, "task"),
        ({"task": GO1, "observations": []}, "observations"),
        ({"task": GO1, "observations": ["actor", "actor"]}, "actor: named twice"),
        ({"task": GO1, "signals": ["poses"]}, "signals"),
        ({"task": GO1, "device": "gpu"}, "device"),
        ({"task": GO1, "device": "cuda:1"}, "a GPU gives no trial twice to the byte; say exact: false to allow it"),
        ({"task": GO1, "episode_length_s": 0}, "episode_length_s"),
        ({"task": GO1, "overrides": {"auto_reset": True}}, "overrides.auto_reset: Proctor resets the worlds itself"),
        ({"task": GO1, "overrides": {"curriculum.terrain": None}}, "there is no curriculum"),
        ({"task": GO1, "overrides": {"scene.num_envs": 4}}, "use the option batch"),
        ({"task": GO1, "overrides": {"episode_length_s": 4}}, "use the option episode_length_s"),
    ],
)
def test_what_a_task_may_not_say(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config_from_dict({"agents": [{"policy": "zero"}], "tasks": [{"suite": "mjlab", "options": options}]})


@dataclass
class Ranges:
    speed: tuple[float, float] = (-1.0, 1.0)


@dataclass
class Command:
    ranges: Ranges = field(default_factory=Ranges)
    every_s: float = 3.0
    heading: bool = True
    worlds: int = 4
    frame: str | None = None


@dataclass
class Config:
    commands: dict[str, Command] = field(default_factory=lambda: {"twist": Command()})
    events: dict[str, Any] = field(default_factory=lambda: {"push": print, "reset": print})


def test_overrides_change_what_they_name() -> None:
    config = Config()
    changes = {"commands.twist.ranges.speed": [1, 1], "commands.twist.every_s": 5, "commands.twist.heading": False}
    apply_overrides(config, {**changes, "commands.twist.frame": "base", "events.push": None})
    twist = config.commands["twist"]
    assert (twist.ranges.speed, twist.every_s, twist.heading, twist.frame) == ((1.0, 1.0), 5.0, False, "base")
    assert isinstance(twist.every_s, float)
    assert all(isinstance(bound, float) for bound in twist.ranges.speed)
    assert list(config.events) == ["reset"]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("command.twist", None, 'the config has no "command"; did you mean "commands"?'),
        ("commands.walk", None, '"commands" has no "walk"; it has twist'),
        ("commands.twist.ranges.height", [0, 1], '"commands.twist.ranges" has no "height"; it has speed'),
        ("commands.twist.every_s.x", 1, '"commands.twist.every_s" has no parts'),
        ("commands.twist.every_s", "often", "found 'often'; expected a number, as 3.0 is"),
        ("commands.twist.worlds", 1.5, "found 1.5; expected a whole number, as 4 is"),
        ("commands.twist.worlds", True, "found True; expected a whole number, as 4 is"),
        ("commands.twist.heading", 1, "found 1; expected true or false, as True is"),
        ("commands.twist.ranges.speed", 1, "found 1; expected a list"),
        ("commands.twist.ranges", {"speed": [0, 1]}, "expected a Ranges, which cannot be written here"),
    ],
)
def test_overrides_that_do_not_fit_are_refused(path: str, value: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        apply_overrides(Config(), {path: value})
    assert f"overrides.{path}: " in str(caught.value)
    assert said in str(caught.value)


def test_without_mjlab_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mjlab", None)
    with pytest.raises(InputError, match="needs the package mjlab, which this interpreter does not have"):
        MjlabSuite().make(MjlabOptions(task=GO1), render=False, worlds=1)


def test_neither_suite_nor_environment_import_a_simulator() -> None:
    code = "import sys, proctor.suites.mjlab.suite, proctor.suites.mjlab.worlds as e; print(e.make.__name__);"
    code += "assert not {'mjlab', 'mujoco', 'torch', 'warp'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
