"""Pictures of a tracking robot beside a translucent copy of its reference, without a screen.

The renderer takes states, not simulators: `qpos` is root position (3), root quaternion (4, wxyz) and joint angles in
the robot's order. `qpos_from` makes it of another simulator's root and joint state, with the order of its quaternions
and joints declared. The camera follows the two, and steps back as they part; a frame depends on nothing but the
states it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from proctor.errors import InputError
from proctor.suites.offscreen import Canvas, Size
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.stage import AGENT, REFERENCE, RGBA, SCENERY, PuppetStage, build_stage

LARGEST_SIDE = 4096


@dataclass(frozen=True)
class Look:
    """How a picture is composed. Angles in degrees, as MuJoCo counts them: the camera looks along `azimuth`."""

    beside_m: float = 1.0
    """How far right of its own place the reference is drawn; 0 draws it where it is, through the agent."""
    distance_m: float = 2.7
    azimuth_deg: float = 150.0
    elevation_deg: float = -12.0
    height_m: float = 0.7
    """The height that the camera looks at."""
    reference_rgba: RGBA = (1.0, 0.55, 0.12, 0.32)

    def right(self) -> np.ndarray:
        """The direction (3,) that is to the right in the picture."""
        angle = np.deg2rad(self.azimuth_deg)
        return np.array([np.sin(angle), -np.cos(angle), 0.0])


@dataclass(frozen=True)
class SimulatorOrder:
    """In which order another simulator gives a state: `quaternion` by its letters; `joint_names` None where the
    joints already have the robot's order. More joints than the robot has (fingers) are left out."""

    quaternion: Literal["wxyz", "xyzw"]
    joint_names: Sequence[str] | None = None

    def joints(self, wanted: Sequence[str]) -> list[int]:
        """For each of the robot's joints its column in the simulator's order."""
        if self.joint_names is None:
            return list(range(len(wanted)))
        column = {name: i for i, name in enumerate(self.joint_names)}
        if len(column) != len(self.joint_names):
            twice = sorted({name for name in self.joint_names if list(self.joint_names).count(name) > 1})
            raise InputError(f"joint_names has {', '.join(twice)} more than once; give each joint once")
        missing = [name for name in wanted if name not in column]
        if missing:
            raise InputError(
                f"joint_names lacks {', '.join(missing)} of the robot; it has {', '.join(self.joint_names)}. "
                "Name the simulator's joints as the robot does"
            )
        return [column[name] for name in wanted]


def qpos_from(
    robot: Robot, root_pos: np.ndarray, root_quat: np.ndarray, joint_pos: np.ndarray, order: SimulatorOrder
) -> np.ndarray:
    """Another simulator's state as qpos (..., 7 + J): root_pos (..., 3), root_quat (..., 4) and joint_pos (..., K) in
    the declared order. Quaternions are normalised."""
    columns = order.joints(robot.description.joint_names)
    position, quaternion, joints = (np.asarray(a, np.float64) for a in (root_pos, root_quat, joint_pos))
    found = len(order.joint_names) if order.joint_names is not None else len(columns)
    for name, array, last in (("root_pos", position, 3), ("root_quat", quaternion, 4), ("joint_pos", joints, found)):
        if array.shape[-1:] != (last,) or array.shape[:-1] != position.shape[:-1]:
            raise InputError(
                f"{name} has shape {array.shape}; {(*position.shape[:-1], last)} was expected "
                f"beside a root_pos of shape {position.shape}"
            )
    if order.quaternion not in ("wxyz", "xyzw"):
        raise InputError(f'the quaternion order is "wxyz" or "xyzw", not {order.quaternion!r}')
    if order.quaternion == "xyzw":
        quaternion = np.roll(quaternion, 1, axis=-1)
    norm = np.linalg.norm(quaternion, axis=-1, keepdims=True)
    if np.any(norm < 1e-6):
        raise InputError("root_quat has a quaternion of length zero; a rotation has length one")
    return np.concatenate([position, quaternion / norm, joints[..., columns]], axis=-1)


class TrackingRenderer:
    """Frames of one robot. The graphics context is made with the first frame; use a renderer from one thread, and
    close it (or use it as a context manager)."""

    def __init__(self, robot: Robot, width: int = 640, height: int = 480, look: Look | None = None):
        for name, side in (("width", width), ("height", height)):
            if not 16 <= side <= LARGEST_SIDE:
                raise InputError(f"{name} is {side} pixels; a frame has 16 to {LARGEST_SIDE} on a side")
        self.robot, self.width, self.height, self.look = robot, width, height, look or Look()
        self._canvas: _PuppetCanvas | None = None

    def render(self, qpos: np.ndarray, reference_qpos: np.ndarray | None = None) -> np.ndarray:
        """The agent at `qpos` (7 + J,), with the reference where one is given: uint8 (height, width, 3)."""
        canvas = self._open()
        agent = canvas.pose(AGENT, self._checked("qpos", qpos))
        reference = None
        if reference_qpos is not None:
            moved = self._checked("reference_qpos", reference_qpos)
            moved[:3] += self.look.beside_m * self.look.right()
            reference = canvas.pose(REFERENCE, moved)
        return canvas.draw(*self._camera(agent, reference), self.look, reference is not None)

    def close(self) -> None:
        """Let go of the graphics context. A later `render` makes a new one."""
        if self._canvas is not None:
            self._canvas.free()
            self._canvas = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> _PuppetCanvas:
        if self._canvas is None:
            size = (self.height, self.width)
            stage = build_stage(self.robot.model, self.look.reference_rgba, size)
            self._canvas = _PuppetCanvas(self.robot.model, stage, size)
        return self._canvas

    def _checked(self, name: str, qpos: np.ndarray) -> np.ndarray:
        state = np.array(qpos, np.float64)
        expected = (self.robot.model.nq,)
        if state.shape != expected:
            raise InputError(f"{name} has shape {state.shape}; one state of {expected} was expected")
        if not np.all(np.isfinite(state)):
            raise InputError(f"{name}[{int(np.flatnonzero(~np.isfinite(state))[0])}] is not finite; nothing to draw")
        return state

    def _camera(self, agent: np.ndarray, reference: np.ndarray | None) -> tuple[np.ndarray, float]:
        """Look at the middle of both roots, from as far as it takes to see both: target and distance."""
        other = agent if reference is None else reference
        middle, apart = (agent + other) / 2, float(np.linalg.norm(agent[:2] - other[:2]))
        rise = max(0.0, float(max(agent[2], other[2])) - 1.2)
        target = np.array([middle[0], middle[1], self.look.height_m + rise / 2])
        return target, self.look.distance_m + 0.9 * max(0.0, apart - self.look.beside_m) + rise


class _PuppetCanvas(Canvas):
    """A stage with its graphics context."""

    def __init__(self, robot_model: Any, stage: PuppetStage, size: Size):
        import mujoco

        super().__init__(stage.model, size)
        self._bodies, self._robot_model, self._size = stage.bodies, robot_model, size
        self._robot, self._data = mujoco.MjData(robot_model), mujoco.MjData(stage.model)
        self.camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        self.option.geomgroup[:] = 0
        self.option.geomgroup[[SCENERY, AGENT]] = 1

    def pose(self, puppet: int, qpos: np.ndarray) -> np.ndarray:
        """Pose a puppet as the robot would stand, and return where its root is (3,)."""
        import mujoco

        self._robot.qpos[:] = qpos
        mujoco.mj_kinematics(self._robot_model, self._robot)
        first = 0 if puppet == AGENT else self._bodies
        rows = slice(first, first + self._bodies)
        self._data.mocap_pos[rows], self._data.mocap_quat[rows] = self._robot.xpos[1:], self._robot.xquat[1:]
        return qpos[:3].copy()

    def draw(self, target: np.ndarray, distance_m: float, look: Look, with_reference: bool) -> np.ndarray:
        """The puppets as they are posed, seen from a distance."""
        import mujoco

        mujoco.mj_kinematics(self.model, self._data)
        mujoco.mj_camlight(self.model, self._data)
        self.camera.lookat[:], self.camera.distance = target, distance_m
        self.camera.azimuth, self.camera.elevation = look.azimuth_deg, look.elevation_deg
        self._data.light_xpos[0, :2] = target[:2]
        self.option.geomgroup[REFERENCE] = with_reference
        # The headlight shines from where the scene's camera was; so that camera moves first.
        mujoco.mjv_updateCamera(self.model, self._data, self.camera, self.scene)
        return self.frame(self._data, self._size)
