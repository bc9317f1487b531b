"""The drawings of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.report import Report
from proctor.report.build.judgement import difference_words
from proctor.report.draw.alone import Drawing, Row, intervals, lines
from proctor.report.sections.differences import shown_measures
from proctor.report.sections.ranking import ranking_words
from proctor.verdict.comparison import Comparison, Measure

if TYPE_CHECKING:
    from proctor.runs.run import Run

MOST = 40


class Plots:
    """Made of a run's report when they are asked for."""

    def __init__(self, run: Run, report: Report):
        self._run, self._report = run, report

    def scores(self) -> Drawing:
        """Mean score of every agent, with its interval."""
        return self._ranking("score")

    def success(self) -> Drawing:
        """Success rate of every agent, with its interval. Raises InputError where nothing says what success is."""
        if not self._report.defines_success:
            raise InputError(
                "nothing says what success is on these tasks; say it with success=..., such as success=475 for a "
                "return to reach, or plot scores()"
            )
        return self._ranking("success")

    def differences(self, measure: Measure | None = None) -> Drawing:
        """Differences between agents with their intervals. Raises InputError for a run with one agent."""
        found = self._report.comparison
        if found is None:
            raise InputError("differences need two agents with scored trials; compare runs with run.compare(other)")
        return differences(found, measure)

    def signal(self, which: Any, name: str = "reward") -> Drawing:
        """A recorded array of a trial over its steps, each column a line."""
        result = self._run.trial(which)
        arrays = self._run.signals(result)
        if name not in arrays:
            known = ", ".join(sorted(arrays))
            raise InputError(f'trial {result.trial.key} has no "{name}"{did_you_mean(name, arrays)}; it has {known}')
        values = np.asarray(arrays[name], float)
        columns = values.reshape(len(values), -1)
        named = [(name if columns.shape[1] == 1 else f"{name}[{i}]", columns[:, i]) for i in range(columns.shape[1])]
        return lines(f"{name} of {result.trial.key}", "step", named[:MOST])

    def _ranking(self, measure: Measure) -> Drawing:
        words = ranking_words(self._report)
        rows = []
        for agent in self._report.agents[:MOST]:
            found = agent.overall.measure(measure)
            value, _ = words[agent.agent].get(measure, ("", ""))
            rows.append(Row(agent.agent, found.value, found.interval, f"{value}, n {found.n:,}"))
        unit = self._report.scoring.unit if measure == "score" else ""
        title = {"score": f"Mean {self._report.scoring.name}", "success": "Success rate"}[measure]
        return intervals(f"{title} [{unit}]" if unit else title, rows)


def differences(found: Comparison, measure: Measure | None = None) -> Drawing:
    """Every pair of a comparison: first minus second."""
    of = measure or shown_measures(found)[0]
    rows = [
        Row(f"{p.a} − {p.b}", p.of(of).value, p.of(of).interval, difference_words(p.of(of))[0])
        for p in found.pairs[:MOST]
    ]
    return intervals(f"Difference in {of}, first minus second", rows, zero=True)
