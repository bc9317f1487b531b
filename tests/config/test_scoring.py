"""A config that names no scoring is scored as its tasks say."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.config import config_from_dict, load_config
from proctor.errors import InputError
from proctor.registry import SCORINGS

PLAIN: Any = "CartPole-v1"
GOAL: Any = {"suite": "gymnasium", "options": {"id": "MountainCar-v0", "success": {"terminated": True}}}
VESSEL: Any = {"suite": "endovascular"}
MOTION: Any = {"suite": "tracking", "options": {"motions": ["procedural:sway"]}}
KICK: Any = {"suite": "soccer", "options": {"task": "kick_to_target"}}
CRAFT: Any = {"suite": "crafter"}


def mode(*tasks: Any, **keys: Any) -> str:
    return config_from_dict({"agents": [{"policy": "random"}], "tasks": list(tasks), **keys}).scoring.mode


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([PLAIN], "return"),
        ([GOAL], "success"),
        ([VESSEL], "default_v2"),
        ([MOTION], "tracking_v1"),
        ([KICK], "terminal"),
        ([CRAFT], "success"),
        ([VESSEL, VESSEL], "default_v2"),
        ([GOAL, CRAFT], "success"),
        ([VESSEL, CRAFT], "success"),
        ([PLAIN, VESSEL], "return"),
        ([PLAIN, GOAL], "return"),
    ],
)
def test_the_default_is_the_tasks_own(tasks: list[Any], expected: str) -> None:
    assert mode(*tasks) == expected
    assert mode(*tasks, scoring={"floor": 0.0}) == expected
    assert mode(*tasks, scoring={"mode": None}) == expected


def test_what_a_config_says_stays() -> None:
    assert mode(VESSEL, scoring="return") == "return"


def test_the_options_are_those_of_the_default() -> None:
    raw = {"agents": [{"policy": "zero"}], "tasks": [VESSEL], "scoring": {"options": {"w_success": 3}}}
    options = config_from_dict(raw).scoring.options
    assert (options["w_success"], options["w_safety"]) == (3.0, 1.0)


def test_a_file_names_line_and_key_of_a_wrong_option(tmp_path) -> None:
    file = tmp_path / "e.yml"
    file.write_text("agents: [{policy: zero}]\ntasks: [{suite: endovascular}]\nscoring:\n  options:\n    w_sucess: 1\n")
    with pytest.raises(Exception, match=r'e\.yml:5: scoring\.options\.w_sucess: unknown key.*did you mean "w_success"'):
        load_config(file)


@pytest.mark.parametrize("name", SCORINGS.names())
def test_every_registered_scoring_declares_its_options(name: str) -> None:
    assert SCORINGS.load(name).Options is not None


@pytest.mark.parametrize("mode", [["success"], {"name": "success"}, 3, None, True])
def test_a_mode_that_is_no_name_is_a_problem_or_the_default(mode: object) -> None:
    raw = {"agents": [{"name": "a", "policy": "random"}], "tasks": ["CartPole-v1"], "scoring": {"mode": mode}}
    if mode is None:
        assert config_from_dict(raw).scoring.mode == "return"
        return
    with pytest.raises(InputError, match=r"scoring\.mode"):
        config_from_dict(raw)
