"""A run as its user has it: the folder, and what it says, as tables, plots, frames and a verdict; and a
comparison of runs.

`Run.open(path)` reads any run folder. Nothing here writes to it. DuckDB carries the table of trials
to a frame of whatever library is installed: typed, and as Arrow without a further package.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np

from proctor.errors import InputError
from proctor.record.columns import Trials
from proctor.record.duck import connected
from proctor.record.latest import found_run
from proctor.record.rundir import RunDir
from proctor.report import Report
from proctor.report.build import judgement
from proctor.report.draw.alone import Drawing
from proctor.report.formats.tables import PARQUET, TrialTable, selected
from proctor.runs import plots
from proctor.runs.report import read_report
from proctor.verdict.comparison.compare import Compared, compare
from proctor.verdict.comparison.model import Comparison
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

Kind = Literal["pandas", "polars", "arrow", "numpy"]


class ArrowTable:
    """Trials as Arrow: whatever speaks the Arrow PyCapsule interface takes it, such as `pyarrow.table(...)`,
    `polars.DataFrame(...)`, `pandas.DataFrame.from_arrow(...)` or `duckdb`. It can be taken any number of times."""

    def __init__(self, table: TrialTable):
        self._table = table

    def relation(self) -> Any:
        """The trials as a relation of DuckDB, for SQL over them."""
        connection = connected()
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


class Run(RunDir):
    """A run folder and what came of it. `path` is where it lies; notebooks and terminals show its table, its plots and
    its verdict."""

    @classmethod
    def of(cls, run: RunDir) -> Run:
        """The run of a folder that is open already."""
        return cls(run.path, trust=run.trust)

    @classmethod
    def open(cls, path: str | Path, *, trust: bool = False) -> Self:
        """A run folder; `latest` is the newest one, as on the command line. `trust`: code that the run was scored with
        may be imported, whoever wrote it."""
        return super().open(found_run(os.fspath(path)), trust=trust)

    @property
    def verdict(self) -> str:
        """What the trials support, in a sentence or two."""
        return self._report.verdict

    @property
    def plot(self) -> plots.Plots:
        """Drawings that a notebook displays by itself: `scores()`, `success()`, `differences()`, `signal(...)`."""
        return plots.Plots(self, self._report)

    def frame(self, kind: Kind | None = None) -> Any:
        """A row for every finished trial, with the columns of `trials.parquet`: a frame of pandas or of polars, the
        first that is installed, or what `kind` says: "pandas", "polars", "arrow" (any library takes it by the Arrow
        PyCapsule interface; nothing needs to be installed), or "numpy", a dict of arrays. Without any, "arrow"."""
        return frame_of(self._report, self._trials, kind)

    def trial(self, which: TrialResult | Trial | str | int) -> TrialResult:
        """One finished trial: by its key, such as "agent/task/0003" (zeros may be left out), or by its index where the
        run has one agent and one task. Raises InputError, with the nearest keys, where there is none."""
        if isinstance(which, TrialResult):
            return which
        wanted = self._key(which)
        found = {result.trial.key: result for result in self.results()}
        if wanted not in found:
            shown = ", ".join(list(found)[:3]) or "none is finished"
            raise InputError(f'{self.path} has no finished trial "{wanted}"; it has {shown}, ...')
        return found[wanted]

    def signals(self, which: TrialResult | Trial | str | int) -> dict[str, np.ndarray]:
        """The recorded arrays of a trial by name: actions, rewards, and whatever else was recorded at each step."""
        return dict(self.episode(self.trial(which)).arrays)

    def compare(self, *others: RunDir | str | Path, level: float = 0.95, across: bool = False) -> RunComparison:
        """Which agent is better, of this run and of others; of this run alone where no other is given. `across`: also
        where the runs' protocols differ, without pairs."""
        paths = [self.path, *(Path(other) for other in others)]
        return RunComparison(compare(paths, level, across=across, trust=self.trust))

    def _key(self, which: Trial | str | int) -> str:
        if isinstance(which, Trial):
            return which.key
        if isinstance(which, str):
            start, _, number = which.rpartition("/")
            return f"{start}/{int(number):04d}" if number.isdecimal() else which
        cfg = self.plain_config()
        if len(cfg.agents) * len(cfg.tasks) > 1:
            example = f"{cfg.agents[0].name}/{cfg.tasks[0].name}/{which}"
            raise InputError(f"trial {which} of which agent and task? Write it out, such as {example!r}")
        return f"{cfg.agents[0].name}/{cfg.tasks[0].name}/{which:04d}"

    # How it is shown -------------------------------------------------------------------------------------------------

    @cached_property
    def _read(self) -> tuple[Report, Trials]:
        return read_report(self)

    @property
    def _report(self) -> Report:
        return self._read[0]

    @property
    def _trials(self) -> Trials:
        return self._read[1]

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def __str__(self) -> str:
        from rich.console import Console

        out = io.StringIO()
        Console(file=out, width=100, highlight=False).print(self)
        return out.getvalue().rstrip()

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        from proctor.report.console import ranked_table

        if not self._report.finished:
            return Text(f"{self.path}: no trial is finished")
        told = [finding.text for finding in self._report.findings if finding.level == "caution"]
        cautions = [Text(f"caution: {text}", style="yellow") for text in told]
        return Group(ranked_table(self._report), *cautions, Text(self.verdict), Text(str(self.path), style="dim"))

    def _repr_html_(self) -> str:
        return plots.run_html(self, self._report)


class RunComparison:
    """What came of comparing runs; `comparison` has the numbers, `cautions` are to be read before them."""

    def __init__(self, found: Compared):
        self._found = found

    @property
    def comparison(self) -> Comparison:
        return self._found.comparison

    @property
    def cautions(self) -> tuple[str, ...]:
        return self._found.cautions

    @property
    def verdict(self) -> str:
        """What the trials support, in a sentence or two."""
        return judgement.verdict(self._found.comparison)

    def plot(self) -> Drawing:
        """Differences between the agents, with their intervals."""
        return plots.differences(self._found.comparison)

    def __repr__(self) -> str:
        return f"RunComparison({self.verdict!r})"

    def __str__(self) -> str:
        from rich.console import Console

        out = io.StringIO()
        Console(file=out, width=120, highlight=False).print(self)
        return out.getvalue().rstrip()

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        from proctor.report.console import pairs_table, standings_table

        cautions = [Text(f"caution: {caution}", style="yellow") for caution in self.cautions]
        found = self._found.comparison
        return Group(standings_table(found), pairs_table(found), *cautions, Text(self.verdict))

    def _repr_html_(self) -> str:
        return plots.comparison_html(self)
