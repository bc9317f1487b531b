"""The comparisons by name. Each measures its sides in turn, several times over, so that a machine with other
things to do treats them alike, and keeps the medians."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import sides, transport, turns
from benchmarks.cluster import cluster
from benchmarks.comparing import comparing
from benchmarks.first_example import first_example
from benchmarks.goals import goals
from benchmarks.hosts import hosts
from benchmarks.intervals import statistics
from benchmarks.report_scale import report
from benchmarks.sides import Measured
from benchmarks.table import Row, shown
from benchmarks.tracking_metrics import tracking
from benchmarks.tracking_rollout import rollout
from benchmarks.view import view

IDEAL_BATCHING = 16 / 0.020
"""Steps per second of 16 slots with a policy that takes 20 ms per forward."""


PLACEMENTS = {"worker": "policy in the worker", "engine": "policy asked by the engine"}
TURNS = 40
"""Of each side, for every repeat."""
STEPS_MS = (0.5, 2.0)
"""What a step of the `workers` comparison costs."""


def overhead(repeats: int) -> list[Row]:
    """Trivial environment and policy, inline, 16 slots, 200-step episodes, every step recorded."""
    *ours, theirs = in_turn(
        repeats,
        *(partial(sides.proctor, "overhead", placement) for placement in PLACEMENTS),
        lambda: sides.vla_eval("overhead"),
    )
    best, rate = fastest(theirs)
    rows = []
    for placement, measured in zip(PLACEMENTS, ours, strict=True):
        whole, ratio = middle(measured)["whole"], paired(measured, "whole", theirs, best)
        name = f"harness overhead, inline, 16 slots, {PLACEMENTS[placement]}"
        note = f"{rates(measured)}. vla-eval saves nothing: {rates(theirs)}"
        rows += [
            Row(name, whole, 50_000, "the goal", "steps/s", "at least 1", whole >= 50_000, whole / 50_000),
            Row(name, whole, rate, f"vla-eval, {best}", "steps/s", "at least 20", ratio >= 20, ratio, note),
        ]
    return rows


def batching(repeats: int) -> list[Row]:
    """A policy that sleeps 20 ms per forward whatever the batch, 16 slots."""
    ours, theirs = in_turn(repeats, lambda: sides.proctor("batching"), lambda: sides.vla_eval("batching"))
    steady = middle(ours)["steady"]
    best, rate = fastest(theirs)
    share, ratio = steady / IDEAL_BATCHING, paired(ours, "steady", theirs, best)
    name = "batching, 20 ms per forward"
    note = f"{rates(ours)}. vla-eval while all shards work: {rates(theirs)}"
    return [
        Row(name, steady, IDEAL_BATCHING, "ideal", "steps/s", "at least 0.9", share >= 0.9, share),
        Row(name, steady, rate, f"vla-eval, {best}", "steps/s", "above 1", ratio > 1, ratio, note),
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
    ratio = paired(ours, "steady", theirs, best)
    name = "two 256x256 images, 2 processes"
    note = f"{rates(ours)}. vla-eval sends PNG: {rates(theirs)}"
    raw_note = "raw images are a switch in vla-eval's codec that no config of it reaches"
    raw_best, raw_rate = fastest(raw)
    raw_ratio = paired(ours, "steady", raw, raw_best)
    return [
        Row(name, steady, rate, f"vla-eval, {best}", "steps/s", "at least 10", ratio >= 10, ratio, note),
        Row(name, steady, raw_rate, f"vla-eval, {raw_best}", "steps/s", "", None, raw_ratio, raw_note),
    ]


def workers(repeats: int) -> Iterator[Row]:
    """Two worker processes on an environment that costs 0.5 ms a step (and one of 2 ms), and two bare processes."""
    for step_ms in STEPS_MS:
        yield from _workers(repeats, step_ms)


def _workers(repeats: int, step_ms: float) -> list[Row]:
    cost, episodes = str(step_ms), str(int(40 / step_ms))
    *ours, theirs = in_turn(
        2 * repeats,
        *(partial(sides.proctor, "busy", cost, episodes, placement) for placement in PLACEMENTS),
        lambda: sides.bare("busy", cost, episodes),
    )
    return beside_bare(f"{step_ms:g} ms a step, 2 processes", ours, theirs)


def start(repeats: int) -> list[Row]:
    """`proctor --help`, and Python doing nothing."""
    command = [str(Path(sys.executable).with_name("proctor")), "--help"]
    nothing = [sys.executable, "-c", "pass"]
    ours, theirs = in_turn(7 * repeats, lambda: duration(command), lambda: duration(nothing))
    seconds, floor = median(ours), median(theirs)
    return [Row("proctor --help", seconds, floor, "python -c pass", "s", "under 0.2 s", seconds < 0.2, seconds / floor)]


def memory(repeats: int) -> list[Row]:
    """Peak memory of 10,000 short trials and of 1,000, every step recorded."""
    many, few = in_turn(repeats, lambda: sides.proctor("memory", "10000"), lambda: sides.proctor("memory", "1000"))
    ours, theirs = middle(many)["peak_mb"], middle(few)["peak_mb"]
    ratio = ours / theirs
    return [Row("peak memory, 10,000 trials", ours, theirs, "1,000 trials", "MB", "at most 1.1", ratio <= 1.1, ratio)]


def endovascular(repeats: int) -> Iterator[Row]:
    """The embedded wire simulator: one process; two workers and two bare processes, in turns of 0.4 s."""
    (alone,) = in_turn(repeats, lambda: sides.endovascular("steps", "2400"))
    rate = middle(alone)["steps"]
    yield Row("wire in an arch, 1 core", rate, 400, "the goal", "steps/s", "at least 1", rate >= 400, rate / 400)
    side = (sys.executable, "-m", "benchmarks.endovascular")
    commands = {placement: [*side, "proctor", placement] for placement in PLACEMENTS}
    found = turns.rates({**commands, "bare": [*side, "bare"]}, TURNS * repeats)
    bare = found["bare"]
    for placement, said in PLACEMENTS.items():
        ratio, error = turns.ratio(found[placement], bare)
        name, goal = f"wire in an arch, 2 processes, {said}", "at least 0.9"
        note = f"ratio {ratio:.3f}, standard error {error:.3f}, over {len(bare)} turns"
        two, other = float(found[placement].mean()), float(bare.mean())
        yield Row(name, two, other, "two bare processes", "steps/s", goal, ratio >= 0.9, ratio, note, error)


def soccer(repeats: int) -> list[Row]:
    """A humanoid and a ball on sai-mujoco: two workers record the reward terms, two bare processes read them."""
    ours, theirs = in_turn(repeats, lambda: sides.soccer("proctor", "60"), lambda: sides.soccer("bare", "60"))
    ratio = paired(ours, "steady", theirs, "steady")
    two, other = middle(ours)["steady"], middle(theirs)["steady"]
    goal = "at least 0.9"
    return [Row("penalty kick, 2 processes", two, other, "two bare processes", "steps/s", goal, ratio >= 0.9, ratio)]


def staged(repeats: int) -> Iterator[Row]:
    """A planner of 60 ms and an expert of 20 ms whatever the batch, 7 expert calls per plan, 16 slots."""
    for lengths in ("equal", "random"):
        yield from _staged(repeats, lengths)


def _staged(repeats: int, lengths: str) -> list[Row]:
    ours, theirs = in_turn(
        repeats, lambda: sides.staged("plans", lengths, "16"), lambda: sides.staged("loop", lengths)
    )  # fmt: skip
    found, share = middle(ours), middle(ours)["share"]
    loop, ratio = middle(theirs)["steady"], paired(ours, "steady", theirs, "steady")
    name, plans = f"planner and expert, {lengths} lengths, 16 slots", found["steady"]
    note = f"rows per forward: plan {found['plan rows']:.1f}, act {found['act rows']:.1f}"
    goal, met = ("at least 0.9", share >= 0.9) if lengths == "equal" else ("", None)
    return [
        Row(name, plans, plans / share, "ideal", "plans/s", goal, met, share, note),
        Row(name, plans, loop, "a serial loop", "plans/s", "", None, ratio),
    ]


def parallel(repeats: int) -> Iterator[Row]:
    """A policy that sleeps 20 ms per forward whatever the batch, at 1, 4, 8 and 16 slots or vla-eval shards."""
    for slots in (1, 4, 8, 16):
        yield from _parallel(repeats, str(slots))


def _parallel(repeats: int, slots: str) -> list[Row]:
    ours, theirs = in_turn(
        repeats, lambda: sides.proctor("parallel", slots), lambda: sides.vla_eval("parallel", slots)
    )  # fmt: skip
    steady, default = middle(ours)["steady"], middle(theirs)["default"]
    best, rate = fastest([{k: v for k, v in one.items() if k != "default"} for one in theirs])
    ratio, batched = paired(ours, "steady", theirs, "default"), paired(ours, "steady", theirs, best)
    name = f"20 ms per forward, {slots} parallel"
    goal, met = ("at least 5", ratio >= 5) if slots == "16" else ("", None)
    return [
        Row(name, steady, default, "vla-eval, as it is by default", "steps/s", goal, met, ratio),
        Row(name, steady, rate, f"vla-eval, {best}", "steps/s", "", None, batched),
    ]


COMPARISONS: dict[str, Callable[[int], Iterable[Row]]] = {
    "overhead": overhead,
    "batching": batching,
    "staged": staged,
    "parallel": parallel,
    "cameras": cameras,
    "workers": workers,
    "hosts": hosts,
    "cluster": cluster,
    "first_example": first_example,
    "start": start,
    "memory": memory,
    "emd": transport.emd,
    "tracking": tracking,
    "tracking_rollout": rollout,
    "endovascular": endovascular,
    "soccer": soccer,
    "statistics": statistics,
    "comparing": comparing,
    "goals": goals,
    "report": report,
    "view": view,
}


def in_turn(repeats: int, *measures: Callable[[], Any]) -> list[list[Any]]:
    """What each gave, having been run in turn."""
    rounds = [[measure() for measure in measures] for _ in range(repeats)]
    return [list(column) for column in zip(*rounds, strict=True)]


def beside_bare(name: str, ours: Sequence[Sequence[Measured]], theirs: Sequence[Measured]) -> list[Row]:
    """Two workers, by placement of the policy, and two bare processes."""
    rows = []
    for placement, measured in zip(PLACEMENTS, ours, strict=True):
        steady, rate = middle(measured)["steady"], middle(theirs)["steady"]
        ratio = paired(measured, "steady", theirs, "steady")
        note = f"{rates(measured)}. Bare processes: {rates(theirs)}"
        title, goal = f"{name}, {PLACEMENTS[placement]}", "at least 0.9"
        rows.append(Row(title, steady, rate, "two bare processes", "steps/s", goal, ratio >= 0.9, ratio, note))
    return rows


def paired(ours: Sequence[Measured], key: str, theirs: Sequence[Measured], other: str) -> float:
    """The median over rounds of the ratio within a round: a machine that is slow for a while is slow for both."""
    return median(a[key] / b[other] for a, b in zip(ours, theirs, strict=True))


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
