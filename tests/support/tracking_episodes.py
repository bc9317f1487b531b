"""Made-up recorded episodes of motion tracking, with the names that a tracking suite records."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor_host.episode import Episode, Outcome

JOINTS = ("left_hip", "left_knee", "waist", "left_elbow", "right_elbow")
BODIES = ("pelvis", "torso", "left_foot")
DT_S = 0.02


def upright(frames: int, lean: Any = 0.0) -> np.ndarray:
    """Orientations (T, 4) leaning forward by `lean`."""
    half = np.broadcast_to(np.asarray(lean, np.float64) / 2, (frames,))
    return np.stack([np.cos(half), np.zeros(frames), np.sin(half), np.zeros(frames)], axis=1)


def reference_arrays(frames: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    t = np.linspace(0, 6, frames)[:, None]
    joints = 0.5 * np.sin(t * rng.uniform(0.5, 2, len(JOINTS)) + rng.uniform(0, 6, len(JOINTS)))
    root = np.concatenate([0.2 * t, 0 * t, 0.8 + 0.02 * np.sin(t)], axis=1)
    return {
        "joint_pos": joints,
        "body_pos": root[:, None] + rng.normal(size=(len(BODIES), 3)) * 0.3,
        "root_pos": root,
        "root_quat": upright(frames),
        "anchor_quat": upright(frames),
        "observed_joint_pos": joints - 0.1,
    }


def agent_arrays(reference: dict[str, np.ndarray], error: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The reference with a growing error; one above 0.5 falls half-way."""
    frames = len(reference["root_pos"])
    grow = np.linspace(0, 1, frames)
    agent = {name: array.copy() for name, array in reference.items()}
    agent["joint_pos"] += error * grow[:, None] * rng.uniform(0.2, 1.0, len(JOINTS))
    agent["observed_joint_pos"] = agent["joint_pos"] - 0.1 + 0.01 * rng.normal(size=agent["joint_pos"].shape)
    agent["body_pos"][..., 0] += 0.5 * error * grow[:, None]
    agent["root_pos"][:, 0] += 0.5 * error * grow
    if error > 0.5:
        down = np.arange(frames) >= frames // 2
        agent["root_pos"][down, 2] = 0.1
        agent["anchor_quat"] = upright(frames, np.where(down, 1.5, 0.0))
        agent["body_pos"][down, :, 2] -= 0.6
    return agent


def episode(error: float = 0.1, *, frames: int = 30, steps: int | None = None, seed: int = 0, **more: Any) -> Episode:
    """An episode of `steps` (default: all) against a reference of `frames`; `more` are further arrays."""
    rng = np.random.default_rng(seed)
    reference = reference_arrays(frames, rng)
    agent = agent_arrays(reference, error, rng)
    n = frames - 1 if steps is None else steps
    arrays = {
        "actions": np.zeros((n, len(JOINTS)), np.float32),
        "rewards": np.zeros(n),
        "terminals": np.zeros(n, bool),
        "truncations": np.zeros(n, bool),
        "success": np.zeros(n, bool),
        "action_dt_s": np.array(DT_S),
        "case": np.array("walk"),
        "joint_names": np.array(JOINTS),
        "body_names": np.array(BODIES),
        **{name: array[1 : n + 1] for name, array in agent.items()},
        **{f"first.{name}": array[0] for name, array in agent.items()},
        **{f"reference.{name}": array for name, array in reference.items()},
        **more,
    }
    return Episode(arrays, Outcome.TRUNCATED, max_steps=frames, task="tracking")
