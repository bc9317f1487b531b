"""How far the tracking worlds' simulators agree: `python -m benchmarks.physics_agreement`.

All sides begin each motion in the same state and get the same joint targets, whatever comes of it: the first frame's
joints (held), or the next frame's (moving). MuJoCo in float64 is what the others are compared with: MuJoCo once more,
from a start that was rounded to float32, which is what rounding alone makes of a robot that touches the floor; and
MuJoCo Warp or MJX. In the air, ten metres up, nothing is touched. Differences are medians and maxima over the motions.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from proctor.suites.tracking.batch import TrackingBatchEnv
from proctor.suites.tracking.metrics import Track, evaluate_tracks
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.suite import load_task

AIR_M = 10.0
TIMES_S = (0.02, 0.1, 0.5, 1.0)
METRICS = {
    "emd": "rad", "distance": "rad", "vel_dist": "mrad/frame", "mpjpe_xpos": "mm", "root_pos_error_m": "m",
    "root_rot_error_rad": "rad", "upright_share": "1",
}  # fmt: skip
SIGNALS = ("joint_pos", "body_pos", "root_pos", "root_quat", "anchor_quat")
ROUNDED = "MuJoCo, start rounded"

Maker = Callable[[Robot, MotionLibrary, TrackingOptions], Any]
Run = dict[str, np.ndarray]
"""Signals by name, each (worlds, frames, ...), the first frame among them."""


def main() -> None:
    arguments = _arguments()
    motions: list[Any] = arguments.motions
    if arguments.fps is not None:
        motions = [{"path": path, "fps": arguments.fps} for path in motions]
    cpu = TrackingOptions.model_validate({"robot": arguments.robot, "motions": motions, "action": "absolute"})
    robot, library = load_task(cpu)
    print(f"{len(library)} motions; robot {arguments.robot}; device {arguments.device}\n")
    others: dict[str, Maker] = {ROUNDED: rounded_env}
    for name in arguments.physics:
        others[name] = partial(device_env, physics=name, device=arguments.device)
    print("| | held, in the air | moving, in the air | held, on the floor | moving, on the floor |")
    print("|---|---|---|---|---|")
    steps = round(max(TIMES_S) * cpu.control_hz)
    cases = [(robot, place, targets) for place in (lifted(library), library) for targets in (held, moving)]
    truths = [run(plain_env(robot, place, cpu), place, targets, steps) for robot, place, targets in cases]
    for name, make in others.items():
        runs = [run(make(robot, place, cpu), place, targets, steps) for robot, place, targets in cases]
        for what, apart in APART.items():
            for time_s in TIMES_S:
                k = round(time_s * cpu.control_hz)
                cells = [two(apart(mine, truth, k)) for mine, truth in zip(runs, truths, strict=True)]
                print(f"| {name}: {what} after {time_s:g} s | {' | '.join(cells)} |", flush=True)
    print_metrics(robot, library, cpu, others)


def print_metrics(robot: Robot, library: MotionLibrary, cpu: TrackingOptions, others: dict[str, Maker]) -> None:
    """Of whole motions, joints of the next frame as targets."""
    steps = int(library.lengths.max()) - 1
    sides = {"MuJoCo": plain_env, **others}
    values = {
        name: measured(robot, library, run(make(robot, library, cpu), library, moving, steps))
        for name, make in sides.items()
    }
    print("\n| metric, whole motions | " + " | ".join(sides) + " |\n|---|" + "---|" * len(sides))
    for metric, unit in METRICS.items():
        truth = values["MuJoCo"][metric]
        cells = [f"{truth.mean():.4g}"]
        for name in others:
            mine = values[name][metric]
            cells.append(f"{mine.mean():.4g}; {two(np.abs(mine - truth))} apart")
        print(f"| `{metric}`, {unit} | {' | '.join(cells)} |")


def measured(robot: Robot, library: MotionLibrary, found: Run) -> dict[str, np.ndarray]:
    """Each metric of each motion."""
    pairs = []
    for i in range(len(library)):
        reference, length = library.reference(i), int(library.lengths[i])
        agent = Track(**{name: found[name][i, :length] for name in SIGNALS})
        aim = Track(
            joint_pos=reference.joint_pos,
            body_pos=reference.body_pos[:, robot.tracked],
            root_pos=reference.root_pos,
            root_quat=reference.root_quat,
            anchor_quat=reference.body_quat[:, robot.anchor],
        )
        pairs.append((agent, aim))
    rows = evaluate_tracks(pairs, dt_s=library.dt_s)
    return {name: np.array([row[name] for row in rows], float) for name in METRICS}


Targets = Callable[[MotionLibrary, int], np.ndarray]


def held(library: MotionLibrary, k: int) -> np.ndarray:
    """The joints of the first frames."""
    return library.frames.qpos[library.rows(np.arange(len(library)), np.zeros(len(library), np.int64)), 7:]


def moving(library: MotionLibrary, k: int) -> np.ndarray:
    """Those of the frames to reach next."""
    return library.frames.qpos[library.rows(np.arange(len(library)), np.full(len(library), k + 1)), 7:]


def run(env: Any, library: MotionLibrary, targets: Targets, steps: int) -> Run:
    """Each motion in a world of its own."""
    every = list(range(len(library)))
    env.reset(every, every, every)
    first = [env.constants(world) for world in every]
    seen = {name: [np.array([one[f"first.{name}"] for one in first], float)] for name in SIGNALS}
    for k in range(steps):
        signals = env.step_columns(None, targets(library, k).astype(np.float32)).signals
        for name, values in seen.items():
            values.append(np.array(signals[name], float))
    env.close()
    return {name: np.stack(values, axis=1) for name, values in seen.items()}


def plain_env(robot: Robot, library: MotionLibrary, cpu: TrackingOptions) -> TrackingBatchEnv:
    return TrackingBatchEnv(robot, library, len(library), cpu)


class _Rounded(TrackingBatchEnv):
    def reset(self, worlds: Sequence[int], seeds: Sequence[int], indices: Sequence[int]) -> list[Any]:
        seen = super().reset(worlds, seeds, indices)
        rows, rngs = np.asarray(worlds), [np.random.default_rng(seed) for seed in seeds]
        states = tuple(np.asarray(a[rows], np.float32).astype(float) for a in (self.worlds.qpos, self.worlds.qvel))
        self.worlds.reset(rows, self.worlds.motion[rows], rngs, states=(states[0], states[1]))
        return seen


def rounded_env(robot: Robot, library: MotionLibrary, cpu: TrackingOptions) -> TrackingBatchEnv:
    return _Rounded(robot, library, len(library), cpu)


def device_env(robot: Robot, library: MotionLibrary, cpu: TrackingOptions, physics: str, device: str) -> Any:
    from proctor.suites.tracking.device.environment import TrackingDeviceEnv

    changed = TrackingOptions.model_validate(cpu.model_dump() | {"physics": physics, "device": device})
    return TrackingDeviceEnv(robot, library, len(library), changed)


def lifted(library: MotionLibrary) -> MotionLibrary:
    """The same motions high above the floor."""
    up, found = np.array([0.0, 0.0, AIR_M]), []
    for i in range(len(library)):
        reference = library.reference(i)
        qpos = reference.qpos.copy()
        qpos[:, :3] += up
        found.append(dataclasses.replace(reference, qpos=qpos, body_pos=reference.body_pos + up))
    return MotionLibrary(found)


def joints_apart(mine: Run, truth: Run, k: int) -> np.ndarray:
    """Root mean square over joints of each world after k steps."""
    return np.sqrt(((mine["joint_pos"][:, k] - truth["joint_pos"][:, k]) ** 2).mean(axis=1))


def root_apart(mine: Run, truth: Run, k: int) -> np.ndarray:
    return 1000 * np.linalg.norm(mine["root_pos"][:, k] - truth["root_pos"][:, k], axis=-1)


def bodies_apart(mine: Run, truth: Run, k: int) -> np.ndarray:
    """Mean over the tracked bodies."""
    return 1000 * np.linalg.norm(mine["body_pos"][:, k] - truth["body_pos"][:, k], axis=-1).mean(axis=1)


APART = {"joints, rad": joints_apart, "root, mm": root_apart, "bodies, mm": bodies_apart}


def two(values: np.ndarray) -> str:
    """Median and maximum over the motions."""
    return f"{np.median(values):.2g} (max {values.max():.2g})"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--motions", nargs="+", default=["procedural:all"], help="as the option of the suite tracking")
    parser.add_argument("--fps", type=float, help="of motion files that do not say it")
    parser.add_argument("--robot", default="builtin:g1")
    parser.add_argument("--physics", nargs="+", default=["warp"], choices=["warp", "mjx"])
    parser.add_argument("--device", default="cpu")
    return parser.parse_args()


if __name__ == "__main__":
    main()
