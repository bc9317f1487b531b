"""The one DuckDB of this process, which computes tables in memory. To start one takes longer than to write the tables
of a small run."""

from __future__ import annotations

from functools import cache
from typing import Any


def connected() -> Any:
    """A connection, to be closed, with names and variables of its own. It has one thread, so that the bytes of a file
    that it writes depend on the rows only."""
    return _database().cursor()


@cache
def _database() -> Any:
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})
