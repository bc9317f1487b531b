"""How far the driver of a cluster goes: 1 to 512 nodes with a million trials, simulated, and what dying nodes cost.

    python -m benchmarks.cluster_simulation [--nodes 1 8 64 512] [--trials 1000000] [--driven 8000]

**There is no cluster here.** Three things are real: how long trials take (the wall times of a run that is made first,
stretched to a mean of 20 s), the scheduler, and what a trial costs the driver. The last is measured with the engine and
its ledger, which are told by a made-up backend that 400 trials have ended in each second. Then nodes,
their slots and the driver are played in virtual time: the driver does one thing after the other; 1 % of the nodes die
in an hour; that is noticed after 15 s, and another node takes the place after 120 s. Networks, disks, simulators and
policies are not simulated.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.made_up_backend import Player
from benchmarks.table import machine
from proctor import config_from_dict, run_evaluation
from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.plan.plan import Plan
from proctor.rollout.crew import Member
from proctor.rollout.scheduler import Scheduler
from proctor.rollout.slots import Slot
from proctor_host.trials import Trial

WORKERS, SLOTS = 8, 2
"""Of a node, and of a worker."""
MEAN_S = 20.0
DEATHS_PER_HOUR, NOTICED_S, REPLACED_S = 0.01, 15.0, 120.0
MEASURED = 400
TRIALS_PER_S = 400.0
"""That the driver is told of, of however many nodes: about those of 512."""
AGENTS, TASKS = 2, 5

# What trials take -----------------------------------------------------------------------------------------------------


def service_times() -> np.ndarray:
    """Wall times of trials that are run now, stretched to a mean of `MEAN_S` seconds."""
    with tempfile.TemporaryDirectory() as folder:
        run = run_evaluation(
            config_from_dict(
                {
                    "agents": [{"name": "random", "policy": "random"}],
                    "tasks": ["CartPole-v1"],
                    "n_trials": MEASURED,
                    "workers": "inline",
                    "scoring": "return",
                    "output_root": folder,
                }
            )
        )
        found = np.array([result.wall_time_s for result in run.results()])
    return found * (MEAN_S / found.mean())


# What a trial costs the driver ----------------------------------------------------------------------------------------


def driver_s(nodes: int, times: np.ndarray, trials: int) -> float:
    """Seconds of the driver's thread per trial, with so many nodes. The start of the run is not counted."""
    slots = nodes * WORKERS * SLOTS
    Player.times = times * (slots / TRIALS_PER_S / times.mean())
    cfg = {
        "agents": [{"name": "zero", "policy": "zero", "options": {"placement": "worker"}}],
        "tasks": ["CartPole-v1"],
        "n_trials": trials + 2 * slots,
        "num_parallel": slots,
        "workers": {"kind": "benchmarks.made_up_backend:MadeUp", "options": {"slots": SLOTS}},
        "record": "summary",
        "scoring": "return",
        "report": {"pictures": False},
    }
    seen: list[tuple[int, float]] = []

    def observe(progress: Any) -> None:
        if progress.phase == "running" and progress.done > slots and progress.running == slots:
            seen.append((progress.done, time.thread_time()))

    with tempfile.TemporaryDirectory() as folder:
        run_evaluation(config_from_dict({**cfg, "output_root": folder}), progress=observe)
    if len(seen) < 2 or seen[0][0] == seen[-1][0]:
        raise SystemExit(f"{trials} trials are over too soon to be measured; ask for more with --driven")
    (first, began), (last, ended) = seen[0], seen[-1]
    return (ended - began) / (last - first)


# A million trials in virtual time -------------------------------------------------------------------------------------


@dataclass
class Machine:
    """A node. `life` counts how often it was replaced: what belongs to an earlier life is void."""

    slots: list[Slot]
    life: int = 0


@dataclass
class Loss:
    """The death of a node. `open`: its trials that have not begun again."""

    at: float
    open: set[str]


@dataclass
class Outcomes:
    """What came of a simulation. `worked_s`: slot-seconds of trials that counted; `busy_s`: of the driver."""

    makespan_s: float = 0.0
    worked_s: float = 0.0
    busy_s: float = 0.0
    done: int = 0
    lost: int = 0
    deaths: int = 0
    waits_s: float = 0.0
    recovered_s: list[float] = field(default_factory=list)


class Cluster:
    """Nodes with slots, one driver, and trials that take what was measured."""

    def __init__(self, nodes: int, trials: int, times: np.ndarray, driver_s: float, seed: int = 0):
        plan = Plan(
            EvalConfig(
                agents=tuple(AgentCfg(name=f"a{i}", policy="zero") for i in range(AGENTS)),
                tasks=tuple(TaskCfg(suite="gymnasium", name=f"t{i}") for i in range(TASKS)),
                n_trials=max(trials // (AGENTS * TASKS), 1),
            )
        )
        self._scheduler = Scheduler(plan, {(t.agent, t.task, t.index) for t in plan}, {})
        self._rng, self._times, self._driver_s = np.random.default_rng(seed), times, driver_s
        names = dict.fromkeys(plan.tasks)
        cfg: Any = SimpleNamespace(
            hire=lambda n: SimpleNamespace(slots=n, ready=True), cfg=SimpleNamespace(tasks=names)
        )
        self._nodes = [
            Machine([slot for _ in range(WORKERS) for slot in Member(cfg, SLOTS).slots]) for _ in range(nodes)
        ]
        self._agent: Any = SimpleNamespace(first_stage="act", is_asked_in=lambda worker: True)
        self._task: Any = SimpleNamespace(layout=None)
        self._events: list[tuple[float, int, str, Any]] = []
        self._order = itertools.count()
        self._free_at = 0.0
        self._began: dict[str, float] = {}
        self._losses: list[Loss] = []
        self.found = Outcomes()

    def run(self) -> Outcomes:
        while self._scheduler.next_group() is not None:
            now = self.found.makespan_s
            for node in self._nodes:
                for slot in node.slots:
                    self._refill(now, node, slot)
            if not self._losses and not any(event[2] == "death" for event in self._events):
                self._await_death(now)
            while not self._scheduler.exhausted:
                at, _, what, about = heapq.heappop(self._events)
                getattr(self, f"_{what}")(at, *about)
        return self.found

    def _later(self, at: float, what: str, *about: Any) -> None:
        heapq.heappush(self._events, (at, next(self._order), what, about))

    def _driven(self, at: float) -> float:
        """When the driver has dealt with something that happens now."""
        self._free_at = max(at, self._free_at) + self._driver_s
        self.found.busy_s += self._driver_s
        return self._free_at

    def _refill(self, at: float, node: Machine, slot: Slot) -> None:
        trial = None if slot.trial is not None else self._scheduler.pick(slot)
        if trial is None:
            return
        begins = self._driven(at)
        slot.assign(trial, self._task, self._agent)
        self._began[trial.key] = begins
        for loss in self._losses:
            if trial.key in loss.open:
                loss.open.discard(trial.key)
                if not loss.open:
                    self.found.recovered_s.append(begins - loss.at)
        self._losses = [loss for loss in self._losses if loss.open]
        self._later(begins + float(self._rng.choice(self._times)), "end", node, node.life, slot, trial)

    def _end(self, at: float, node: Machine, life: int, slot: Slot, trial: Trial) -> None:
        if life != node.life:
            return
        self.found.worked_s += at - self._began.pop(trial.key)
        self.found.done += 1
        self._scheduler.ended(trial)
        slot.release()
        before = self._free_at
        self._refill(at, node, slot)
        self.found.waits_s += max(before - at, 0.0) + self._driver_s
        self.found.makespan_s = max(self.found.makespan_s, at)

    def _await_death(self, now: float) -> None:
        per_s = DEATHS_PER_HOUR * len(self._nodes) / 3600
        self._later(now + float(self._rng.exponential(1 / per_s)), "death")

    def _death(self, at: float) -> None:
        node = self._nodes[int(self._rng.integers(len(self._nodes)))]
        node.life += 1
        self.found.deaths += 1
        self._later(at + NOTICED_S, "noticed", node, at)
        self._later(at + REPLACED_S, "joined", node, node.life)
        self._await_death(at)

    def _noticed(self, at: float, node: Machine, died: float) -> None:
        trials = [slot.trial for slot in node.slots if slot.trial is not None]
        for slot in node.slots:
            if slot.trial is not None:
                self._scheduler.ended(slot.trial)
                slot.release()
        for trial in trials:
            self._scheduler.retry(trial)
        self.found.lost += len(trials)
        if trials:
            self._losses.append(Loss(died, {trial.key for trial in trials}))

    def _joined(self, at: float, node: Machine, life: int) -> None:
        if life == node.life:
            for slot in node.slots:
                self._refill(at, node, slot)


# The table ------------------------------------------------------------------------------------------------------------

HEAD = (
    "| nodes | slots | trials | hours | efficiency | driver per trial | driver busy | a slot waits | deaths "
    "| attempts lost | all begun again after |\n"
    "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def rows(nodes: Sequence[int], trials: int, driven: int) -> Iterator[str]:
    """A line of the table for each number of nodes."""
    times = service_times()
    for count in nodes:
        cost = driver_s(count, times, driven)
        yield line(count, cost, Cluster(count, trials, times, cost).run())


def line(nodes: int, cost: float, found: Outcomes) -> str:
    slots = nodes * WORKERS * SLOTS
    again = f"{median(found.recovered_s):.0f} s" if found.recovered_s else "–"
    return (
        f"| {nodes} | {slots:,} | {found.done:,} | {found.makespan_s / 3600:,.2f} "
        f"| {found.worked_s / slots / found.makespan_s:.2%} | {1e6 * cost:.0f} us "
        f"| {found.busy_s / found.makespan_s:.2%} | {1e3 * found.waits_s / found.done:.2f} ms | {found.deaths} "
        f"| {found.lost} | {again} |"
    )


def main(given: Sequence[str] | None = None) -> None:
    about: Mapping[str, Any] = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(description=__doc__, **about)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 8, 64, 512])
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--driven", type=int, default=8_000, help="trials by which the driver's cost is measured")
    asked = parser.parse_args(given)
    print(f"{machine()}\n\n{HEAD}", flush=True)
    for row in rows(asked.nodes, asked.trials, asked.driven):
        print(row, flush=True)


if __name__ == "__main__":
    main()
