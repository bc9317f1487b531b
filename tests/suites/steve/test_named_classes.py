"""What an environment inside a checkpoint may name: stEVE imports and calls it."""

from __future__ import annotations

import sys
import types

import pytest

from proctor.errors import InputError
from proctor.suites.steve.build import _only_steves_classes as check


@pytest.fixture
def eve(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package with a class of its own, and a function and a class of somebody else."""
    import subprocess

    module = types.ModuleType("eve.env")
    own = type("Env", (), {"__module__": "eve.env"})
    vars(module).update(Env=own, call=subprocess.call, Popen=subprocess.Popen)
    monkeypatch.setitem(sys.modules, "eve", types.ModuleType("eve"))
    monkeypatch.setitem(sys.modules, "eve.env", module)


def test_classes_of_steve_are_taken(eve: None) -> None:
    check({"_class": "eve.env.Env", "_id": 1, "parts": [{"_class": "eve.env.Env"}, 3, "x"]}, "a.everl")


@pytest.mark.parametrize(
    "name",
    ["subprocess.Popen", "os.system", "eve.env.call", "eve.env.Popen", "eve.env.Gone", "eve.gone.Env", "eve", "", 7],
)
def test_anything_else_is_refused_wherever_it_stands(eve: None, name: object) -> None:
    with pytest.raises(InputError, match="which is no class of stEVE; nothing of it is run"):
        check({"_class": "eve.env.Env", "inner": {"deep": [{"_class": name, "args": ["touch", "x"]}]}}, "a.everl")
