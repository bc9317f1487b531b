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
from proctor.suites.endovascular.paths import Route
from proctor.suites.endovascular.tools import find_tool
from proctor.suites.endovascular.wire import Physics, Wire
from proctor.suites.protocol import Env, Step

REWARD_TARGET, REWARD_PATH_PER_MM, REWARD_STEP = 1.0, 0.001, -0.005
RECORDED_POINTS = 48
"""Points of the wire in a record, from the tip to the entry, closest at the tip: about a mm there, 15 at the entry of a
long wire."""
RECORDED_SHARES = np.linspace(0.0, 1.0, RECORDED_POINTS) ** 1.5
LOOK_AHEAD_MM, LOOK_BEYOND_MM = 14.0, 26.0
SHAFT_MM = 16.0
"""How far behind the tip the privileged direction of the shaft is taken."""


class EndovascularEnv(Env):
    """One wire in one vessel."""

    def __init__(self, options: EndovascularOptions):
        anatomy = options.anatomy
        self.options = options
        self.tree = aortic_arch(anatomy.arch_type, anatomy.seed)
        self.carm = CArm(anatomy.image_rot_zx_deg)
        self.action_dt_s = 1.0 / anatomy.image_frequency_hz
        self._field = arch_field(anatomy.arch_type, anatomy.seed)
        self._routes = {name: Route(self.tree, name) for name in anatomy.target_branches}
        self._fluoroscope: Fluoroscope | None = None
        self.wire = self._make_wire()
        self.observation_space = _observation_space(options)
        limits = np.array([options.max_translation_mm_s, options.max_rotation_rad_s], np.float32)
        self.action_space = spaces.Box(-limits, limits, dtype=np.float32)

    def _make_wire(self) -> Wire:
        options = self.options
        physics = Physics(
            self.action_dt_s or 0.0,
            options.substeps,
            options.iterations,
            options.spacing_mm,
            options.anatomy.friction,
            options.max_push_n,
        )
        return Wire(find_tool(options.tool), self._field, self.tree.entry, self.tree.direction, physics)

    def reset(self, seed: int, index: int) -> Any:
        """The seed draws the wire's angle in the sheath and, among several, the target."""
        rng = np.random.default_rng(seed)
        branches = self.options.anatomy.target_branches
        angle = rng.uniform(-np.pi, np.pi)
        self.target_branch = branches[int(rng.integers(len(branches)))]
        self.route = self._routes[self.target_branch]
        self.target = self.tree.branch(self.target_branch).end
        self.wire.reset(self.options.start_mm, angle)
        self._initial_mm = self._remaining_mm = self.route.remaining_mm(self.wire.tip)
        self._tip: np.ndarray | None = None
        self._before = self.carm.track(self.wire.tip)
        self._travelled_mm = self._pushed_mm = self._time_s = 0.0
        self._action = np.zeros(2, np.float32)
        return self._observation()

    def step(self, action: Any) -> Step:
        speed, spin = float(action[0]), float(action[1])
        inserted = self.wire.inserted_mm
        blocked = speed > 0 and self.options.stop_at_tree_end and self.route.at_end(self.wire.tip)
        self.wire.step(0.0 if blocked else speed, spin)
        self._action = np.array([speed, spin], np.float32)
        self._time_s += self.action_dt_s or 0.0
        self._pushed_mm += abs(self.wire.inserted_mm - inserted)
        remaining = self.route.remaining_mm(self.wire.tip)
        success = bool(np.linalg.norm(self.wire.tip - self.target) <= self.options.anatomy.target_threshold_mm)
        reward = REWARD_STEP + REWARD_PATH_PER_MM * (self._remaining_mm - remaining) + REWARD_TARGET * success
        self._remaining_mm = remaining
        signals = self._signals()
        return Step(self._observation(), reward, success, False, success, signals)

    def _signals(self) -> dict[str, Any]:
        wire, contact = self.wire, self.wire.contact()
        tip = self.carm.track(wire.tip)
        velocity = np.zeros(3) if self._tip is None else (tip - self._tip) / self.action_dt_s
        self._travelled_mm += float(np.linalg.norm(tip - self._before))
        self._tip = self._before = tip
        return {
            "tip_pos3d": tip,
            "tip_vel3d": velocity,
            "inserted_length": wire.inserted_mm,
            "rotation": wire.angle_rad,
            "path_ratio": 1.0 - self._remaining_mm / self._initial_mm,
            "trajectory_length": self._travelled_mm,
            "avg_translation_speed": self._pushed_mm / self._time_s,
            "wall_lcp_sum_abs": contact.total,
            "wall_lcp_max_abs": contact.largest,
            "wall_wire_force_norm": contact.stacked_norm,
            "wall_collision_force_norm": contact.resultant_norm,
            "wall_contact_count": contact.count,
            "wall_force_pos3d": self.carm.track(contact.where),
            "wall_depth_max_mm": wire.depth_max_mm,
            "handle_force_n": wire.push_force_n,
            "handle_torque_n_mm": wire.torque_n_mm,
            "wire_pos3d": self.carm.track(wire.along(wire.inserted_mm * RECORDED_SHARES)).astype(np.float32),
        }

    def constants(self) -> dict[str, Any]:
        """What pictures of a trial need: the vessel (points, radii, branch of each point), target and names."""
        branches = self.tree.branches
        return {
            "case": np.array(self.target_branch),
            "simulator": np.array("embedded"),
            "force_unit": np.array("N"),
            "tool": np.array(self.options.tool if isinstance(self.options.tool, str) else "custom"),
            "target_pos3d": self.carm.track(self.target),
            "target_threshold_mm": np.array(self.options.anatomy.target_threshold_mm),
            "vessel_pos3d": self.carm.track(self.tree.points()).astype(np.float32),
            "vessel_radius": np.concatenate([b.radii for b in branches]).astype(np.float32),
            "vessel_branch": np.repeat([b.name for b in branches], [len(b.points) for b in branches]),
        }

    def _observation(self) -> dict[str, Any]:
        options, wire = self.options, self.wire
        spots = wire.along(np.arange(options.tracking_points) * options.tracking_resolution_mm)
        found: dict[str, Any] = {
            "tracking": self.carm.project(spots).astype(np.float32),
            "target": self.carm.project(self.target).astype(np.float32),
            "inserted_length": np.array([wire.inserted_mm], np.float32),
            "rotation": np.array([np.cos(wire.angle_rad), np.sin(wire.angle_rad)], np.float32),
            "last_action": self._action,
        }
        if options.privileged:
            found["privileged"] = self._privileged()
        return found

    def _privileged(self) -> dict[str, Any]:
        wire, track = self.wire, self.carm.track
        return {
            "tip": track(wire.tip).astype(np.float32),
            "heading": track(wire.heading).astype(np.float32),
            "shaft": track(wire.shaft(SHAFT_MM)).astype(np.float32),
            "shaft_pos": track(wire.along(np.array([SHAFT_MM]))[0]).astype(np.float32),
            "ahead": track(self.route.ahead(wire.tip, LOOK_AHEAD_MM)).astype(np.float32),
            "beyond": track(self.route.ahead(wire.tip, LOOK_BEYOND_MM)).astype(np.float32),
            "remaining": np.array([self._remaining_mm], np.float32),
            "handle_force": np.array([wire.push_force_n], np.float32),
        }

    def render(self) -> np.ndarray:
        if self._fluoroscope is None:
            self._fluoroscope = Fluoroscope(self._field, self.carm)
        return self._fluoroscope.frame(self.wire.points, self.target, self.options.anatomy.target_threshold_mm)


def _observation_space(options: EndovascularOptions) -> spaces.Dict:
    def box(*shape: int, bound: float = 2000.0) -> spaces.Box:
        return spaces.Box(-bound, bound, shape, np.float32)

    groups: dict[str, spaces.Space[Any]] = {
        "tracking": box(options.tracking_points, 2),
        "target": box(2),
        "inserted_length": box(1),
        "rotation": box(2, bound=1.0),
        "last_action": box(2),
    }
    if options.privileged:
        groups["privileged"] = spaces.Dict(
            {
                "tip": box(3),
                "heading": box(3, bound=1.001),
                "shaft": box(3, bound=1.001),
                "shaft_pos": box(3),
                "ahead": box(3),
                "beyond": box(3),
                "remaining": box(1),
                "handle_force": box(1),
            }
        )
    return spaces.Dict(groups)
