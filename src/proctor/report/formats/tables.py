"""The tables that other programs read: `summary.csv` and `trials.parquet` (a row per trial), `report.csv` (a
row per agent).

CSV is `;`-delimited with blanks for what is not available. The leading columns are a fixed format; further
ones come after them. The Parquet file has the same rows, typed.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.record.columns import OUTCOMES, Trials
from proctor.report.formats.files import replacing
from proctor.report.model import AgentReport, MeanEstimate, Report

TEXT, WHOLE, REAL = "VARCHAR", "BIGINT", "DOUBLE"

FIXED: dict[str, str] = {
    "agent": TEXT,
    "tool": TEXT,
    "checkpoint": TEXT,
    "trial": WHOLE,
    "seed": WHOLE,
    "success": WHOLE,
    "steps_total": WHOLE,
    "steps_to_success": WHOLE,
    "episode_reward": REAL,
    "path_ratio_last": REAL,
    "trajectory_length_last": REAL,
    "avg_translation_speed_last": REAL,
    "tip_speed_max_mm_s": REAL,
    "tip_speed_mean_mm_s": REAL,
    "wall_time_s": REAL,
    "sim_time_s": REAL,
    "wall_lcp_max_abs_max": REAL,
    "wall_lcp_sum_abs_mean": REAL,
    "wall_wire_force_norm_max": REAL,
    "wall_wire_force_norm_mean": REAL,
    "wall_collision_force_norm_max": REAL,
    "wall_collision_force_norm_mean": REAL,
    "wall_force_max": REAL,
    "score": REAL,
    "score_success": REAL,
    "score_efficiency": REAL,
    "score_safety": REAL,
    "score_smoothness": REAL,
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
"""Columns of every `summary.csv` and their Parquet types; the format that other programs know ends with
`npz_path`."""

METRICS_IN_FIXED = frozenset(list(FIXED)[9:23]) - {"wall_time_s", "sim_time_s"}


@dataclass(frozen=True)
class TrialTable:
    """The columns of a run's trial table and where their values come from."""

    report: Report
    trials: Trials

    def columns(self) -> dict[str, str]:
        """Name to type: the fixed ones, further score components, further metrics in alphabetical order."""
        parts = [f"score_{name}" for name in self._components() if f"score_{name}" not in FIXED]
        return {**FIXED, **dict.fromkeys([*parts, *self._metric_columns().values()], REAL)}

    def values(self) -> dict[str, np.ndarray]:
        """A value for every trial and column that is not by agent or task; NaN or None where there is none."""
        trials, named = self.trials, self._metric_columns()
        unscored = np.array([not outcome.scored for outcome in OUTCOMES])[trials["outcome"]]
        found = {name: trials[name] for name in FIXED if name in trials.columns}
        found |= {"trial": trials["index"], "npz_path": trials["npz"]}
        found |= {"success": np.where(unscored, np.nan, trials["success"])}
        found |= {f"score_{name}": column for name, column in trials.components.items()}
        found |= {named.get(name, name): column for name, column in trials.metrics.items()}
        return {name: column for name, column in found.items() if name in self.columns()}

    def names(self) -> dict[str, tuple[np.ndarray, list[str | None]]]:
        """For columns of few different texts: the place of each trial's text in a list."""
        trials = self.trials
        agents = {agent.agent: agent for agent in self.report.agents}
        return {
            "agent": (trials["cell"], [agent for agent, _ in trials.pairs]),
            "tool": (trials["cell"], [agents[agent].tool for agent, _ in trials.pairs]),
            "checkpoint": (trials["cell"], [agents[agent].checkpoint for agent, _ in trials.pairs]),
            "task": (trials["cell"], [task for _, task in trials.pairs]),
            "outcome": (trials["outcome"], [outcome.value for outcome in OUTCOMES]),
        }

    def _components(self) -> list[str]:
        return list(dict.fromkeys(name for agent in self.report.agents for name in agent.overall.components))

    def _metric_columns(self) -> dict[str, str]:
        """Column of each metric that has none among the fixed ones; a name taken by another column gets a
        prefix."""
        names = {name for agent in self.report.agents for name in agent.overall.metrics} - METRICS_IN_FIXED
        taken = {*FIXED, *(f"score_{name}" for name in self._components())}
        return {name: f"metric_{name}" if name in taken else name for name in sorted(names)}


def _text(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=";", lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_trials(folder: Path, table: TrialTable) -> None:
    """Write `summary.csv` and `trials.parquet`, side by side. One thread each: the bytes of the files depend on the
    rows only."""
    names, values = table.names(), table.values()
    source = {f"v{i}": column for i, column in enumerate(values.values())}
    source |= {f"n{i}": place + 1 for i, (place, _) in enumerate(names.values())}
    picks = [_pick(name, kind, list(values), list(names)) for name, kind in table.columns().items()]
    query = f"SELECT {', '.join(picks)} FROM source"

    def write(target: str, how: str) -> None:
        import duckdb

        with duckdb.connect(":memory:", config={"threads": 1}) as connection, replacing(folder / target) as temporary:
            connection.register("source", source)
            for i, (_, texts) in enumerate(names.values()):
                connection.execute(f"SET VARIABLE n{i} = ?", [texts])
            connection.execute(f"COPY ({query}) TO {_quoted(str(temporary))} ({how})")

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, ("summary.csv", "trials.parquet"), (CSV, PARQUET)))


CSV = "FORMAT csv, DELIM ';', HEADER true, NULL ''"
PARQUET = "FORMAT parquet, COMPRESSION zstd"


def _pick(name: str, kind: str, values: list[str], names: list[str]) -> str:
    """How a column is read from the source, with its type; what is not there is NULL."""
    if name in names:
        i = names.index(name)
        value = f"list_extract(getvariable('n{i}'), n{i})"
    elif name not in values:
        value = "NULL"
    else:
        value = f"v{values.index(name)}"
        value = f"nullif({value}, '')" if kind == TEXT else f"nullif({value}, 'nan'::DOUBLE)"
    return f"CAST({value} AS {kind}) AS {_identifier(name)}"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted(words: str) -> str:
    return "'" + words.replace("'", "''") + "'"


def write_agents(path: Path, report: Report) -> None:
    """`report.csv`: the agents in rank order."""
    rows = [agent_row(agent) for agent in report.agents]
    write_csv(path, rows[0], ([_text(value) for value in row.values()] for row in rows))


def agent_row(agent: AgentReport) -> dict[str, Any]:
    """The keys that other programs know, then rank, counts, intervals and bounds."""
    all_, success, score = agent.overall, agent.overall.success, agent.overall.score
    return {
        **agent_keys(agent),
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
        "n_recorded": all_.n_recorded,
        "n_distinct": all_.n_distinct,
        **_component_means(all_.components),
    }


def agent_keys(agent: AgentReport) -> dict[str, Any]:
    """The keys of an agent in `report.json` and the first columns of `report.csv`, as other programs know
    them."""
    summary = agent.overall
    speed, force = summary.metrics.get("tip_speed_max_mm_s"), summary.metrics.get("wall_force_max")
    return {
        "agent": agent.agent,
        "tool": agent.tool,
        "checkpoint": agent.checkpoint,
        "n_trials": summary.n_trials,
        "success_rate": summary.success.rate,
        "score_mean": summary.score.mean,
        "score_std": summary.score.std,
        "steps_total_mean": summary.steps_total.mean,
        "steps_to_success_mean": summary.steps_to_success.mean,
        "tip_speed_max_mean_mm_s": None if speed is None else speed.value,
        "wall_force_max_mean": None if force is None else force.value,
    }


def _ends(name: str, interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _component_means(components: Any) -> dict[str, float | None]:
    found: dict[str, MeanEstimate] = dict(components)
    return {f"score_{name}_mean": estimate.mean for name, estimate in found.items()}
