"""The comparisons by name. Each measures its sides in turn, several times over, so that a machine with other
things to do treats them alike, and keeps the medians."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import sides
from benchmarks.sides import Measured
from benchmarks.table import Row, shown

IDEAL_BATCHING = 16 / 0.020
"""Steps per second of 16 slots with a policy that takes 20 ms per forward."""


def overhead(repeats: int) -> list[Row]:
    """Trivial environment and policy, inline, 16 slots, 200-step episodes, every step recorded."""
    ours, theirs = in_turn(repeats, lambda: sides.proctor("overhead"), lambda: sides.vla_eval("overhead"))
    whole = middle(ours)["whole"]
    best, rate = fastest(theirs)
    name = "harness overhead, inline, 16 slots"
    note = f"{rates(ours)}. vla-eval saves nothing: {rates(theirs)}"
    return [
        Row(name, whole, 50_000, "the goal", "steps/s", "at least 1", whole >= 50_000),
        Row(name, whole, rate, f"vla-eval, {best}", "steps/s", "at least 20", whole >= 20 * rate, note),
    ]


def batching(repeats: int) -> list[Row]:
    """A policy that sleeps 20 ms per forward whatever the batch, 16 slots."""
    ours, theirs = in_turn(repeats, lambda: sides.proctor("batching"), lambda: sides.vla_eval("batching"))
    steady = middle(ours)["steady"]
    best, rate = fastest(theirs)
    name = "batching, 20 ms per forward"
    note = f"{rates(ours)}. vla-eval while all shards work: {rates(theirs)}"
    return [
        Row(name, steady, IDEAL_BATCHING, "ideal", "steps/s", "at least 0.9", steady >= 0.9 * IDEAL_BATCHING),
        Row(name, steady, rate, f"vla-eval, {best}", "steps/s", "above 1", steady > rate, note),
    ]


def cameras(repeats: int) -> list[Row]:
    """Observations of two 256 x 256 RGB pictures from two worker processes."""
    ours, theirs, raw = in_turn(
        repeats,
        lambda: sides.proctor("cameras"),
        lambda: sides.vla_eval("images"),
        lambda: sides.vla_eval("images_raw"),
    )
    steady = middle(ours)["steady"]
    best, rate = fastest(theirs)
    name = "two 256x256 images, 2 processes"
    note = f"{rates(ours)}. vla-eval sends PNG: {rates(theirs)}"
    raw_note = "raw images are a switch in vla-eval's codec that no config of it reaches"
    raw_best, raw_rate = fastest(raw)
    return [
        Row(name, steady, rate, f"vla-eval, {best}", "steps/s", "at least 10", steady >= 10 * rate, note),
        Row(name, steady, raw_rate, f"vla-eval, {raw_best}", "steps/s", "", None, raw_note),
    ]


def workers(repeats: int) -> list[Row]:
    """Two worker processes on an environment that costs 0.6 ms a step, and two bare processes."""
    work = str(int(sides.bare("calibrate")["work"]))
    ours, theirs = in_turn(repeats, lambda: sides.proctor("busy", work), lambda: sides.bare("busy", work))
    steady, rate = middle(ours)["steady"], middle(theirs)["steady"]
    note = f"{rates(ours)}. Bare processes: {rates(theirs)}"
    name = "0.6 ms a step, 2 processes"
    return [Row(name, steady, rate, "two bare processes", "steps/s", "at least 0.9", steady >= 0.9 * rate, note)]


def start(repeats: int) -> list[Row]:
    """`proctor --help`, and Python doing nothing."""
    command = [str(Path(sys.executable).with_name("proctor")), "--help"]
    nothing = [sys.executable, "-c", "pass"]
    ours, theirs = in_turn(7 * repeats, lambda: duration(command), lambda: duration(nothing))
    seconds, floor = median(ours), median(theirs)
    return [Row("proctor --help", seconds, floor, "python -c pass", "s", "under 0.2 s", seconds < 0.2)]


def memory(repeats: int) -> list[Row]:
    """Peak memory of 10,000 short trials and of 1,000, every step recorded."""
    many, few = in_turn(repeats, lambda: sides.proctor("memory", "10000"), lambda: sides.proctor("memory", "1000"))
    ours, theirs = middle(many)["peak_mb"], middle(few)["peak_mb"]
    goal = "at most 1.1"
    return [Row("peak memory, 10,000 trials", ours, theirs, "1,000 trials", "MB", goal, ours <= 1.1 * theirs)]


COMPARISONS: dict[str, Callable[[int], list[Row]]] = {
    "overhead": overhead,
    "batching": batching,
    "cameras": cameras,
    "workers": workers,
    "start": start,
    "memory": memory,
}


def in_turn(repeats: int, *measures: Callable[[], Any]) -> list[list[Any]]:
    """What each gave, having been run in turn."""
    rounds = [[measure() for measure in measures] for _ in range(repeats)]
    return [list(column) for column in zip(*rounds, strict=True)]


def middle(measured: Sequence[Measured]) -> Measured:
    """The median of every number."""
    return {key: median(one[key] for one in measured) for key in measured[0]}


def fastest(measured: Sequence[Measured]) -> tuple[str, float]:
    """The configuration with the highest median, and that median."""
    medians = middle(measured)
    best = max(medians, key=medians.__getitem__)
    return best, medians[best]


def rates(measured: Sequence[Measured]) -> str:
    medians = middle(measured)
    return ", ".join(f"{key} {shown(value)}" for key, value in medians.items() if key != "peak_mb") + " steps/s"


def duration(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started
