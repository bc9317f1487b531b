"""Which values of a config are paths, and where relative ones start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor import config_from_dict
from proctor.config.paths import Context, resolve_options
from proctor.config.problems import Problems
from proctor.errors import InputError


def test_what_a_suite_says_is_a_place_is_a_path_unless_it_has_a_scheme(tmp_path: Path) -> None:
    context = Context(tmp_path, Problems("test"), frozenset({"robot", "motions"}))
    options = {
        "robot": "models/g1.xml",
        "motions": ["clips/*.csv", "procedural:all", {"path": "dances", "name": "x"}],
        "cache_folder": "cache",
        "success": "phc_mean",
    }
    assert resolve_options(options, ("tasks", 0, "options"), context) == {
        "robot": str(tmp_path / "models" / "g1.xml"),
        "motions": [
            str(tmp_path / "clips" / "*.csv"),
            "procedural:all",
            {"path": str(tmp_path / "dances"), "name": "x"},
        ],
        "cache_folder": str(tmp_path / "cache"),
        "success": "phc_mean",
    }


LONG = "9" * 5000
AGENT, TASK = {"name": "a", "policy": "random"}, "CartPole-v1"


@pytest.mark.parametrize("path", [LONG, f"/{LONG}/x", "x/" * 3000])
@pytest.mark.parametrize(
    "place",
    [
        lambda path: {"agents": [{"name": "a", "policy": f"{path}.py:Policy"}]},
        lambda path: {"agents": [{"name": "a", "checkpoint": f"{path}.onnx"}]},
        lambda path: {"agents": [{"name": "a", "policy": "torch", "checkpoint": path, "options": {"module": "m:M"}}]},
        lambda path: {"tasks": [{"suite": f"{path}.py:Suite"}]},
        lambda path: {"tasks": [{"suite": "tracking", "options": {"motions": path}}]},
        lambda path: {"tasks": [{"suite": "soccer", "options": {"task": "x", "evaluation": {"file": path}}}]},
        lambda path: {"scoring": f"{path}.py:Scoring"},
        lambda path: {"loggers": [{"kind": f"{path}.py:Logger"}]},
    ],
)
def test_a_path_too_long_for_the_system_is_no_such_file(place: Any, path: str) -> None:
    with pytest.raises(InputError):
        config_from_dict({"agents": [AGENT], "tasks": [TASK], **place(path)})
