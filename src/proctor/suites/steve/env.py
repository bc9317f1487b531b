"""A stEVE environment on SOFA.

Action: (translation, rotation) of the wire for one picture's time, as `normalize_action` says. Positions that are
recorded are stEVE's tracking coordinates, in mm. An episode ends when the tip is within the threshold of the target. A
simulation that diverges (or, in a process of its own, hangs) raises: the trial is an environment error, no score.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.suites.endovascular.anatomy import evenly
from proctor.suites.endovascular.pictures import box_around, picture, widths
from proctor.suites.steve.build import IMAGE, build, import_eve
from proctor.suites.steve.forces import SceneForces
from proctor_host import spaces
from proctor_host.environments import Env, Step
from proctor_host.errors import InputError
from proctor_host.values import flag

if TYPE_CHECKING:
    from proctor.suites.steve.options import SteveOptions

RECORDED_POINTS = 32
"""Points of the wire in a record, evenly from the tip to the entry."""


class SimulationDiverged(RuntimeError):
    """SOFA's state is no state of a wire any more."""


class SteveEnv(Env):
    """One wire in one vessel. `eve` is stEVE's package."""

    def __init__(self, eve: Any, options: SteveOptions):
        self._eve, self.options = eve, options
        self._env, self._intervention, self._pathfinder = build(eve, options)
        self.action_dt_s = 1.0 / float(self._intervention.fluoroscopy.image_frequency)
        self._simulation = self._intervention.simulation
        self._reset_simulation = self._simulation.reset
        self._running = False
        box = self._intervention.action_space
        low, high = (bound.ravel().astype(np.float32) for bound in (box.low, box.high))
        self.action_space = spaces.Box(low, high, dtype=np.float32)
        self.observation_space = _observation_space(options, len(self._intervention.devices))

    def reset(self, seed: int, index: int) -> Any:
        """The seed draws the wire's angle in the sheath and, among several, the target."""
        self._simulation.reset = functools.partial(self._reset_simulation, seed=seed)
        self._running = True
        observation, _ = self._env.reset(seed=seed)
        self._check()
        self._forces = SceneForces(self._simulation.root if self.options.use_non_mp_sim else None)
        self._initial_mm = float(self._pathfinder.path_length) or np.nan
        self._tip: np.ndarray | None = None
        self._before, self._inserted_mm = self._tracking()[0], self._inserted()
        self._travelled_mm = self._pushed_mm = self._time_s = 0.0
        return self._plain(observation)

    def step(self, action: Any) -> Step:
        observation, reward, terminated, truncated, _ = self._env.step(np.asarray(action, np.float32))
        self._check()
        success = bool(self._intervention.target.reached)
        signals = self._signals()
        ends = flag("terminated", terminated), flag("truncated", truncated)
        return Step(self._plain(observation), float(reward), *ends, success, signals)

    def _plain(self, observation: Any) -> dict[str, np.ndarray]:
        values = observation.values() if self.options.environment is not None else None
        values = values or [None if key == IMAGE else observation[key] for key in self.options.observed]
        return {
            key: self._image() if key == IMAGE else np.asarray(value, np.float32)
            for key, value in zip(self.options.observed, values)
        }

    def _image(self) -> np.ndarray:
        """The devices as they are tracked, on the box around the centrelines."""
        line, intervention = self._tracking(), self._intervention
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        lengths = np.array(intervention.device_lengths_inserted, np.float64)
        diameters = np.array(intervention.device_diameters, np.float64)
        centrelines = self._track(np.concatenate([branch.coordinates for branch in intervention.vessel_tree.branches]))
        wide = widths(along, lengths, diameters)
        return picture(line[:, ::2], wide, box_around(centrelines[:, ::2]), self.options.image_px)

    def _check(self) -> None:
        if self._simulation.simulation_error:
            raise SimulationDiverged("the SOFA simulation diverged or stopped answering (stEVE: simulation_error)")
        if not np.isfinite(self._tracking()[0]).all():
            raise SimulationDiverged("the SOFA simulation diverged: the wire's tip is not at a finite position")

    def _tracking(self) -> np.ndarray:
        """The wire in tracking coordinates, from the tip on: (points, 3)."""
        return np.asarray(self._intervention.fluoroscopy.tracking3d, np.float64)

    def _inserted(self) -> float:
        return float(self._intervention.device_lengths_inserted[0])

    def _signals(self) -> dict[str, Any]:
        wire, inserted = self._tracking(), self._inserted()
        tip = wire[0]
        velocity = np.zeros(3) if self._tip is None else (tip - self._tip) / self.action_dt_s
        self._travelled_mm += float(np.linalg.norm(tip - self._before))
        self._pushed_mm += abs(inserted - self._inserted_mm)
        self._time_s += self.action_dt_s or 0.0
        self._tip = self._before = tip
        self._inserted_mm = inserted
        lengths, turns = (
            np.array(each, np.float64)
            for each in (self._intervention.device_lengths_inserted, self._intervention.device_rotations)
        )
        several: dict[str, Any] = {"inserted_lengths": lengths, "rotations": turns} if len(turns) > 1 else {}
        return {
            **several,
            "tip_pos3d": tip,
            "tip_vel3d": velocity,
            "inserted_length": inserted,
            "rotation": float(self._intervention.device_rotations[0]),
            "path_ratio": 1.0 - float(self._pathfinder.path_length) / self._initial_mm,
            "trajectory_length": self._travelled_mm,
            "avg_translation_speed": self._pushed_mm / self._time_s,
            **self._forces.read(),
            "wire_pos3d": evenly(wire, RECORDED_POINTS).astype(np.float32),
        }

    def constants(self) -> dict[str, Any]:
        """What pictures of a trial need: the vessel (points, radii, branch of each point), target and names."""
        intervention = self._intervention
        branches, aim = intervention.vessel_tree.branches, intervention.target
        points = [self._track(branch.coordinates) for branch in branches]
        target = np.asarray(aim.coordinates3d, np.float64)
        gaps = {b.name: float(np.linalg.norm(p - target, axis=1).min()) for b, p in zip(branches, points)}
        wanted = [name for name in aim.branches or gaps if name in gaps]
        return {
            "case": np.array(min(wanted, key=lambda name: gaps[name])),
            "simulator": np.array("sofa"),
            "tool": np.array(self._tool()),
            "force_unit": np.array("scene force"),
            "target_pos3d": target,
            "target_threshold_mm": np.array(float(aim.threshold)),
            "vessel_pos3d": np.concatenate(points).astype(np.float32),
            "vessel_radius": np.concatenate([self._radii(b) for b in branches]).astype(np.float32),
            "vessel_branch": np.repeat([b.name for b in branches], [len(p) for p in points]),
        }

    def _tool(self) -> str:
        tool = self.options.tool
        if self.options.benchmark is not None:
            return "+".join(str(device.name) for device in self._intervention.devices)
        return tool if isinstance(tool, str) else "custom"

    def _radii(self, branch: Any) -> np.ndarray:
        """Radii of a branch's points; a tree whose centrelines have none says how wide its vessels are about."""
        known = getattr(branch, "radii", None)
        if known is not None:
            return np.asarray(known)
        about = self._intervention.vessel_tree.approx_branch_radii
        return np.full(len(branch.coordinates), float(np.mean(about)))

    def _track(self, points: np.ndarray) -> np.ndarray:
        """Vessel coordinates to tracking coordinates."""
        view = self._intervention.fluoroscopy
        transform = self._eve.util.coordtransform.vessel_cs_to_tracking3d
        return np.asarray(transform(points, view.image_rot_zx, view.image_center, None), np.float64)

    def close(self) -> None:
        if self._running:
            self._running = False
            self._env.close()


def _observation_space(options: SteveOptions, devices: int) -> spaces.Dict:
    """The entries in their order. Values are about [-1, 1], but the wire may leave the vessel's box. stEVE's own
    spaces are not asked: turned by the C-arm, the corners of a box can change places, which Gymnasium refuses."""
    shapes = {
        "tracking": (options.tracking_memory, options.tracking_points, 2),
        "target": (2,),
        "last_action": (devices, 2),
        "rotation": (devices, 2),
        "inserted_lengths": (devices,),
    }
    image = spaces.Box(0, 255, (options.image_px, options.image_px), np.uint8)
    floats = {name: spaces.Box(-np.inf, np.inf, shape, np.float32) for name, shape in shapes.items()}
    return spaces.Dict([(name, image if name == IMAGE else floats[name]) for name in options.observed])


def make(options: SteveOptions, *, render: bool, worlds: int) -> Env:
    """The environment of a task."""
    if render:
        raise InputError("the steve suite draws no frames; use record: series, or simulator: embedded for videos")
    return SteveEnv(import_eve(), options)
