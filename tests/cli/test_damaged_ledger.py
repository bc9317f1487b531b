"""A ledger that is damaged within, where only reading its rows shows it, is said to be."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from made_up_runs import below, run_of


@pytest.mark.parametrize("verb", ["report", "compare", "leaderboard"])
def test_a_ledger_that_is_damaged_within_is_said_to_be(
    tmp_path: Path, tell: Any, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    run = run_of(tmp_path, "run", below(9), agents=("a", "b"))

    def torn(*args: Any) -> Any:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr("proctor.record.ledger._parts", torn)
    told = tell(verb, run)
    assert told.code == 2
    assert "error: the ledger of the run is damaged: database disk image is malformed" in told.err
