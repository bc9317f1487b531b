"""All tracking metrics of many motions, against a loop over motions with POT and torch.

`python -m benchmarks.tracking_metrics [--count 1000] [--frames 500] [--threads 1 2]` prints both sides, measured in
turn. The motions are mixed as evaluations in training are: 58 % followed well, 32 % fallen, 10 % unrelated.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.table import Row, machine, markdown
from proctor.suites.tracking.metrics import Track, evaluate_tracks

JOINTS, BODIES = 29, 24
GOALS = {1: 10.0, 2: 18.0}
COUNT = 40

Pair = tuple[Track, Track]


def tracking(repeats: int) -> list[Row]:
    """All tracking metrics of 40 mixed motions of 500 frames, one thread and two; POT and torch in a loop."""
    return compare(COUNT, 500, repeats)


def compare(count: int, frames: int, repeats: int, threads: Sequence[int] = (1, 2)) -> list[Row]:
    pairs = mixed(count, frames)
    evaluate_tracks(pairs[:3], 1)
    loop(pairs[:1])
    return [_row(pairs, n, repeats) for n in threads]


def _row(pairs: Sequence[Pair], threads: int, repeats: int) -> Row:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    rounds = [(_seconds(loop, pairs), _seconds(evaluate_tracks, pairs, threads)) for _ in range(repeats)]
    torch.set_num_threads(before)
    ratio = median(theirs / ours for theirs, ours in rounds)
    theirs, ours = (len(pairs) / median(column) for column in zip(*rounds, strict=True))
    goal = GOALS.get(threads)
    return Row(
        name=f"all tracking metrics, {len(pairs):,} mixed motions, {threads} thread{'s' if threads > 1 else ''}",
        proctor=ours,
        other=theirs,
        other_is="a loop with POT and torch",
        unit="motions/s",
        goal="" if goal is None else f"at least {goal:g}",
        met=None if goal is None else ratio >= goal,
        ratio=ratio,
    )


def _seconds(function: Callable[..., Any], *arguments: Any) -> float:
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


# The motions ----------------------------------------------------------------------------------------------------------


def mixed(count: int, frames: int, seed: int = 0) -> list[Pair]:
    """(agent, reference) of `count` made-up motions, 58 % followed well, 32 % fallen, 10 % unrelated."""
    rng = np.random.default_rng(seed)
    kinds = (np.arange(count) * 0.618034) % 1.0
    return [_pair(frames, "good" if k < 0.58 else "fallen" if k < 0.9 else "unrelated", rng) for k in kinds]


def _pair(frames: int, kind: str, rng: np.random.Generator) -> Pair:
    reference = _motion(frames, rng)
    if kind == "unrelated":
        return _track(*_motion(frames, rng), rng), _track(*reference, rng)
    joints, bodies = (array + _wobble(array.shape, rng) for array in reference)
    if kind == "fallen":
        fall = int(rng.uniform(0.1, 0.7) * frames)
        joints[fall:] = joints[fall] + 3 * _wobble(joints[fall:].shape, rng)
        bodies[fall:, :, 2] *= 0.1
    return _track(joints, bodies, rng), _track(*reference, rng)


def _motion(frames: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Joint angles (T, J) and body positions (T, B, 3): a few slow waves each."""
    t = np.linspace(0, frames / 50, frames)[:, None]
    joints, bodies = (_waves(t, size, rng) for size in (JOINTS, 3 * BODIES))
    return joints, 0.5 * bodies.reshape(frames, BODIES, 3) + np.array([0.0, 0.0, 0.8])


def _waves(t: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    waves = [0.25 * np.sin(t * rng.uniform(0.3, 5, size) + rng.uniform(0, 6, size)) for _ in range(3)]
    return np.sum(waves, axis=0)


def _wobble(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """A slow error and noise, about 0.03 together."""
    slow = np.sin(np.linspace(0, 7, shape[0]) + rng.uniform(0, 6))
    return 0.03 * slow.reshape(-1, *[1] * (len(shape) - 1)) * rng.normal(size=shape[1:]) + 0.01 * rng.normal(size=shape)


def _track(joints: np.ndarray, bodies: np.ndarray, rng: np.random.Generator) -> Track:
    frames = len(joints)
    tilt = 0.1 * np.sin(np.linspace(0, 6, frames) + rng.uniform(0, 6))
    torso = np.stack([np.cos(tilt), np.sin(tilt), 0 * tilt, 0 * tilt], axis=1)
    return Track(joints, bodies, bodies[:, 0], torso, torso, joints + 0.01 * rng.normal(size=joints.shape))


# The other side -------------------------------------------------------------------------------------------------------


def loop(pairs: Sequence[Pair]) -> list[dict[str, float]]:
    """The same metrics, motion by motion: costs and norms with torch in float32, transport with POT."""
    return [_by_torch(agent, reference) for agent, reference in pairs]


def _by_torch(agent: Track, reference: Track) -> dict[str, float]:
    import torch

    a, r = (
        {name: torch.tensor(value, dtype=torch.float32) for name, value in vars(track).items()}
        for track in (agent, reference)
    )
    found: dict[str, Any] = {}
    for prefix, name, suffix in (("", "joint_pos", ""), ("", "body_pos", "_xpos"), ("obs_state_", "observed", "")):
        x, y = a[name].flatten(1), r[name].flatten(1)
        found[f"{prefix}emd{suffix}"] = _pot(x, y)
        distance = torch.norm(x - y, dim=-1)
        inside, outside = distance <= 2, distance > 4
        found[f"{prefix}proximity{suffix}"] = (inside + ((4 - distance) / 2) * (~inside) * (~outside)).mean()
        found[f"{prefix}distance{suffix}"] = distance.mean()
    found |= _joints_by_torch(a["joint_pos"], r["joint_pos"]) | _bodies_by_torch(a, r)
    return {name: float(value) for name, value in found.items()}


def _pot(x: Any, y: Any) -> float:
    import ot
    import torch

    squares = x.pow(2).sum(1).reshape(-1, 1) + y.pow(2).sum(1).reshape(1, -1) - 2 * torch.matmul(x, y.T)
    cost = torch.sqrt(torch.clamp(squares, min=0)).numpy()
    distance: Any = ot.emd2(np.ones(len(x)) / len(x), np.ones(len(y)) / len(y), cost, numItermax=100000)
    return float(distance)


def _joints_by_torch(x: Any, y: Any) -> dict[str, Any]:
    import torch

    error = x - y
    accel = error[:-2] - 2 * error[1:-1] + error[2:]
    return {
        "mpjpe_l": torch.norm(error, dim=-1).mean() * 1000,
        "vel_dist": torch.norm(error[1:] - error[:-1], dim=-1).mean() * 1000,
        "accel_dist": torch.norm(accel, dim=-1).mean() * 1000,
    }


def _bodies_by_torch(a: dict[str, Any], r: dict[str, Any]) -> dict[str, Any]:
    import torch

    error = torch.norm(a["body_pos"] - r["body_pos"], dim=-1)
    dot = (a["anchor_quat"] * r["anchor_quat"]).sum(-1).abs().clamp(max=1)
    lean = 1 - 2 * (a["anchor_quat"][:, 1] ** 2 + a["anchor_quat"][:, 2] ** 2)
    return {
        "mpjpe_xpos": error.mean() * 1000,
        "success_phc_linf_xpos": (error <= 0.5).all(),
        "success_phc_mean_xpos": (error.mean(-1) <= 0.5).all(),
        "root_pos_error_m": torch.norm(a["root_pos"] - r["root_pos"], dim=-1).mean(),
        "torso_rot_error_rad": (2 * torch.acos(dot)).mean(),
        "upright_share": ((lean > 0.7) & (a["root_pos"][:, 2] > 0.4)).float().mean(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tracking_metrics", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help=f"motions; default {COUNT}, the goals are for 1,000")
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    rows = compare(arguments.count, arguments.frames, arguments.repeats, arguments.threads)
    print(f"{machine()}\n\n{markdown(rows)}")
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
