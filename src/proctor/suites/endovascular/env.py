"""The embedded simulator as an environment.

Action: (translation mm/s, rotation rad/s) of the handle for one picture's time. Positions that are observed or recorded
are tracking coordinates (see `carm`), in mm. An episode ends when the tip is within the threshold of the target.

Reward: 1 at the target, 0.001 for every mm of path gained, -0.005 for every step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from proctor.suites.endovascular.anatomy import aortic_arch
from proctor.suites.endovascular.carm import CArm
from proctor.suites.endovascular.fluoroscopy import Fluoroscope
from proctor.suites.endovascular.grid import arch_field
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.paths import way_to
from proctor.suites.endovascular.tools import find_tool
from proctor.suites.endovascular.view import AT, TRIP, Scene, sheet
from proctor.suites.endovascular.wire import Physics, Wire
from proctor.suites.protocol import SheetEnv
from proctor_host.sheet import Sheet

RECORDED_POINTS = 48
"""Points of the wire in a record, from the tip to the entry, closest at the tip: about a mm there, 15 at the entry of a
long wire."""
RECORDED_SHARES = np.linspace(0.0, 1.0, RECORDED_POINTS) ** 1.5
OBSERVED_MM = 2000.0
OBSERVED_UNITS = {"rotation": 1.0, "heading": 1.001, "shaft": 1.001}
"""Bounds of what is observed: of lengths, forces and speeds, and of unit vectors."""


class EndovascularEnv(SheetEnv):
    """One wire in one vessel."""

    def __init__(self, options: EndovascularOptions):
        anatomy = options.anatomy
        self.options = options
        self.tree = aortic_arch(anatomy.arch_type, anatomy.seed)
        self.carm = CArm(anatomy.image_rot_zx_deg)
        self.action_dt_s = 1.0 / anatomy.image_frequency_hz
        self._field = arch_field(anatomy.arch_type, anatomy.seed)
        self._scenes = {name: self._scene_of(name) for name in anatomy.target_branches}
        self._trip = np.zeros(len(TRIP))
        self.sheet = sheet(options.tracking_points, RECORDED_POINTS, options.privileged)
        self._fluoroscope: Fluoroscope | None = None
        self.wire = self._make_wire()
        self.observation_space = _observation_space(self.sheet)
        limits = np.array([options.max_translation_mm_s, options.max_rotation_rad_s], np.float32)
        self.action_space = spaces.Box(-limits, limits, dtype=np.float32)

    def _scene_of(self, branch: str) -> Scene:
        options, anatomy = self.options, self.options.anatomy
        return Scene(
            way_to(self.tree, branch),
            self.carm.rotation,
            self.tree.branch(branch).end,
            anatomy.target_threshold_mm,
            np.arange(options.tracking_points) * options.tracking_resolution_mm,
            RECORDED_SHARES,
            1.0 / anatomy.image_frequency_hz,
            options.privileged,
        )

    def _make_wire(self) -> Wire:
        options, tool = self.options, find_tool(self.options.tool)
        self._start_mm = min(tool.curved_mm + options.start_mm, tool.length_mm)
        physics = Physics(
            self.action_dt_s or 0.0,
            options.substeps,
            options.iterations,
            options.spacing_mm,
            options.tip_spacing_mm,
            options.anatomy.friction,
            options.max_push_n,
            self._start_mm,
        )
        return Wire(tool, self._field, self.tree.entry, self.tree.direction, physics)

    def reset(self, seed: int, index: int) -> Any:
        """The seed draws the wire's angle in the sheath and, among several, the target."""
        rng = np.random.default_rng(seed)
        branches = self.options.anatomy.target_branches
        angle = rng.uniform(-np.pi, np.pi)
        self.target_branch = branches[int(rng.integers(len(branches)))]
        self._scene = self._scenes[self.target_branch]
        self.wire.reset(self._start_mm, angle)
        row = self.sheet.rows(1)
        self.wire.look(self._scene, self._trip, 0.0, 0.0, -1.0, row[0])
        return self.observed(row)

    def write(self, action: Any, row: np.ndarray) -> None:
        speed, spin = float(action[0]), float(action[1])
        wire, scene = self.wire, self._scene
        before = wire.inserted_mm
        blocked = speed > 0 and self.options.stop_at_tree_end and scene.way.dead_end[int(self._trip[AT])]
        wire.step(0.0 if blocked else speed, spin)
        wire.look(scene, self._trip, speed, spin, abs(wire.inserted_mm - before), row)

    def constants(self) -> dict[str, Any]:
        """What pictures of a trial need: the vessel (points, radii, branch of each point), target and names."""
        branches = self.tree.branches
        return {
            "case": np.array(self.target_branch),
            "simulator": np.array("embedded"),
            "force_unit": np.array("N"),
            "tool": np.array(self.options.tool if isinstance(self.options.tool, str) else "custom"),
            "target_pos3d": self.carm.track(self._scene.target),
            "target_threshold_mm": np.array(self.options.anatomy.target_threshold_mm),
            "vessel_pos3d": self.carm.track(self.tree.points()).astype(np.float32),
            "vessel_radius": np.concatenate([b.radii for b in branches]).astype(np.float32),
            "vessel_branch": np.repeat([b.name for b in branches], [len(b.points) for b in branches]),
        }

    def render(self) -> np.ndarray:
        if self._fluoroscope is None:
            self._fluoroscope = Fluoroscope(self._field, self.carm)
        return self._fluoroscope.frame(self.wire.points, self._scene.target, self.options.anatomy.target_threshold_mm)


def _observation_space(sheet: Sheet) -> spaces.Dict:
    groups: dict[str, Any] = {}
    privileged: dict[str, Any] = {}
    for path, cells in sheet.observation.items():
        name = str(path[-1])
        bound = OBSERVED_UNITS.get(name, OBSERVED_MM)
        (groups if len(path) == 1 else privileged)[name] = spaces.Box(-bound, bound, cells.shape, np.float32)
    return spaces.Dict({**groups, "privileged": spaces.Dict(privileged)} if privileged else groups)
