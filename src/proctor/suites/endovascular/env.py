"""The embedded simulator as an environment.

Action: (translation mm/s, rotation rad/s) of the handle for one picture's time. Positions that are observed or recorded
are tracking coordinates (see `carm`), in mm. An episode ends when the tip is within the threshold of the target.

Reward: 1 at the target, 0.001 for every mm of path gained, -0.005 for every step.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from proctor.suites.endovascular.carm import CArm
from proctor.suites.endovascular.fluoroscopy import Fluoroscope
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.paths import nearest, way_to
from proctor.suites.endovascular.tools import find_tool
from proctor.suites.endovascular.vessels import Vessels, between, places, vessels_of
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

    devices: ClassVar[int] = 1

    def __init__(self, options: EndovascularOptions):
        anatomy = options.anatomy
        self.options = options
        self.carm = CArm(anatomy.image_rot_zx_deg)
        self.action_dt_s = 1.0 / anatomy.image_frequency_hz
        self._trip = np.zeros(len(TRIP))
        self.tool = find_tool(options.tool)
        self._start_mm = min(self.tool.curved_mm + options.start_mm, self.tool.length_mm)
        self.sheet = sheet(options.tracking_points, RECORDED_POINTS, options.privileged, self.devices)
        self._fluoroscope: Fluoroscope | None = None
        self._enter(vessels_of(anatomy, anatomy.seed))
        self.observation_space = _observation_space(self.sheet)
        limits = np.array([options.max_translation_mm_s, options.max_rotation_rad_s], np.float32)
        self.action_space = spaces.Box(-limits, limits, dtype=np.float32)

    def _enter(self, vessels: Vessels) -> None:
        """A wire at the entry of these vessels."""
        self.tree, self._field = vessels.tree, vessels.field
        self._places: list[tuple[str, int]] | None = None
        self._scenes: dict[tuple[str, int], Scene] = {}
        self._fluoroscope = None
        self.wire = self._make_wire()

    def _scene_of(self, branch: str, index: int) -> Scene:
        """What does not change while this point of a branch is the target."""
        options, anatomy = self.options, self.options.anatomy
        target = self.tree.branch(branch).points[index]
        return Scene(
            way_to(self.tree, branch, index),
            self.carm.rotation,
            target,
            anatomy.target_threshold_mm,
            np.arange(options.tracking_points) * options.tracking_resolution_mm,
            RECORDED_SHARES,
            1.0 / anatomy.image_frequency_hz,
            options.privileged,
            target.copy(),
        )

    def _make_wire(self) -> Wire:
        return Wire(self.tool, self._field, self.tree.entry, self.tree.direction, self._physics())

    def _physics(self) -> Physics:
        options = self.options
        return Physics(
            self.action_dt_s or 0.0,
            options.substeps,
            options.iterations,
            options.spacing_mm,
            options.tip_spacing_mm,
            options.anatomy.friction,
            options.max_push_n,
            self._start_mm,
        )

    @property
    def lengths_mm(self) -> np.ndarray:
        """(devices,) how long they are."""
        return np.array([self.tool.length_mm])

    @property
    def diameters_mm(self) -> np.ndarray:
        """(devices,) how wide they are."""
        return np.array([2 * self.tool.radius_mm])

    def reset(self, seed: int, index: int) -> Any:
        """The seed draws the wire's angle in the sheath, among several the target, and where they vary the vessels."""
        rng, anatomy = np.random.default_rng(seed), self.options.anatomy
        angle = rng.uniform(-np.pi, np.pi)
        branch = int(rng.integers(len(anatomy.target_branches)))
        if anatomy.vary:
            self._enter(vessels_of(anatomy, int(rng.integers(2**31))))
        self._aim(anatomy.target_branches[branch], rng)
        self.wire.reset(self._start_mm, angle)
        row = self.sheet.rows(1)
        self._show_next(first=True)
        self.wire.look(self._scene, self._trip, 0.0, 0.0, -1.0, row[0])
        return self.observed(row)

    def _aim(self, branch: str, rng: np.random.Generator) -> None:
        """Choose the target: the end of the branch, or a point of any branch."""
        target = branch, len(self.tree.branch(branch).points) - 1
        if self.options.anatomy.target_mode == "centerline":
            if self._places is None:
                self._places = places(self.tree, self.options.anatomy.target_branches)
            target = self._places[int(rng.integers(len(self._places)))]
        if target not in self._scenes:
            self._scenes[target] = self._scene_of(*target)
        self.target_branch, self._scene = target[0], self._scenes[target]

    def _show_next(self, *, first: bool = False) -> None:
        """Show the next point on the way where the tip has come to the last one, and at last the target."""
        anatomy, scene, tip = self.options.anatomy, self._scene, self.wire.points[0]
        if anatomy.interim_target_mm is None:
            return
        if first:
            at = nearest(scene.way, *tip)
            self._interim = between(self.tree, scene.way.following, at, anatomy.interim_target_mm)
        elif self._interim and np.linalg.norm(self._interim[0] - tip) < anatomy.interim_threshold_mm:
            self._interim.pop(0)
        scene.shown[:] = self._interim[0] if self._interim else scene.target

    def write(self, action: Any, row: np.ndarray) -> None:
        speed, spin = float(action[0]), float(action[1])
        wire, scene = self.wire, self._scene
        before = wire.inserted_mm
        blocked = speed > 0 and self.options.stop_at_tree_end and scene.way.dead_end[int(self._trip[AT])]
        wire.step(0.0 if blocked else speed, spin)
        self._show_next()
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
        wire, threshold = self.wire, self.options.anatomy.target_threshold_mm
        return self._fluoroscope.frame(wire.points, self._scene.target, threshold, wire.bare)


def _observation_space(sheet: Sheet) -> spaces.Dict:
    groups: dict[str, Any] = {}
    privileged: dict[str, Any] = {}
    for path, cells in sheet.observation.items():
        name = str(path[-1])
        bound = OBSERVED_UNITS.get(name, OBSERVED_MM)
        (groups if len(path) == 1 else privileged)[name] = spaces.Box(-bound, bound, cells.shape, np.float32)
    return spaces.Dict({**groups, "privileged": spaces.Dict(privileged)} if privileged else groups)
