"""What every episode of a tracking evaluation did, frame by frame, as files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from proctor.training.lent import MotionSource
from proctor.training.results import Measured


def write_trajectories(
    folder: Path, measured: Sequence[Measured], source: MotionSource, timestep: int
) -> dict[str, Path]:
    """One npz for each episode in `folder/<timestep>`, by its name in there, `<motion>_<world>.npz` (a number where a
    motion runs in one world twice): the arrays of the agent's track and of the reference's as `agent_joint_pos`,
    `reference_joint_pos` and so on, for the frames that both have; `motion`, `joint_names`, `body_names` and `dt_s`.
    Quaternions are wxyz, joints and bodies in the order of the names."""
    place = folder / str(timestep)
    place.mkdir(parents=True, exist_ok=True)
    written: dict[str, Path] = {}
    for one in measured:
        name = source.names[one.motion]
        stem = f"{re.sub(r'[^A-Za-z0-9_.@-]+', '_', name)}_{one.world}"
        key = next(k for k in (stem, *(f"{stem}_{i}" for i in range(2, len(measured) + 2))) if k not in written)
        tracks = {"agent": one.track, "reference": source.track(one.motion)}
        frames = min(map(len, tracks.values()))
        arrays = {
            f"{who}_{array}": values[:frames]
            for who, track in tracks.items()
            for array, values in vars(track).items()
            if values is not None
        }
        written[key] = place / f"{key}.npz"
        np.savez_compressed(
            written[key],
            **arrays,
            motion=name,
            joint_names=np.array(source.joint_names),
            body_names=np.array(source.body_names),
            dt_s=source.dt_s,
        )
    return written
