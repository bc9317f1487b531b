"""Tracking worlds on a device, as `tracking_worlds` has them on the processor. Imported where torch and MuJoCo Warp
are."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from tracking_worlds import g1, options, short_motions

from proctor.suites.tracking.batch import TrackingBatchEnv
from proctor.suites.tracking.device.environment import TrackingDeviceEnv
from proctor.suites.tracking.motions import MotionLibrary


@functools.cache
def flying_motions() -> MotionLibrary:
    """The short motions two metres above the floor: nothing is touched, so simulators differ by rounding alone."""
    up = np.array([0.0, 0.0, 2.0])
    found = []
    for i in range(len(short_motions())):
        reference = short_motions().reference(i)
        qpos = reference.qpos.copy()
        qpos[:, :3] += up
        found.append(dataclasses.replace(reference, qpos=qpos, body_pos=reference.body_pos + up))
    return MotionLibrary(found)


def device_env(n: int, library: MotionLibrary | None = None, **keys: Any) -> TrackingDeviceEnv:
    chosen = options(**{"physics": "warp", **keys})
    return TrackingDeviceEnv(g1(), library or short_motions(), n, chosen)


def both(n: int, **keys: Any) -> tuple[TrackingBatchEnv, TrackingDeviceEnv]:
    """In the air, on the processor and on the device."""
    return TrackingBatchEnv(g1(), flying_motions(), n, options(**keys)), device_env(n, flying_motions(), **keys)
