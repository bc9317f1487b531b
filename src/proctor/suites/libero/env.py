"""A task of LIBERO as an environment.

Action: change of the hand's position (3) and orientation (3), gripper (1; -1 opens), float64 in [-1, 1]; 20 steps a
second. LIBERO's controller clips what is outside, and of the gripper it takes the sign; to clip beforehand changes
nothing. A trial is one of the task's initial states among furniture of its own; the seed of a trial decides nothing
here. LIBERO draws from numpy's global generator; afterwards that is as it was.

Observations are a dict:

- `image/CAMERA`: uint8 (side, side, 3), as the protocol turns and resizes it;
- `state`: float64 (8,), the hand's position (3), orientation as axis times angle (3), both fingers (2);
- `joints`: float32 (7,), the arm's angles in rad;
- `instruction`: uint8 (128,), or a multiple of it for long ones, UTF-8 bytes, zeros behind (`proctor.texts`).

The simulator takes its pictures at a moment of its own within a control step, so a frame is drawn then or never: a
shutter over its cameras is open for steps whose observation is looked at, and closed for all others.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import InputError
from proctor.generators import kept_generators
from proctor.images import resize_with_padding, rotate_180
from proctor.suites.libero.disturbing import Disturbance
from proctor.suites.libero.installation import Libero, import_libero, read_states
from proctor.suites.libero.presets import PRESETS
from proctor.texts import text_to_bytes
from proctor_host import spaces
from proctor_host.environments import Env, Step
from proctor_host.values import flag

if TYPE_CHECKING:
    from proctor.suites.libero.suite import LiberoOptions

TEXT_BYTES = 128
CONTROL_HZ = 20


class Shutter:
    """Stands over the cameras of a robosuite environment, which take a frame in every control step, at a moment that
    their sampling decides, whether anybody looks or not. While it is closed a camera gives black, which costs nothing,
    and the moments at which frames are taken stay as they are. `is_open`: whether frames are drawn. Flags of the scene
    are set where an effect is switched off."""

    def __init__(self, cameras: Sequence[str], side: int, shadows: bool, reflections: bool):
        self._cameras, self._black = tuple(cameras), np.zeros((side, side, 3), np.uint8)
        self._off = [name for name, on in (("SHADOW", shadows), ("REFLECTION", reflections)) if not on]
        self.is_open = False

    def mount(self, env: Any) -> None:
        """Put the shutter over the cameras of a robosuite environment; after each reset, which makes new ones."""
        self.is_open = False
        for camera in self._cameras:
            observable = env._observables[f"{camera}_image"]
            observable.set_sensor(self._over(observable._sensor))
        if self._off:
            flags = importlib.import_module("mujoco").mjtRndFlag
            for name in self._off:
                env.sim._render_context_offscreen.scn.flags[getattr(flags, f"mjRND_{name}")] = 0

    def _over(self, camera: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
        def frame(cache: Any) -> np.ndarray:
            return camera(cache) if self.is_open else self._black

        return importlib.import_module("robosuite.utils.observables").sensor(modality="image")(frame)


class Scenes:
    """Where furniture stands, which initial states leave open: LIBERO draws it from numpy's global generator in every
    reset. `how` is an option of the suite; a `sequence` costs a reset for every trial that was not met yet, once."""

    def __init__(self, how: str, seed: int):
        self._how, self._seed = how, seed
        self._before: list[Any] = []
        """What the generator is before each reset of the sequence, and before the next."""

    def arrange(self, world: Any, index: int) -> None:
        """Reset a LIBERO environment for trial `index`."""
        if self._how != "sequence":
            world.seed((self._seed + (index if self._how == "own" else 0)) % 2**32)
            world.reset()
            return
        if not self._before:
            world.seed(self._seed)
            self._before.append(np.random.get_state())  # noqa: NPY002 - LIBERO's generator
        for number in range(min(index, len(self._before) - 1), index + 1):
            np.random.set_state(self._before[number])  # noqa: NPY002
            world.reset()
            if number + 1 == len(self._before):
                self._before.append(np.random.get_state())  # noqa: NPY002


class LiberoEnv(Env):
    """One arm in one room."""

    action_dt_s = 1.0 / CONTROL_HZ
    skips_observations = True

    def __init__(self, libero: Libero, options: LiberoOptions):
        self.options, preset = options, PRESETS[options.protocol]
        self._preset = preset
        self.task = libero.task_of(options)
        self._states = read_states(self.task.states_file, alone=options.states_file is not None)
        self.max_steps = preset.max_steps[options.benchmark]
        self._side = options.image_px or preset.image_px
        self._rotated = preset.rotated if options.rotated is None else options.rotated
        self._scenes = Scenes(options.scenes, preset.scene_seed if options.scene_seed is None else options.scene_seed)
        side = options.render_px or preset.render_px
        self._world = self._make_world(libero, side)
        self._disturbance = Disturbance(options.perturbation)
        self._disturbance.furnish(self._world)
        self._shutter = Shutter(options.cameras, side, options.shadows, options.reflections)
        length = len(self.task.instruction.encode())
        self._text = text_to_bytes(self.task.instruction, TEXT_BYTES * max(1, -(-length // TEXT_BYTES)))
        self._seen: Mapping[str, Any] = {}
        self._succeeded = self._closed = False
        self.initial_state = 0
        self.initial_states = len(self._states)
        self.action_space = spaces.Box(-1.0, 1.0, (7,), np.float64)
        self.observation_space = _observation_space(options.cameras, self._side, len(self._text))

    def _make_world(self, libero: Libero, side: int) -> Any:
        with kept_generators():
            try:
                return libero.envs.OffScreenRenderEnv(
                    bddl_file_name=str(self.task.bddl_file),
                    camera_names=list(self.options.cameras),
                    camera_heights=side,
                    camera_widths=side,
                    control_freq=CONTROL_HZ,
                    ignore_done=True,
                )
            except FileNotFoundError as error:
                raise InputError(
                    f"LIBERO's task {self.task.name} needs a file that is not there: {error}; complete the folder that "
                    "assets_folder names"
                ) from error

    def reset(self, seed: int, index: int) -> Any:
        """Start from initial state `index` modulo their number."""
        self.initial_state = index % len(self._states)
        with kept_generators():
            self._scenes.arrange(self._world, index)
        self._shutter.mount(self._world.env)
        self._shutter.is_open = True
        self._disturbance.illuminate(self._world.env.sim)
        state = self._disturbance.arrange(self._world, self._states[self.initial_state], index)
        self._seen = self._world.set_init_state(state)
        self._succeeded = False
        return self._observation()

    def step(self, action: Any) -> Step:
        self._shutter.is_open = True
        return self._advance(action)._replace(observation=self._observation())

    def step_unseen(self, action: Any) -> Step:
        self._shutter.is_open = False
        return self._advance(action)

    def _advance(self, action: Any) -> Step:
        self._seen, reward, done, _ = self._world.step(np.asarray(action, np.float64))
        hand = np.asarray(self._seen["robot0_eef_pos"], np.float64)
        if not np.isfinite(hand).all():
            raise FloatingPointError("the simulation diverged: the hand's position is not finite")
        success = flag("done", done) or (self._succeeded and self._preset.latched)
        self._succeeded = success
        fingers = np.asarray(self._seen["robot0_gripper_qpos"], np.float64)
        return Step(None, float(reward), False, False, success, {"hand_pos": hand.copy(), "fingers": fingers.copy()})

    def dummy_action(self) -> np.ndarray:
        return np.array(self._preset.dummy_action, np.float64)

    def constants(self) -> Mapping[str, Any]:
        """`initial_state`: which one; `instruction`: the text."""
        return {"initial_state": self.initial_state, "instruction": self.task.instruction}

    def render(self) -> np.ndarray:
        """The views of the video's cameras, upright, side by side."""
        side, cameras = self.options.video_px, self.options.video_cameras
        frames = [self._world.sim.render(camera_name=camera, width=side, height=side) for camera in cameras]
        return np.ascontiguousarray(np.hstack([np.asarray(frame, np.uint8)[::-1] for frame in frames]))

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._world.close()

    def _observation(self) -> dict[str, np.ndarray]:
        seen = self._seen
        frames = np.stack([np.asarray(seen[f"{camera}_image"], np.uint8) for camera in self.options.cameras])
        if self._rotated:
            frames = rotate_180(frames)
        frames = resize_with_padding(frames, (self._side, self._side))
        turned = axis_angle(np.asarray(seen["robot0_eef_quat"], np.float64))
        state = np.concatenate([seen["robot0_eef_pos"], turned, seen["robot0_gripper_qpos"]])
        return {
            **{f"image/{camera}": frame for camera, frame in zip(self.options.cameras, frames, strict=True)},
            "state": state.astype(np.float64),
            "joints": np.asarray(seen["robot0_joint_pos"], np.float32),
            "instruction": self._text.copy(),
        }


def axis_angle(quaternion: np.ndarray) -> np.ndarray:
    """A rotation (x, y, z, w) as axis times angle (3,), the angle in [0, 2 pi]; zeros where it is none."""
    w = float(np.clip(quaternion[3], -1.0, 1.0))
    sine = math.sqrt(1.0 - w * w)
    if math.isclose(sine, 0.0):
        return np.zeros(3)
    return quaternion[:3] * (2.0 * math.acos(w) / sine)


def _observation_space(cameras: Sequence[str], side: int, text_bytes: int) -> spaces.Dict:
    frame = spaces.Box(0, 255, (side, side, 3), np.uint8)
    entries: list[tuple[str, spaces.Space]] = [(f"image/{camera}", frame) for camera in cameras]
    entries.append(("state", spaces.Box(-np.inf, np.inf, (8,), np.float64)))
    entries.append(("joints", spaces.Box(-np.inf, np.inf, (7,), np.float32)))
    entries.append(("instruction", spaces.Box(0, 255, (text_bytes,), np.uint8)))
    return spaces.Dict(entries)


def make(options: LiberoOptions, *, render: bool, worlds: int) -> Env:
    """The environment of a task."""
    return LiberoEnv(import_libero(options.assets_folder), options)
