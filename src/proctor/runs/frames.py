"""The table of a run's trials as a frame of whatever library is installed. DuckDB carries it there: typed, and as Arrow
without a further package."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Literal, get_args

from proctor.errors import InputError
from proctor.record.columns import Trials
from proctor.report import Report
from proctor.report.formats.tables import PARQUET, TrialTable, selected

Kind = Literal["pandas", "polars", "arrow", "numpy"]


class ArrowTable:
    """Trials as Arrow: whatever speaks the Arrow PyCapsule interface takes it, such as `pyarrow.table(...)`,
    `polars.DataFrame(...)`, `pandas.DataFrame.from_arrow(...)` or `duckdb`. It can be taken any number of times."""

    def __init__(self, table: TrialTable):
        self._table = table

    def relation(self) -> Any:
        """The trials as a relation of DuckDB, for SQL over them."""
        import duckdb

        connection = duckdb.connect(":memory:", config={"threads": 1})
        return connection.sql(selected(connection, self._table, PARQUET))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.relation().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"ArrowTable({self._table.trials.n:,} trials, {len(self._table.columns())} columns)"


def frame_of(report: Report, trials: Trials, kind: Kind | None) -> Any:
    """The trials as a frame. Raises InputError for a kind that is unknown or not installed."""
    if kind is not None and kind not in get_args(Kind):
        raise InputError(f'found the kind "{kind}"; expected one of {", ".join(get_args(Kind))}')
    chosen = kind or next((name for name in ("pandas", "polars") if importlib.util.find_spec(name)), "arrow")
    arrow = ArrowTable(TrialTable(report, trials))
    if chosen == "numpy":
        return arrow.relation().fetchnumpy()
    if chosen == "arrow":
        return arrow
    if importlib.util.find_spec(chosen) is None:
        raise InputError(
            f"{chosen} is not installed: pip install {chosen}; frame('arrow') and frame('numpy') need nothing further"
        )
    library = importlib.import_module(chosen)
    return library.DataFrame(arrow) if chosen == "polars" else arrow.relation().df()
