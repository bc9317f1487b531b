"""A comparison of runs as its user has it: tables, plot and verdict in a notebook and in a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from proctor.report.build import judgement
from proctor.report.draw.alone import Drawing
from proctor.runs import plots
from proctor.verdict.comparison.compare import Compared, compare
from proctor.verdict.comparison.model import Comparison


def compared(paths: Sequence[Path], level: float, *, across: bool, trust: bool) -> RunComparison:
    return RunComparison(compare(paths, level, across=across, trust=trust))


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
        from proctor.runs.notebook import comparison_html

        return comparison_html(self)
