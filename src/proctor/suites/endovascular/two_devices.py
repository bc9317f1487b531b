"""The embedded simulator with a catheter over the wire.

Action: (translation mm/s, rotation rad/s) of the wire, then of the catheter. As in stEVE, either may be ahead; where
the tip has come to the end of a vessel, the device that is ahead is not pushed on and the other one no further than to
its end. A trial begins with the wire as a single one does, and with the catheter's tip at the entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from proctor.suites.endovascular.coaxial import Coaxial
from proctor.suites.endovascular.env import EndovascularEnv
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.tools import find_tool
from proctor.suites.endovascular.view import AT

CATHETER_STREAM = 1
"""The catheter's first angle is drawn from the trial's seed and this number, so that all else is as with one device."""


class TwoDeviceEnv(EndovascularEnv):
    """A wire and a catheter over it in one vessel."""

    devices = 2
    wire: Coaxial

    def __init__(self, options: EndovascularOptions):
        assert options.catheter is not None
        self.catheter, self._catheter_rad = find_tool(options.catheter), 0.0
        super().__init__(options)
        limits = np.tile(self.action_space.high, 2)
        self.action_space = spaces.Box(-limits, limits, dtype=np.float32)

    def _make_wire(self) -> Coaxial:
        physics = self._physics()
        return Coaxial((self.tool, self.catheter), self._field, self.tree.entry, self.tree.direction, physics)

    @property
    def lengths_mm(self) -> np.ndarray:
        return np.array([self.tool.length_mm, self.catheter.length_mm])

    @property
    def diameters_mm(self) -> np.ndarray:
        return np.array([2 * self.tool.radius_mm, 2 * self.catheter.radius_mm])

    def reset(self, seed: int, index: int) -> Any:
        self._catheter_rad = float(np.random.default_rng([seed, CATHETER_STREAM]).uniform(-np.pi, np.pi))
        self.wire.catheter_rad = self._catheter_rad
        return super().reset(seed, index)

    def _enter(self, vessels: Any) -> None:
        super()._enter(vessels)
        self.wire.catheter_rad = self._catheter_rad

    def write(self, action: Any, row: np.ndarray) -> None:
        commands = np.array(action, np.float64).reshape(2, 2)
        speed, spin = commands[0]
        wire, before = self.wire, self.wire.lengths
        if self.options.stop_at_tree_end and self._scene.way.dead_end[int(self._trip[AT])]:
            commands[commands[:, 0] * self._scene.dt > before.max() - before, 0] = 0.0
        wire.drive(commands)
        self._show_next()
        wire.look(self._scene, self._trip, speed, spin, abs(wire.inserted_mm - before[0]), row)
        signals = self.sheet.signals
        row[signals["inserted_length"].at] = wire.inserted_mm
        row[signals["inserted_lengths"].at], row[signals["rotations"].at] = wire.lengths, wire.angles

    def constants(self) -> dict[str, Any]:
        names = [tool if isinstance(tool, str) else "custom" for tool in (self.options.tool, self.options.catheter)]
        return {**super().constants(), "tool": np.array("+".join(names))}
