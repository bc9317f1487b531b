"""The tables that other programs read: `summary.csv` and `trials.parquet` (a row per trial), `report.csv` (a
row per agent).

CSV is `;`-delimited with blanks for what is not available. The leading columns are the common ones of all runs, with
those that the sections of the run's suites add among them; further ones come after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from proctor import cells
from proctor.record.columns import OUTCOMES, Trials
from proctor.record.duck import connected
from proctor.report.formats.base import Format
from proctor.report.formats.files import replacing, write_csv
from proctor.report.model import AgentReport, Report
from proctor.report.section import Column

T = TypeVar("T")
TEXT, WHOLE, LARGE, REAL = "VARCHAR", "BIGINT", "UBIGINT", "DOUBLE"

COMMON: dict[str, str] = {
    "agent": TEXT,
    "checkpoint": TEXT,
    "trial": WHOLE,
    "seed": WHOLE,
    "success": WHOLE,
    "steps_total": WHOLE,
    "steps_to_success": WHOLE,
    "episode_reward": REAL,
    "wall_time_s": REAL,
    "sim_time_s": REAL,
    "score": REAL,
    "npz_path": TEXT,
    "task": TEXT,
    "outcome": TEXT,
    "attempts": WHOLE,
    "case": TEXT,
    "clipped_steps": WHOLE,
    "max_steps": WHOLE,
    "error": TEXT,
    "after_stop": WHOLE,
}
"""Columns of every `summary.csv` and their Parquet types."""


def placed(own: Mapping[str, T], further: Iterable[tuple[Column, T]]) -> dict[str, T]:
    """The entries of a table with further ones, each behind the entry that its column names; those that name the same
    one keep their order, and those behind an unknown one come last. An entry is never replaced."""
    after: dict[str, dict[str, T]] = {}
    for column, value in further:
        if column.name not in own:
            after.setdefault(column.after, {}).setdefault(column.name, value)
    found: dict[str, T] = {}
    for name, value in own.items():
        found[name] = value
        found |= after.pop(name, {})
    return {**found, **{name: value for left in after.values() for name, value in left.items()}}


@dataclass(frozen=True)
class TrialTable:
    """The columns of a run's trial table and where their values come from."""

    report: Report
    trials: Trials

    def columns(self) -> dict[str, str]:
        """Name to type: the common ones with those of the sections among them, further score components, further
        metrics in alphabetical order."""
        parts = [f"score_{name}" for name in self._components() if name not in self._placed("component")]
        columns = {**self._first(), **dict.fromkeys([*parts, *self._metric_columns().values()], REAL)}
        return columns | ({"seed": LARGE} if self.trials["seed"].max(initial=0) >= 2**63 else {})

    def values(self) -> dict[str, np.ndarray]:
        """A value for every trial and column that is not by agent or task; NaN or None where there is none."""
        trials = self.trials
        unscored = np.array([not outcome.scored for outcome in OUTCOMES])[trials["outcome"]]
        found = {name: trials[name] for name in COMMON if name in trials.columns}
        found |= {"trial": trials["index"], "npz_path": trials["npz"]}
        silent = np.array([task in trials.without_success for _, task in trials.pairs], bool)[trials["cell"]]
        found |= {"success": np.where(unscored | silent, np.nan, trials["success"])}
        components = {name: f"score_{name}" for name in trials.components} | self._placed("component")
        found |= {components[name]: column for name, column in trials.components.items()}
        metrics = self._metric_columns() | self._placed("metric")
        found |= {metrics[name]: column for name, column in trials.metrics.items() if name in metrics}
        return {name: column for name, column in found.items() if name in self.columns()}

    def names(self) -> dict[str, tuple[np.ndarray, list[str | None]]]:
        """For columns of few different texts: the place of each trial's text in a list."""
        trials = self.trials
        agents = [self._agents[agent] for agent, _ in trials.pairs]
        texts = [column.name for column in self.report.columns if column.of_agent is not None]
        return {
            "agent": (trials["cell"], [agent.agent for agent in agents]),
            "checkpoint": (trials["cell"], [agent.checkpoint for agent in agents]),
            "task": (trials["cell"], [task for _, task in trials.pairs]),
            "outcome": (trials["outcome"], [outcome.value for outcome in OUTCOMES]),
            **{name: (trials["cell"], [agent.texts[name] for agent in agents]) for name in texts},
        }

    @property
    def _agents(self) -> dict[str, AgentReport]:
        return {agent.agent: agent for agent in self.report.agents}

    def _first(self) -> dict[str, str]:
        return placed(COMMON, ((c, REAL if c.of_agent is None else TEXT) for c in self.report.columns))

    def _placed(self, source: Literal["metric", "component"]) -> dict[str, str]:
        """Column by metric or component, of those that a section has found a place for."""
        return {getattr(c, source): c.name for c in self.report.columns if getattr(c, source) is not None}

    def _components(self) -> list[str]:
        return list(dict.fromkeys(name for agent in self.report.agents for name in agent.overall.components))

    def _metric_columns(self) -> dict[str, str]:
        """Column of each metric that has a value in some trial and no place of its own; a name that another column has
        gets a prefix."""
        names = set(self.trials.measured()) - set(self._placed("metric"))
        taken = {*self._first(), *(f"score_{name}" for name in self._components())}
        return {name: f"metric_{name}" if name in taken else name for name in sorted(names)}


def write_trials(path: Path, table: TrialTable, how: str) -> None:
    """Write the table of trials as a file of one kind."""
    with connected() as connection, replacing(path) as temporary:
        connection.execute(f"COPY ({selected(connection, table, how)}) TO {_quoted(str(temporary))} ({how})")


def selected(connection: Any, table: TrialTable, how: str) -> str:
    """The query that gives the table, typed, once its columns have been shown to a connection."""
    names, values = table.names(), table.values()
    source = {f"v{i}": column for i, column in enumerate(values.values())}
    source |= {f"n{i}": place + 1 for i, (place, _) in enumerate(names.values())}
    picks = [_pick(name, kind, list(values), list(names), how) for name, kind in table.columns().items()]
    connection.register("source", source)
    for i, (_, texts) in enumerate(names.values()):
        connection.execute(f"SET VARIABLE n{i} = ?", [texts])
    return f"SELECT {', '.join(picks)} FROM source"


CSV = "FORMAT csv, DELIM ';', HEADER true, NULL '', USE_TMP_FILE false"
_FORMULAS = ", ".join(f"chr({ord(first)})" for first in cells.FORMULAS + "'")
PARQUET = "FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false"


def _pick(name: str, kind: str, values: list[str], names: list[str], how: str) -> str:
    """How a column is read from the source, with its type; what is not there is NULL. Text of a CSV file is no formula
    (`proctor.cells`)."""
    if name in names:
        i = names.index(name)
        value = f"list_extract(CAST(getvariable('n{i}') AS {kind}[]), n{i})"
    elif name not in values:
        value = "NULL"
    else:
        value = f"v{values.index(name)}"
        if name != "seed":  # which every trial has, and which a DOUBLE need not hold
            value = f"nullif({value}, '')" if kind == TEXT else f"nullif({value}, 'nan'::DOUBLE)"
    if how == CSV and kind == TEXT:
        value = f"CASE WHEN left({value}, 1) IN ({_FORMULAS}) THEN '''' || {value} ELSE {value} END"
    return f"CAST({value} AS {kind}) AS {_identifier(cells.written(name) if how == CSV else name)}"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


class CsvFormat(Format):
    """`summary.csv`, a row per trial, and `report.csv`, a row per agent in rank order."""

    name = "csv"

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        write_trials(folder / "summary.csv", TrialTable(report, trials), CSV)
        rows = [agent_row(report, agent) for agent in report.agents]
        write_csv(folder / "report.csv", rows[0], (row.values() for row in rows))
        return ["summary.csv", "report.csv"]


class ParquetFormat(Format):
    """`trials.parquet`: the rows of `summary.csv`, typed."""

    name = "parquet"

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        write_trials(folder / "trials.parquet", TrialTable(report, trials), PARQUET)
        return ["trials.parquet"]


def agent_row(report: Report, agent: AgentReport) -> dict[str, Any]:
    """The keys that other programs know, then rank, counts, intervals and bounds."""
    all_, success, score = agent.overall, agent.overall.success, agent.overall.score
    return {
        **agent_keys(report, agent),
        "rank": agent.rank,
        "n": all_.n,
        "n_unscored": all_.n_unscored,
        "n_planned": all_.planned,
        "successes": success.successes,
        **_ends("success_rate", success.interval),
        **_ends("success_rate_bound", success.bounds),
        **_ends("score", score.interval),
        "steps_to_success_n": all_.steps_to_success.n,
        "wall_time_mean_s": all_.wall_time_s.mean,
        "clipped_steps": all_.clipped_steps,
        "n_repeats": all_.n_repeats,
        **{f"score_{name}_mean": estimate.mean for name, estimate in all_.components.items()},
    }


def agent_keys(report: Report, agent: AgentReport) -> dict[str, Any]:
    """The keys of an agent in `report.json` and the first columns of `report.csv`, as other programs know
    them."""
    summary = agent.overall
    common = {
        "agent": agent.agent,
        "checkpoint": agent.checkpoint,
        "n_trials": summary.n_trials,
        "success_rate": summary.success.rate,
        "score_mean": summary.score.mean,
        "score_std": summary.score.std,
        "steps_total_mean": summary.steps_total.mean,
        "steps_to_success_mean": summary.steps_to_success.mean,
    }
    return placed(common, ((column, _agent_value(column, agent)) for column in report.agent_columns))


def _agent_value(column: Column, agent: AgentReport) -> Any:
    if column.of_agent is not None:
        return agent.texts[column.name]
    if column.metric is not None:
        return agent.overall.metric(column.metric).value
    component = agent.overall.components.get(str(column.component))
    return None if component is None else component.mean


def _ends(name: str, interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}
