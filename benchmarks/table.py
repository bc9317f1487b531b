"""What a comparison gives, as rows of a table, and the machine it ran on."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

MET = {True: "yes", False: "NO", None: ""}


@dataclass(frozen=True)
class Row:
    """One comparison. `ratio` is Proctor's value over the other's, the median over rounds where both were measured in
    turn; `goal` is on it, or has a unit; `met` is None where there is none."""

    name: str
    proctor: float
    other: float
    other_is: str
    unit: str
    goal: str
    met: bool | None
    ratio: float
    note: str = ""
    error: float | None = None
    """The standard error of the ratio, where it is known."""

    @classmethod
    def failed(cls, name: str, why: str) -> Row:
        """The row of a comparison that gave no numbers."""
        return cls(name, math.nan, math.nan, "", "", "", False, math.nan, f"failed: {why}")


HEAD = "| comparison | Proctor | other | ratio | goal | met |\n|---|---:|---:|---:|---|---|"


def markdown(rows: Sequence[Row]) -> str:
    """The table, and the notes below it."""
    return "\n".join([HEAD, *map(line, rows), "", *notes(rows)])


def line(row: Row) -> str:
    """The row as a line of the table."""
    if math.isnan(row.ratio):
        return f"| {row.name} | failed | | | {row.goal} | {MET[row.met]} |"
    error = "" if row.error is None else f" ± {row.error:.2g}"
    return (
        f"| {row.name} | {shown(row.proctor)} {row.unit} | {shown(row.other)} {row.unit}, {row.other_is} "
        f"| {row.ratio:.3g}{error} | {row.goal} | {MET[row.met]} |"
    )


def notes(rows: Sequence[Row]) -> list[str]:
    return [f"- {row.name}: {row.note}" for row in rows if row.note]


def shown(value: float) -> str:
    """Three digits that mean something, thousands apart."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def machine() -> str:
    """The machine in one line: processor, cores, memory, system, and the packages that matter."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "gymnasium"))
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    cores = len(os.sched_getaffinity(0))
    return (
        f"{_processor()}, {cores} cores, {memory_gb:.0f} GB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, {packages}; load before the run {os.getloadavg()[0]:.2f}"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
