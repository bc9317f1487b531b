"""From recorded arrays in memory to a report: all tracking metrics of many motions, and where the seconds go.

`python -m benchmarks.device_metrics [--device cuda:0] [--motions 1000] [--frames 500] [--threads N]` prints what each
part takes, by the clock and in processor time: one trial after the other on one thread, and together, which is
frame-wise metrics as one array program on the device, exact transport and records on N threads. Kernels are compiled
first. Both sides are measured in one run, in turn, and must give the same values. The motions are those of
`benchmarks.tracking_metrics`, in single precision, as worlds on a device record them.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.folders import run_folder
from benchmarks.table import machine, shown
from benchmarks.tracking_metrics import mixed
from proctor.config.models import AgentCfg, EvalConfig, ScoringCfg, TaskCfg
from proctor.metrics.transport import emd_many
from proctor.plan.plan import Plan
from proctor.record.rundir import RunDir
from proctor.rollout.worker import EngineExtras
from proctor.runs.report import write_report
from proctor.suites.tracking.metrics import TrackOptions, by_motion, evaluate_tracks, summarize
from proctor.suites.tracking.metrics.evaluate import Pair
from proctor.suites.tracking.metrics.frames import frame_metrics, frame_metrics_of
from proctor.suites.tracking.metrics.recorded import RECORDED, episode_tracks
from proctor.threads import cores
from proctor_host.cfg import RecordCfg, WorkerCfg
from proctor_host.episode import Episode, Outcome
from proctor_host.files import write_synced
from proctor_host.npz import pack_npz
from proctor_host.result import TrialResult
from proctor_host.trial import EndedTrial, Recorder
from proctor_host.trials import Trial

DT_S = 0.02
OPTIONS = TrackOptions(dt_s=DT_S)
GOAL_S = 10.0
COMMIT = 64
"""Results that the ledger takes at once."""


class Time(NamedTuple):
    """Seconds by the clock, and of processors."""

    clock: float
    processor: float

    def __add__(self, other: Any) -> Time:
        return Time(self.clock + other.clock, self.processor + other.processor)


class Line(NamedTuple):
    """A part of the work: one trial after the other, and together; None where a side has no such part."""

    part: str
    alone: Time
    together: Time | None = None


# What is measured -----------------------------------------------------------------------------------------------------


def episodes(motions: int, frames: int) -> list[Episode]:
    """Recorded episodes, in single precision but for what has no precision."""
    made = (pair for seed in range(0, motions, 50) for pair in mixed(min(50, motions - seed), frames, seed))
    return [_episode(agent, reference, f"motion {i:04d}") for i, (agent, reference) in enumerate(made)]


def _episode(agent: Any, reference: Any, case: str) -> Episode:
    steps = len(agent) - 1
    arrays: dict[str, np.ndarray] = {
        "actions": np.zeros((steps, 29), np.float32), "rewards": np.zeros(steps), "terminals": np.zeros(steps, bool),
        "truncations": np.arange(steps) == steps - 1, "success": np.zeros(steps, bool), "action_dt_s": np.array(DT_S),
        "case": np.array(case), "joint_names": np.array([f"joint {i}" for i in range(29)]),
    }  # fmt: skip
    for name, recorded in RECORDED.items():
        own, theirs = (getattr(track, name).astype(np.float32) for track in (agent, reference))
        arrays |= {recorded: own[1:], f"first.{recorded}": own[0], f"reference.{recorded}": theirs}
    return Episode(arrays, Outcome.TRUNCATED, steps + 1, "motions")


def timed(work: Callable[[], Any]) -> tuple[Time, Any]:
    clock, processor = time.perf_counter(), time.process_time()
    found = work()
    return Time(time.perf_counter() - clock, time.process_time() - processor), found


def parts(made: Sequence[Episode], device: str | None, threads: int) -> Iterator[Line]:
    """The metrics alone."""
    reading, tracks = timed(lambda: tracks_of(made))
    yield Line("records to tracks in double precision", reading)
    alone, one_by_one = timed(lambda: [frame_metrics(agent, reference, OPTIONS) for agent, reference in tracks])
    together, at_once = timed(lambda: frame_metrics_of(tracks, OPTIONS, device))
    compare(one_by_one, at_once)
    yield Line(f"frame-wise metrics; together on {device or 'the processor'}", alone, together)
    clouds = [cloud for pair in tracks for cloud in _clouds(pair)]
    alone, one_by_one = timed(lambda: emd_many(clouds, 1))
    together, at_once = timed(lambda: emd_many(clouds, threads))
    assert np.array_equal(one_by_one, at_once)
    yield Line(f"exact transport, {len(clouds):,} pairs of clouds; together on {threads} threads", alone, together)
    alone, one_by_one = timed(lambda: [evaluate_tracks([pair], 1, options=OPTIONS)[0] for pair in tracks])
    together, at_once = timed(lambda: evaluate_tracks(tracks, threads, options=OPTIONS, device=device))
    compare(one_by_one, at_once)
    yield Line("all metrics, as an evaluation inside training computes them", alone, together)
    summary, _ = timed(lambda: summarize(by_motion([f"{i}" for i in range(len(at_once))], at_once).values()))
    yield Line("their means and deviations over motions", summary)
    packing, _ = timed(lambda: [(one.digest(), pack_npz(one.arrays)) for one in made])
    yield Line("digests and npz, packed and not written", packing)


def tracks_of(made: Sequence[Episode]) -> list[Pair]:
    return [pair for one in made if (pair := episode_tracks(one)) is not None]


def _clouds(pair: Pair) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for name in ("joint_pos", "body_pos", "observed"):
        a, r = (getattr(track, name) for track in pair)
        yield a.reshape(len(a), -1), r.reshape(len(r), -1)


def compare(here: Iterable[dict[str, Any]], there: Iterable[dict[str, Any]]) -> None:
    """Raise where the values of the two sides differ by more than rounding."""
    for one, other in zip(here, there, strict=True):
        assert list(one) == list(other)
        for name, value in one.items():
            found = other[name]
            same = found is value if value is None or found is None else math.isclose(value, found, rel_tol=1e-12)
            assert same or abs((value or 0.0) - (found or 0.0)) < 1e-12, (name, value, found)


# A run's end ----------------------------------------------------------------------------------------------------------


def run_of(folder: Path, made: Sequence[Episode]) -> tuple[RunDir, list[EndedTrial]]:
    """A run folder in which all these trials are planned, and the trials as they have ended."""
    cfg = EvalConfig(
        name="motions",
        agents=(AgentCfg(name="agent", policy="random"),),
        tasks=(TaskCfg(suite="tracking", name="motions"),),
        n_trials=len(made),
        scoring=ScoringCfg(mode="tracking_v1"),
        output_root=str(folder),
    )
    run, plan = RunDir.create(cfg, datetime.now()), Plan(cfg)
    with run.ledger() as ledger:
        ledger.set_meta("shard", "1/1")
        ledger.add(plan.placed())
    trials = sorted(plan, key=lambda trial: trial.index)
    return run, [_ended(trial, plan.stem(trial), one) for trial, one in zip(trials, made, strict=True)]


def _ended(trial: Trial, stem: str, episode: Episode) -> EndedTrial:
    return EndedTrial(trial, stem, episode, False, None, 1.0, (b"", b""))


def finish(folder: Path, made: Sequence[Episode], threads: int, series: bool = True) -> dict[str, Time]:
    """What a run's end takes: every trial measured and recorded on so many threads, as workers do beside the steps,
    the rows committed, the reports written."""
    run, ended = run_of(folder, made)
    cfg = WorkerCfg(str(run.path), {}, RecordCfg(series=series))
    recorder = Recorder(cfg, EngineExtras(cfg))
    with run.ledger() as ledger, ThreadPoolExecutor(threads) as pool:
        recorded, results = timed(lambda: list(pool.map(partial(_record, recorder), ended)))
        committed, _ = timed(lambda: [ledger.finish(results[i : i + COMMIT]) for i in range(0, len(results), COMMIT)])
    written, _ = timed(lambda: write_report(run))
    return {
        "metrics and records": recorded,
        "ledger": committed,
        "report": written,
        "total": recorded + committed + written,
    }


def _record(recorder: Recorder, ended: EndedTrial) -> TrialResult:
    recorded = recorder.record(ended)
    if recorded.file is not None:
        write_synced(*recorded.file)
    return recorded.result


def whole(made: Sequence[Episode], threads: int) -> Iterator[Line]:
    """From episodes in memory to report files."""
    with run_folder() as folder:
        for series, what in ((True, "with records"), (False, "metrics only (`record: summary`)")):
            sides = [finish(Path(folder) / f"{series}{n}", made, n, series) for n in (1, threads)]
            for name in sides[0]:
                yield Line(f"a run's end, {what}: {name}", sides[0][name], sides[1][name])


# The command ----------------------------------------------------------------------------------------------------------


def warm(made: Sequence[Episode], device: str | None) -> None:
    evaluate_tracks(tracks_of(made[:8]), 2, options=OPTIONS, device=device)
    with run_folder() as folder:
        finish(Path(folder) / "warm", made[:8], 2)


def table(lines: Sequence[Line]) -> str:
    head = "| part: by the clock (processor time) | one after the other | together |\n|---|---:|---:|"
    return "\n".join([head, *(f"| {one.part} | {_cell(one.alone)} | {_cell(one.together)} |" for one in lines)])


def _cell(value: Time | None) -> str:
    return "" if value is None else f"{shown(value.clock)} s ({shown(value.processor)} s)"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.device_metrics", description=__doc__)
    parser.add_argument("--device", help="what torch calls it, such as cuda:0; default: numpy on the processor")
    parser.add_argument("--motions", type=int, default=1000)
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--threads", type=int, default=cores(), help="default: one per core")
    arguments = parser.parse_args()
    print(machine())
    if arguments.device is not None:
        print(device_name(arguments.device))
    made = episodes(arguments.motions, arguments.frames)
    size = made[0].nbytes / 1e6
    print(f"{len(made):,} motions of {arguments.frames} frames, {size:.2f} MB each\n")
    warm(made, arguments.device)
    lines = [*parts(made, arguments.device, arguments.threads), *whole(made, arguments.threads)]
    print(table(lines))
    total = next(one.together for one in lines if one.part == "a run's end, with records: total")
    clock = math.nan if total is None else total.clock
    print(f"\nThe end of a run took {clock:.1f} s; the goal is {GOAL_S:g} s for 1,000 motions of 500 frames.")
    return 0 if clock < GOAL_S * len(made) * arguments.frames / 500_000 else 1


def device_name(device: str) -> str:
    """What torch knows of a device."""
    import torch

    name = torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else "the processor"
    return f"torch {torch.__version__} on {name}"


if __name__ == "__main__":
    raise SystemExit(main())
