"""`python -m benchmarks.statistics_tables` writes the tables of docs/statistics.md anew.

Each stands between `<!-- table: NAME -->` and `<!-- end of table -->`. The table of recorded outcomes needs the files
of STEP's authors (`--step FOLDER`) and is left as it is without them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import step_setting
from benchmarks.error_rates import COVERAGE, FALSE_ALARMS, Case
from proctor.stats import SpendingTest, conditional_power
from proctor.stats.spending import futility_looks

PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"
SIZES = (10, 20, 50, 200)
RATES = ((0.7, 0.7), (0.8, 0.7), (0.8, 0.6), (0.9, 0.5))
LIMITS = (0.0, 0.05, 0.1, 0.2)
MAXIMUM = 100


def case_table(cases: Sequence[Case], draws: int, sizes: Sequence[int] = SIZES) -> str:
    """A row for each case, in percent."""
    first = "interval" if cases is COVERAGE else "test"
    lines = [f"| {first} | of | " + " | ".join(f"n = {n}" for n in sizes) + " |", "|---|---|" + "---:|" * len(sizes)]
    for case in cases:
        cells = " | ".join(f"{100 * case.share(n, draws):.1f}" for n in sizes)
        lines.append(f"| {case.name} | {case.of} | {cells} |")
    return "\n".join(lines)


def futility_table(draws: int) -> str:
    """How often a difference is settled, and after how many pairs of at most 100, by the limit of futility."""
    header = ["rates", "without", *(f"below {100 * limit:g} %" for limit in LIMITS[1:])]
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * len(LIMITS)]
    for a, b in RATES:
        rng = np.random.default_rng([int(100 * a), int(100 * b)])
        streams = (rng.random((draws, MAXIMUM)) < a).astype(int) - (rng.random((draws, MAXIMUM)) < b)
        ends = np.array([futile_ends(row) for row in streams], dtype=float)
        settled, pairs = ends[:, :, 1].mean(axis=0), ends[:, :, 0].mean(axis=0)
        cells = " | ".join(f"{100 * share:.1f} %, {n:.0f}" for share, n in zip(settled, pairs, strict=True))
        lines.append(f"| {a:g}, {b:g} | {cells} |")
    return "\n".join(lines)


def futile_ends(steps: np.ndarray) -> list[tuple[int, bool]]:
    """(pairs, settled) of one stream for each limit."""
    test, chances = SpendingTest(len(steps)), dict[int, float]()
    for n, step in enumerate(steps.tolist(), start=1):
        if test.update(step > 0, step < 0).stop:
            break
        if n in futility_looks(len(steps)):
            chances[n] = conditional_power(steps[:n], len(steps))
    end = (test.decision.n, test.decision.better is not None)
    return [next(((n, False) for n, chance in chances.items() if chance < limit), end) for limit in LIMITS]


def rewritten(text: str, tables: dict[str, Callable[[], str]]) -> str:
    """The page with each of these tables in its place. Raises ValueError for one that has none."""
    for name, make in tables.items():
        begin, end = f"<!-- table: {name} -->\n", "<!-- end of table -->"
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"the page has no place for the table {name}: {begin.strip()} ... {end}")
        print(f"{name} ...", flush=True)
        drawn = f"{begin}{make()}\n{end}"
        text = pattern.sub(lambda _, drawn=drawn: drawn, text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statistics_tables", description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="samples per cell; a fifth of them for costly ones")
    parser.add_argument("--step", type=Path, help="a folder with the recorded outcomes of STEP's authors")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page to write")
    given = parser.parse_args(arguments)
    tables: dict[str, Callable[[], str]] = {
        "coverage": lambda: case_table(COVERAGE, given.draws),
        "false alarms": lambda: case_table(FALSE_ALARMS, given.draws),
        "futility": lambda: futility_table(max(2, given.draws // 4)),
        "step simulated": lambda: step_setting.simulated_table(given.draws),
    }
    if given.step is not None:
        tables["step recorded"] = lambda: step_setting.recorded_table(given.step)
    given.page.write_text(rewritten(given.page.read_text(), tables))


if __name__ == "__main__":
    main()
