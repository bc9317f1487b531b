"""Code of the user's is asked about where somebody can answer."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest

from proctor import EvalConfig, config_from_dict
from proctor.cli.run import confirmed

SOURCE = "def evaluation_fn(env, eval_state):\n    return 0.0, eval_state\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def config(tmp_path: Path, *trusts: bool) -> EvalConfig:
    (tmp_path / "my_eval.py").write_text(SOURCE)
    tasks = [
        {"suite": "soccer", "name": f"task{i}", "options": {"evaluation": {"file": "my_eval.py", "trust": trust}}}
        for i, trust in enumerate(trusts)
    ]
    return config_from_dict({"agents": [{"policy": "zero"}], "tasks": [*tasks, "CartPole-v1"]}, tmp_path)


def trusted(cfg: EvalConfig) -> list[Any]:
    return [task.options["evaluation"]["trust"] for task in cfg.tasks if "evaluation" in task.options]


@pytest.mark.parametrize(("answer", "expected"), [("y\n", [True, True]), ("n\n", [False, False])])
def test_a_file_is_shown_with_its_hash_and_asked_about_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: str,
    expected: list[bool],
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    cfg = confirmed(config(tmp_path, False, False))
    shown = capsys.readouterr().err
    assert trusted(cfg) == expected
    assert shown.count(hashlib.sha256(SOURCE.encode()).hexdigest()) == 1
    assert SOURCE.rstrip() in shown
    assert shown.count("Run it?") == 1


def test_nobody_is_asked_about_what_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(""))
    cfg = config(tmp_path, True)
    assert confirmed(cfg) == cfg


def test_nobody_is_asked_without_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    cfg = config(tmp_path, False)
    assert confirmed(cfg) == cfg
