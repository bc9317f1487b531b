from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from report_runs import Run, make_run

from proctor.cli import main


@pytest.fixture
def run() -> Run:
    return make_run(["expert", "student", "random"], ["reach", "push", "insert"], 20)


@pytest.fixture
def build() -> Callable[..., Run]:
    return make_run


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a verb of the command line prints; it must end well."""

    def call(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["proctor", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code == 0, said.err
        return said.out

    return call
