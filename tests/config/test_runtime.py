"""The key `runtime` of a task: its forms, its paths, and what is wrong with it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.config import ConfigError, config_from_dict, load_config
from proctor.config.models import RuntimeCfg
from proctor.config.runtime import fits, is_constraint


def resolved(runtime: Any, base: Path | None = None) -> RuntimeCfg | None:
    task = {"suite": "gymnasium", "options": {"id": "CartPole-v1"}, "runtime": runtime}
    config = config_from_dict({"agents": [{"policy": "random"}], "tasks": [task]}, base)
    again = config_from_dict(config.model_dump(mode="json"))
    assert again == config, "what config.json shows is read back as it was"
    return config.tasks[0].runtime


def test_every_form(tmp_path):
    assert resolved(None) is None
    assert resolved("crafter") == RuntimeCfg(name="crafter")
    assert resolved("gymnasium==1.4.0") == resolved("gymnasium@1.4.0") == RuntimeCfg(name="gymnasium@1.4.0")
    assert resolved({"python": sys.executable}) == RuntimeCfg(python=sys.executable)
    packages = {"packages": ["crafter>=1.8", "./mine"], "python": "3.10"}
    expected = RuntimeCfg(packages=("crafter>=1.8", str(tmp_path / "mine")), python="3.10")
    assert resolved(packages, tmp_path) == expected
    assert resolved({"address": "127.0.0.1:7000"}) == RuntimeCfg(address="127.0.0.1:7000")


def test_paths_start_from_the_config_s_folder_and_links_stay(tmp_path):
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "token").write_text("secret")
    assert resolved({"python": "env/bin/python"}, tmp_path) == RuntimeCfg(python=str(tmp_path / "env/bin/python"))
    served = resolved({"address": "robot:7000", "token_file": "token"}, tmp_path)
    assert served == RuntimeCfg(address="robot:7000", token_file=str(tmp_path / "token"))


NUMBER = (
    'runtime.python: found the number 3.1; expected a version of Python as text; write it in quotes: python: "3.10"'
)
KEYS = "runtime.pyton: unknown key; expected one of address, name, packages, python, token_file"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("crafer", 'runtime: no recipe of a runtime is named "crafer"; expected one of crafter, '),
        ("crafter@2", 'runtime: the recipe "crafter" leaves no version open; write runtime: crafter'),
        ("[crafter]", "runtime: found a list of 1; expected a mapping"),
        ("{}", "runtime: found none of its keys; expected one form: NAME, {python: PATH}, {packages: [...], "),
        ("{name: crafter, python: python3}", "runtime: found name and python; expected one form"),
        ("{packages: [a], address: 'h:1'}", "runtime: found packages and address; expected one form: NAME, "),
        ("{packages: [a], python: 3.10}", NUMBER),
        ("{packages: [a], python: new}", 'runtime.python: found "new"; expected a version of Python such as "3.10"'),
        ("{packages: []}", "runtime.packages: found an empty list; expected at least 1 entry"),
        ("{packages: ['--pre']}", 'found the package "--pre"; expected a requirement such as "numpy>=2"'),
        ("{python: gone/bin/python}", "runtime.python: no such file: "),
        ("{python: .}", "is a folder; expected an interpreter of Python"),
        ("{address: robot}", 'found the address "robot"; expected "HOST:PORT", such as "127.0.0.1:7000"'),
        ("{python: python3, token_file: exam.yml}", "found token_file without address"),
        ("{pyton: x}", KEYS + '; did you mean "python"?'),
    ],
)
def test_what_is_wrong_is_said_with_file_line_and_key(tmp_path, written, said):
    file = tmp_path / "exam.yml"
    head = "agents: [{policy: random}]\ntasks:\n  - suite: gymnasium\n    options: {id: CartPole-v1}\n"
    file.write_text(f"{head}    runtime: {written}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    found = str(caught.value)
    assert said in found
    assert f"{file}:5: tasks[0].runtime" in found


def test_a_folder_with_an_interpreter_gets_a_hint(tmp_path):
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").write_text("")
    with pytest.raises(ConfigError, match=r"expected an interpreter of Python; did you mean .*/env/bin/python\?"):
        resolved({"python": "./env"}, tmp_path)


@pytest.mark.parametrize(
    ("version", "constraint", "expected"),
    [
        ("3.10.13", "3.10", True), ("3.1.0", "3.10", False), ("3.11.0", "3.10", False), ("3.11.7", ">=3.11", True),
        ("3.10.13", ">=3.11", False), ("3.10.13", ">=3.8,<3.11", True), ("3.11.0", ">=3.8,<3.11", False),
        ("3.10.13", "<=3.10", True), ("3.10.13", ">3.10", False), ("3.10.13", "==3.10.13", True),
        ("3.10.12", "==3.10.13", False), ("3.14.0rc1", ">=3.14", True), ("3.12.1", "", True),
        ("2.7.18", ">=3.8", False),
    ],
)  # fmt: skip
def test_which_versions_are_meant(version, constraint, expected):
    assert fits(version, constraint) == expected


def test_what_says_a_version():
    assert all(map(is_constraint, ("3", "3.10", ">=3.8, <3.11", "==3.10.13")))
    assert not any(map(is_constraint, ("", "2.7", "python3", "3.10.*", ">=3.8,", "~=3.8")))
