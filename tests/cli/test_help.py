"""What `proctor --help` says: whole sentences on a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from proctor.cli import app


def verbs(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words after `proctor` of every command and group, the empty ones for `proctor` itself included."""
    yield path
    for name, command in getattr(group, "commands", {}).items():
        yield from verbs(command, (*path, name))


@pytest.mark.parametrize("words", list(verbs(typer.main.get_command(app))), ids=" ".join)
def test_no_line_of_a_help_text_is_cut(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = CliRunner().invoke(app, [*words, "--help"])
    assert said.exit_code == 0
    usage, *lines = said.output.splitlines()
    assert usage.startswith("Usage: ")
    assert not [line for line in lines if line.endswith("...")]
    assert all(len(line) <= 80 for line in lines)
