"""This checkout beside another one: `python -m benchmarks NAME --against /path/to/other/checkout`.

The other checkout is run by its own `.venv`. Rates are measured while both sides work on and on and take turns of 0.4 s
(`benchmarks/endless.py`); what is a property of a whole command is measured by running that command of both checkouts
in turns. The other value of a row is that of the other checkout, and every ratio has a standard error. What takes turns
has a second row, of steps per second of processor time, which others on the machine disturb less.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import turns
from benchmarks.sides import ROOT, last_json, output
from benchmarks.table import Row

TURNS = 40
"""Of each side, for every repeat."""
WORSE = 0.03
"""What a row may be worse by. One that is worse by more, but by less than two standard errors, is let pass."""


@dataclass(frozen=True)
class Endless:
    """A case of `benchmarks.endless`."""

    name: str
    arguments: tuple[str, ...]
    unit = "steps/s"


@dataclass(frozen=True)
class Command:
    """A module of the benchmarks that prints one JSON line; what is measured is the value at `key`."""

    name: str
    arguments: tuple[str, ...]
    key: str
    unit: str

    def measure(self, tree: Path) -> float:
        module, *arguments = self.arguments
        return last_json(output([python_of(tree), "-m", f"benchmarks.{module}", *arguments], tree))[self.key]


@dataclass(frozen=True)
class Help:
    """The time of `proctor --help`."""

    name = "proctor --help"
    unit = "s"

    def measure(self, tree: Path) -> float:
        command = [str(Path(python_of(tree)).with_name("proctor")), "--help"]
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


Part = Endless | Command | Help
PLACED = {"worker": "policy in the worker", "engine": "policy asked by the engine"}


def _placed(name: str, case: str) -> list[Part]:
    return [Endless(f"{name}, {said}", (case, placement)) for placement, said in PLACED.items()]


def _parallel(slots: str) -> Command:
    return Command(f"20 ms per forward, {slots} parallel", ("proctor_side", "parallel", slots), "steady", "steps/s")


def _staged(lengths: str) -> Command:
    name = f"planner and expert, {lengths} lengths, 16 slots"
    return Command(name, ("staged", "plans", lengths, "16"), "steady", "plans/s")


PARTS: dict[str, list[Part]] = {
    "overhead": [
        *_placed("harness overhead, inline, 16 slots, while running", "trivial"),
        *(
            Command(f"harness overhead, whole run, {said}", ("proctor_side", "overhead", placement), "whole", "steps/s")
            for placement, said in PLACED.items()
        ),
    ],
    "batching": [Command("batching, 20 ms per forward", ("proctor_side", "batching"), "steady", "steps/s")],
    "staged": [_staged("equal"), _staged("random")],
    "parallel": [_parallel(slots) for slots in ("1", "4", "8", "16")],
    "cameras": [Endless("two 256x256 images, 2 processes", ("cameras",))],
    "workers": [
        *_placed("0.5 ms a step, 2 processes", "busy0.5"),
        *_placed("2 ms a step, 2 processes", "busy2"),
    ],
    "start": [Help()],
    "memory": [Command("peak memory, 10,000 trials", ("proctor_side", "memory", "10000"), "peak_mb", "MB")],
    "endovascular": [
        Command("wire in an arch, 1 core", ("endovascular", "steps", "2400"), "steps", "steps/s"),
        *_placed("wire in an arch, 2 processes", "endovascular"),
    ],
    "soccer": [Endless("penalty kick, 2 processes", ("soccer",))],
    "tracking_rollout": [Endless("tracking rollout, 64 worlds, engine", ("tracking",))],
}
"""The parts of a comparison that are a rate or a command of their own."""
WHOLE = ("emd", "tracking", "tracking_rollout", "statistics", "comparing", "goals", "report")
"""The comparisons that are run whole in both checkouts; their rows are paired by name."""


def against(other: Path, name: str, repeats: int) -> Iterator[Row]:
    """The rows of a comparison, this checkout beside the other."""
    for part in PARTS.get(name, []):
        if isinstance(part, Endless):
            yield from _taking_turns(part, other, TURNS * repeats)
        else:
            yield row(part.name, part.unit, other, *in_rounds(part.measure, other, repeats))
    if name in WHOLE:
        yield from _whole(name, other, repeats)


def python_of(tree: Path) -> str:
    python = tree / ".venv" / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{tree} has no .venv/bin/python; run `make setup` there")
    return str(python)


def _taking_turns(part: Endless, other: Path, count: int) -> Iterator[Row]:
    """Both run this checkout's `benchmarks.endless`, each with its own Proctor: by the clock, and by processor time."""
    command = ("-m", "benchmarks.endless", *part.arguments)
    found = turns.taken({tree: [python_of(tree), *command] for tree in (ROOT, other)}, count)
    ours, theirs = found[ROOT], found[other]
    yield row(part.name, part.unit, other, turns.by_clock(ours), turns.by_clock(theirs))
    yield row(f"{part.name}, processor time", part.unit, other, *turns.by_processor(ours, theirs))


def in_rounds(measure: Callable[[Path], float], other: Path, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """What this checkout and the other gave, measured in turns, with the one that begins changing every round."""
    found: dict[Path, list[float]] = {ROOT: [], other: []}
    order = [ROOT, other]
    for _ in range(2 * repeats):
        for tree in order:
            found[tree].append(measure(tree))
        order.reverse()
    return np.array(found[ROOT]), np.array(found[other])


def _whole(name: str, other: Path, repeats: int) -> Iterator[Row]:
    """The rows that the whole comparison gives in both checkouts, each run once a round."""
    rounds: list[dict[Path, dict[str, dict[str, Any]]]] = []
    for index in range(2 * repeats):
        order = [ROOT, other] if index % 2 == 0 else [other, ROOT]
        rounds.append({tree: _rows_of(tree, name) for tree in order})
    for title, shown in rounds[0][ROOT].items():
        both = [one for one in rounds if title in one[ROOT] and title in one[other]]
        if both:
            ours, theirs = (np.array([one[tree][title]["proctor"] for one in both]) for tree in (ROOT, other))
            yield row(title, shown["unit"], other, ours, theirs)


def _rows_of(tree: Path, name: str) -> dict[str, dict[str, Any]]:
    """The rows by name; two rows of one name differ only in what they are compared with."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        command = [python_of(tree), "-m", "benchmarks", name, "--repeats", "1", "--json", str(out)]
        output(command, tree, codes=(0, 1))
        rows = json.loads(out.read_text())["rows"]
    return {row["name"]: row for row in rows if row["proctor"] is not None}


def row(name: str, unit: str, other: Path, ours: np.ndarray, theirs: np.ndarray) -> Row:
    """What both sides gave, measured in turns, as a row."""
    ratio, error = turns.ratio(ours, theirs)
    loss = 1 - ratio if unit.endswith("/s") else ratio - 1
    met = loss <= max(WORSE, 2 * error)
    goal, note = f"not worse by {WORSE:.0%}", f"{len(ours)} measurements of each side"
    return Row(name, float(ours.mean()), float(theirs.mean()), other.name, unit, goal, met, ratio, note, error)
