"""Where a rollout is written down: one row per frame of every episode, on the device where the states are."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.policies.arrays import beside, to_host, zero_rows
from proctor.suites.tracking.metrics import Track
from proctor.training.lent import Fit, WorldState


class Tape:
    """`rows` frames of all fields of a WorldState. Buffers are made of the first state that is written: same kind of
    array, same device and dtype."""

    def __init__(self, rows: int, fit: Fit):
        self._rows, self._fit = rows, fit
        self._buffers: dict[str, Any] = {}

    def write(self, rows: np.ndarray, worlds: np.ndarray, state: WorldState, ended: Any = None) -> None:
        """Copy the state of `worlds` (n,) into `rows` (n,); only the tracked bodies are kept."""
        fields: dict[str, Any] = {name: value for name, value in state._asdict().items() if value is not None}
        if ended is not None:
            fields["ended"] = ended
        for name, value in fields.items():
            picked = value[beside(value, worlds)]
            if name == "body_pos":
                picked = picked[:, beside(value, self._fit.bodies)]
            if name not in self._buffers:
                self._buffers[name] = zero_rows(picked, self._rows)
            self._buffers[name][beside(value, rows)] = picked

    def on_host(self) -> dict[str, np.ndarray]:
        """Everything that was written, as arrays in the motions' joint order and wxyz; one copy per field."""
        host = {name: to_host(buffer) for name, buffer in self._buffers.items()}
        for name in ("joint_pos", "observed_joint_pos"):
            if name in host:
                host[name] = host[name][:, self._fit.joints]
        for name in ("root_quat", "anchor_quat"):
            host[name] = host[name][:, self._fit.quaternion]
        return host


def episode_track(host: dict[str, np.ndarray], start: int, stop: int) -> Track:
    """The agent's track of the episode in the rows from `start` to `stop`, up to where the environment has reset the
    world by itself."""
    if "ended" in host:
        cut = np.flatnonzero(host["ended"][start:stop])
        stop = start + int(cut[0]) if len(cut) else stop
    rows = slice(start, stop)
    observed = host.get("observed_joint_pos")
    return Track(
        joint_pos=host["joint_pos"][rows],
        body_pos=host["body_pos"][rows],
        root_pos=host["root_pos"][rows],
        root_quat=host["root_quat"][rows],
        anchor_quat=host["anchor_quat"][rows],
        observed=None if observed is None else observed[rows],
    )
