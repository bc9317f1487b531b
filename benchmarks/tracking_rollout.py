"""64 worlds of `builtin:g1` with the agent `hold`, against bare `mujoco.rollout` with four substeps per call.

`python -m benchmarks.tracking_rollout [--worlds 64] [--seconds 5] [--repeats 3]` prints both sides, measured in turn,
in one process and with the same threads. The bare side only simulates: the same robot from the same state with the same
targets, its states thrown away. Ours also has body poses, observations, rewards and success: as the vector environment
of training loops, as the batch environment (which splits all that by world), and as a whole run of the engine from its
first forward to its last (policy, checks, records).
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.folders import run_folder
from benchmarks.table import Row, machine, markdown
from proctor.suites.tracking.agents import Hold

if TYPE_CHECKING:
    from proctor.suites.tracking.motions import MotionLibrary
    from proctor.suites.tracking.robot import Robot

MOTION = "procedural:turn"
GOAL = 0.9


class TimedHold(Hold):
    """`hold`, which notes in a file when it was asked."""

    def __init__(self, spaces: Any, times: str):
        super().__init__(spaces)
        self._times = times

    def act(self, batch: Any) -> np.ndarray:
        with open(self._times, "ab") as file:
            file.write(np.float64(time.perf_counter()).tobytes())
        return super().act(batch)


@dataclass(frozen=True)
class Size:
    worlds: int = 64
    seconds: float = 5.0
    """Of simulated time."""
    threads: int = len(os.sched_getaffinity(0))

    @property
    def steps(self) -> int:
        return round(self.seconds * 50)


def rollout(repeats: int) -> list[Row]:
    """64 worlds of the built-in G1 that hold a pose for 5 s: vector, batch environment, engine; bare rollout."""
    return compare(Size(), repeats)


def compare(size: Size, repeats: int) -> list[Row]:
    ours = {"vector environment": vector, "batch environment": batch, "engine": engine}
    sides = {"bare": bare, **ours}
    for side in sides.values():
        side(Size(size.worlds, 0.1, size.threads))
    rounds = [{name: side(size) for name, side in sides.items()} for _ in range(repeats)]
    other = median(one["bare"] for one in rounds)
    rows = []
    for name in ours:
        ratio = median(one[name] / one["bare"] for one in rounds)
        rate = median(one[name] for one in rounds)
        title = f"tracking rollout, {size.worlds} worlds, {name}"
        goal = f"at least {GOAL}"
        rows.append(Row(title, rate, other, "bare mujoco.rollout", "steps/s", goal, ratio >= GOAL, ratio))
    return rows


def bare(size: Size) -> float:
    """World steps per second of nothing but the simulator."""
    import mujoco
    from mujoco import rollout

    robot, library = _task()
    model = robot.model
    data = [mujoco.MjData(model) for _ in range(size.threads)]
    first = library.reference(0)
    state = np.tile(np.concatenate([[0.0], first.qpos[0], first.qvel[0]]), (size.worlds, 1))
    control = np.tile(robot.description.default_pose, (size.worlds, 4, 1))
    out, sensed = np.empty((size.worlds, 4, state.shape[1])), np.empty((size.worlds, 4, model.nsensordata))
    models = [model] * size.worlds
    with rollout.Rollout(nthread=size.threads) as pool:
        started = time.perf_counter()
        for _ in range(size.steps):
            pool.rollout(models, data, state, control, nstep=4, state=out, sensordata=sensed, skip_checks=True)
            state = out[:, -1].copy()
        return size.worlds * size.steps / (time.perf_counter() - started)


def vector(size: Size) -> float:
    """World steps per second of the vector environment."""
    from proctor.suites.tracking.options import TrackingOptions
    from proctor.suites.tracking.vector import TrackingVectorEnv

    env = TrackingVectorEnv(*_task(), size.worlds, TrackingOptions(motions=[MOTION], threads=size.threads))
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape or (), np.float32)
    started = time.perf_counter()
    for _ in range(size.steps):
        env.step(action)
    rate = size.worlds * size.steps / (time.perf_counter() - started)
    env.close()
    return rate


def batch(size: Size) -> float:
    """World steps per second of the batch environment."""
    from proctor.suites.tracking.batch import TrackingBatchEnv
    from proctor.suites.tracking.options import TrackingOptions

    worlds = list(range(size.worlds))
    env = TrackingBatchEnv(*_task(), size.worlds, TrackingOptions(motions=[MOTION], threads=size.threads))
    env.reset(worlds, worlds, [0] * size.worlds)
    actions = {world: env.dummy_action() for world in worlds}
    started = time.perf_counter()
    for _ in range(size.steps):
        env.step(actions)
    rate = size.worlds * size.steps / (time.perf_counter() - started)
    env.close()
    return rate


def engine(size: Size) -> float:
    """World steps per second of a run, from the first forward to the last."""
    from proctor import config_from_dict, run_evaluation

    task = {"motions": MOTION, "max_episode_length_s": size.seconds, "threads": size.threads}
    config: dict[str, Any] = {
        "name": "benchmark",
        "agents": [{"name": "hold", "policy": "benchmarks.tracking_rollout:TimedHold"}],
        "tasks": [{"suite": "tracking", "n_trials": size.worlds, "options": task}],
        "num_parallel": size.worlds,
        "workers": "inline",
        "scoring": "success",
    }
    with run_folder() as folder:
        times = os.path.join(folder, "asked")
        config["agents"][0]["options"] = {"pad_to": size.worlds, "kwargs": {"times": times}}
        run = run_evaluation(config_from_dict({**config, "output_root": folder}))
        asked = np.fromfile(times)
        done = sum(result.steps_total or 0 for result in run.results())
    if done != size.worlds * size.steps:
        raise RuntimeError(f"the run made {done} steps; expected {size.worlds * size.steps}")
    return size.worlds * (size.steps - 1) / (asked[-1] - asked[0])


def _task() -> tuple[Robot, MotionLibrary]:
    from proctor.suites.tracking.options import TrackingOptions
    from proctor.suites.tracking.suite import load_task

    return load_task(TrackingOptions(motions=[MOTION]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracking_rollout", description=rollout.__doc__)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0, help="simulated seconds")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    rows = compare(Size(arguments.worlds, arguments.seconds), arguments.repeats)
    print(f"{machine()}\n\n{markdown(rows)}")


if __name__ == "__main__":
    main()
