"""A task of Meta-World as an environment.

Action: (x, y, z, gripper) in [-1, 1]; 1 moves the hand's target by a centimetre, and closes the gripper. A step is
12.5 ms. The world itself is deterministic: a trial is its variation, and the seed of a trial decides nothing here.

Observations: the vector of Meta-World (39,), or with images a dict

- `image/CAMERA`: uint8 (height, width, 3), drawn only for steps whose observation is looked at;
- `state`: float32 (4,), the hand's position in m and how far the gripper is open (0 to 1);
- `instruction`: uint8 (64,), the instruction as UTF-8 bytes, zeros behind (`proctor.texts`);
- `privileged`, where asked for: the vector of 39 numbers.
"""

from __future__ import annotations

import functools
import pickle
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from proctor.errors import optional
from proctor.suites.metaworld.tasks import INSTRUCTIONS, TEXT_BYTES
from proctor.suites.offscreen import Effects, Size, Viewer
from proctor.suites.states import States, states_of
from proctor.texts import text_to_bytes
from proctor_host.environments import Env, Step
from proctor_host.values import flag

if TYPE_CHECKING:
    from proctor.suites.metaworld.suite import MetaworldOptions

FULL, PROPRIO = 39, 4
UPSIDE_DOWN = frozenset({"corner", "corner2", "corner3"})
MAX_STEPS = 500


class MetaworldEnv(Env):
    """One robot arm at one table."""

    max_steps = MAX_STEPS
    skips_observations = True

    def __init__(self, options: MetaworldOptions):
        self.options = options
        self.instruction = INSTRUCTIONS[options.task]
        self._vectors = variations(options.task, options.variation_seed, options.variations)
        self._world = make_world(options.task)
        self._images = options.observation == "images"
        self._size: Size = (options.image_height, options.image_width)
        self._video_size: Size = (options.video_height, options.video_width)
        effects = Effects(options.shadows, options.reflections, options.samples)
        largest = max(self._size[0], self._video_size[0]), max(self._size[1], self._video_size[1])
        self._viewer = Viewer(self._world.model, self._world.data, largest, effects)
        self._states: States | None = None
        self._frames: dict[tuple[str, Size], np.ndarray] = {}
        self._text = text_to_bytes(self.instruction, TEXT_BYTES)
        self._vector = np.zeros(FULL)
        self.variation = 0
        self.action_dt_s = float(self._world.dt)
        self.action_space = spaces.Box(-1.0, 1.0, (4,), np.float32)
        self.observation_space = _observation_space(options)

    def reset(self, seed: int, index: int) -> Any:
        """Start with variation `index` modulo their number."""
        self.variation = index % len(self._vectors)
        vector = self._vectors[self.variation]
        set_variation(self._world, self.options.task, vector, self.options.goal_observable)
        self._frames.clear()
        self._vector, _ = self._world.reset()
        self._states = states_of(self._world) if self.records_states else None
        return self._observation()

    def step(self, action: Any) -> Step:
        return self.step_unseen(action)._replace(observation=self._observation())

    def step_unseen(self, action: Any) -> Step:
        self._frames.clear()
        self._vector, reward, _, _, info = self._world.step(np.asarray(action, np.float32))
        if not np.isfinite(self._vector).all():
            raise FloatingPointError("the simulation diverged: the observation is not finite")
        signals = {
            "hand_pos": self._vector[:3].copy(),
            "gripper_opening": float(self._vector[3]),
            "target_distance_m": float(info["obj_to_target"]),
        }
        signals |= {} if self._states is None else self._states.signals()
        return Step(None, float(reward), False, False, flag('info["success"]', info["success"]), signals)

    def constants(self) -> Mapping[str, Any]:
        """`variation`: which one; `instruction`: the text; the shapes of the model, where states are recorded."""
        shapes = {} if self._states is None else self._states.constants()
        return {"variation": self.variation, "instruction": self.instruction, **shapes}

    def render(self) -> np.ndarray:
        """The view of the video camera."""
        return self._frame(self.options.video_camera, self._video_size)

    def close(self) -> None:
        self._viewer.close()
        self._world.close()

    def _observation(self) -> Any:
        if not self._images:
            return self._vector.copy()
        views = {f"image/{camera}": self._frame(camera, self._size) for camera in self.options.cameras}
        known = {"state": self._vector[:PROPRIO].astype(np.float32), "instruction": self._text.copy()}
        privileged = {"privileged": self._vector.copy()} if self.options.privileged else {}
        return {**views, **known, **privileged}

    def _frame(self, camera: str, size: Size) -> np.ndarray:
        """A frame of this step; drawn once, whoever asks."""
        key = camera, size
        if key not in self._frames:
            frame = self._viewer.draw(camera, size)
            turned = self.options.upright and camera in UPSIDE_DOWN
            self._frames[key] = np.ascontiguousarray(frame[::-1, ::-1]) if turned else frame
        return self._frames[key]


def _observation_space(options: MetaworldOptions) -> spaces.Space[Any]:
    full = spaces.Box(-np.inf, np.inf, (FULL,), np.float64)
    if options.observation == "state":
        return full
    shape = (options.image_height, options.image_width, 3)
    entries: list[tuple[str, spaces.Space[Any]]] = [
        (f"image/{camera}", spaces.Box(0, 255, shape, np.uint8)) for camera in options.cameras
    ]
    entries.append(("state", spaces.Box(-np.inf, np.inf, (PROPRIO,), np.float32)))
    entries.append(("instruction", spaces.Box(0, 255, (TEXT_BYTES,), np.uint8)))
    return spaces.Dict([*entries, ("privileged", full)] if options.privileged else entries)


def make_world(task: str) -> Any:
    """Meta-World's environment of a task, which never ends an episode by itself."""
    world = optional("metaworld.env_dict", "the metaworld suite", "metaworld").ALL_V3_ENVIRONMENTS[task]()
    world.max_path_length = sys.maxsize
    return world


def set_variation(world: Any, task: str, vector: np.ndarray, goal_observable: bool) -> None:
    """Have the next reset put objects and goal where `vector` says."""
    from metaworld.types import Task

    data = {"env_cls": type(world), "rand_vec": vector.copy(), "partially_observable": not goal_observable}
    world.set_task(Task(task, pickle.dumps(data)))


@functools.lru_cache(maxsize=64)
def variations(task: str, seed: int, count: int) -> np.ndarray:
    """The first `count` variations, one a row; read-only. A variation is a vector that says where objects and goal are.
    They are what `metaworld.MT1(task, seed)` draws, number by number, without running the physics of the resets in
    between and without a global generator."""
    import mujoco

    world = make_world(task)
    world._set_task_called, world._freeze_rand_vec, world.seeded_rand_vec = True, False, True
    world.np_random = np.random.RandomState(seed)
    world.do_simulation = lambda *_, **__: mujoco.mj_kinematics(world.model, world.data)
    drawn = []
    for _ in range(count):
        world.reset()
        drawn.append(world._last_rand_vec.copy())
    world.close()
    vectors = np.array(drawn)
    vectors.setflags(write=False)
    return vectors


def make(options: MetaworldOptions, *, render: bool, worlds: int) -> Env:
    """The environment of a task."""
    return MetaworldEnv(options)
