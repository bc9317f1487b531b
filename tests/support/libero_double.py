"""A double of LIBERO on robosuite: exactly the interface that the `libero` suite uses, on a hand that is a point.

`install(folder, monkeypatch)` writes packages `libero` and `robosuite` that lead here, so that worker processes find
them too, with assets, descriptions and initial states (saved by torch) beside them. The quirks that the suite works
around are those of hf-libero 0.1.4 and robosuite 1.4.0: the import asks a question where there is no config file, the
assets are downloaded where no path is set before the environments are imported, furniture is placed from numpy's global
generator, a reset makes new cameras and draws with them, frames are upside down, every step takes a frame of every
camera, actions are clipped and the gripper's is a sign, an episode may not go on after its horizon, `close` works once.

A state is (hand 3, goal 3, blink): success is a hand near the goal, or the step number `blink`. The goal is a `plate`,
which can be moved. A reset builds the room of `_arena_xml` with `_arena_properties`, and a new model of cameras and
lamps.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

ASSETS = (
    "scenes", "stable_hope_objects", "stable_scanned_objects", "turbosquid_objects", "articulated_objects", "textures",
)  # fmt: skip
COUNTS = {"spatial": 10, "object": 10, "goal": 10, "90": 90, "10": 10}
STATES = 4
DRAWN: list[str] = []
"""The camera of each frame that was drawn in this process."""


class Task(NamedTuple):
    name: str
    language: str
    problem: str
    problem_folder: str
    bddl_file: str
    init_states_file: str


def _task(suite: str, number: int) -> Task:
    name = f"put_thing_{number}_on_the_plate"
    return Task(name, name.replace("_", " "), "Libero", suite, f"{name}.bddl", f"{name}.pruned_init")


task_maps = {
    f"libero_{key}": {(task := _task(f"libero_{key}", n)).name: task for n in range(count)}
    for key, count in COUNTS.items()
}


class Benchmark:
    """A benchmark as LIBERO's own programs use it."""

    suite = ""

    def __init__(self) -> None:
        self._tasks = list(task_maps[self.suite].values())
        self.n_tasks = len(self._tasks)

    def get_task(self, number: int) -> Task:
        return self._tasks[number]

    def get_task_init_states(self, number: int) -> np.ndarray:
        return initial_states()


def get_benchmark_dict() -> dict[str, type[Benchmark]]:
    return {name: type(name, (Benchmark,), {"suite": name}) for name in task_maps}


def sensor(modality: str = "default") -> Callable[[Any], Any]:
    """robosuite's decorator."""

    def decorate(function: Any) -> Any:
        function.__modality__ = modality
        return function

    return decorate


class Observable:
    """A sensor that is asked when `update` says so; a new sensor is tried at once."""

    def __init__(self, read: Any):
        self.obs: Any = None
        self.set_sensor(read)

    def set_sensor(self, read: Any) -> None:
        assert read.__modality__ in ("image", "proprio")
        self._sensor = read
        self._data_shape = np.array(read({})).shape

    def update(self) -> None:
        self.obs = np.array(self._sensor({}))


class Model:
    """Cameras and lamps, as robosuite's wrapper of a model has them."""

    def __init__(self) -> None:
        self.cam_pos = np.array([[0.6586131746834771, 0.0, 1.6103500240372423], [0.0, 0.0, 0.0]])
        self.cam_quat = np.array([[0.6380177736, 0.3048497438, 0.3048498631, 0.6380177736], [1.0, 0.0, 0.0, 0.0]])
        self.light_diffuse, self.light_specular = np.full((2, 3), 0.5), np.full((2, 3), 0.3)
        self.light_dir = np.array([[0.0, 0.6, -0.8], [1.0, 0.0, 0.0]])

    def camera_name2id(self, name: str) -> int:
        return ["agentview", "robot0_eye_in_hand"].index(name)

    def get_joint_qpos_addr(self, joint: str) -> tuple[int, int]:
        assert joint == "plate_joint0"
        return 2, 9  # behind the time, which stands first in a state


class Sim:
    """Where things are, and a picture of it."""

    def __init__(self, room: str) -> None:
        self.model, self.room = Model(), room
        self.state, self.furniture = np.zeros(7), np.random.uniform(0, 9)  # noqa: NPY002 - as LIBERO does
        flags = np.ones(10, np.uint8)
        self._render_context_offscreen = types.SimpleNamespace(scn=types.SimpleNamespace(flags=flags))

    def render(self, camera_name: str, width: int, height: int) -> np.ndarray:
        DRAWN.append(camera_name)
        rows, columns = np.mgrid[:height, :width]
        frame = np.empty((height, width, 3), np.uint8)
        frame[..., 0] = (rows * 3 + 200 * self.state[0] + len(camera_name)) % 256
        frame[..., 1] = (columns * 2 + 200 * self.state[1] + 20 * self._render_context_offscreen.scn.flags[0]) % 256
        frame[..., 2] = (rows + columns + 200 * self.state[2] + 9 * self.furniture + len(self.room)) % 256
        lamps = self.model.light_diffuse.sum() / 3
        seen = self.model.cam_pos[self.model.camera_name2id(camera_name)].sum()
        return (frame * lamps + 7 * seen).astype(np.uint8)


class Inner:
    """The robosuite environment."""

    def __init__(self, cameras: list[str], side: tuple[int, int], ignore_done: bool):
        self._cameras, self._side, self._ignore_done = cameras, side, ignore_done
        self._arena_properties = {"floor_style": "light-gray", "wall_style": "light-gray-plaster"}
        self._arena_xml = "scenes/base.xml"
        self.custom_asset_dir = sys.modules["libero.libero"].get_assets_path()  # type: ignore[attr-defined]
        self.objects_dict = {"plate": types.SimpleNamespace(joints=["plate_joint0"])}
        self.reset()

    def reset(self) -> dict[str, Any]:
        room = " ".join([Path(self._arena_xml).name, *self._arena_properties.values()])
        self.sim, self.timestep, self.fingers, self.done = Sim(room), 0, 0.04, False
        self._observables = {f"{name}_image": Observable(self._camera(name)) for name in self._cameras}
        return self.observe()

    def _camera(self, name: str) -> Any:
        @sensor(modality="image")
        def frame(_: Any) -> np.ndarray:
            return self.sim.render(camera_name=name, width=self._side[1], height=self._side[0])

        return frame

    def observe(self) -> dict[str, Any]:
        for observable in self._observables.values():
            observable.update()
        half = self.sim.state[0]
        return {
            **{name: observable.obs for name, observable in self._observables.items()},
            "robot0_eef_pos": self.sim.state[:3].copy(),
            "robot0_eef_quat": np.array([np.sin(half), 0.0, 0.0, np.cos(half)]),
            "robot0_gripper_qpos": np.array([self.fingers, -self.fingers]),
            "robot0_joint_pos": np.arange(7) * self.sim.state[1],
        }

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        if self.done:
            raise ValueError("executing action in terminated episode")
        assert len(action) == 7
        self.timestep += 1
        self.sim.state[:3] += 0.01 * np.clip(action[:3], -1, 1)
        self.fingers = float(np.clip(self.fingers - 0.01 * np.sign(action[6]), 0.0, 0.04))
        self.done = self.timestep >= 1000 and not self._ignore_done
        seen, success = self.observe(), self._check_success()
        return seen, float(success), success, {}

    def _check_success(self) -> bool:
        near = np.linalg.norm(self.sim.state[:3] - self.sim.state[3:6]) < 0.015
        return bool(near) or self.timestep == int(self.sim.state[6])


class OffScreenRenderEnv:
    def __init__(self, **kwargs: Any):
        bddl = Path(kwargs.pop("bddl_file_name"))
        assert bddl.exists(), f"[error] {bddl} does not exist!"
        if "absent" in bddl.read_text():
            raise FileNotFoundError(2, "No such file or directory", "stable_hope_objects/soup/soup.xml")
        side = kwargs.pop("camera_heights", 128), kwargs.pop("camera_widths", 128)
        assert kwargs.pop("control_freq", 20) == 20
        cameras = kwargs.pop("camera_names", ["agentview", "robot0_eye_in_hand"])
        self.env = Inner(cameras, side, kwargs.pop("ignore_done", False))
        assert not kwargs, f"unexpected {kwargs}"

    @property
    def sim(self) -> Sim:
        return self.env.sim

    def seed(self, seed: int) -> None:
        np.random.seed(seed)  # noqa: NPY002 - as LIBERO does

    def reset(self) -> dict[str, Any]:
        return self.env.reset()

    def step(self, action: np.ndarray) -> tuple[dict[str, Any], float, bool, dict[str, Any]]:
        return self.env.step(action)

    def set_init_state(self, state: np.ndarray) -> dict[str, Any]:
        self.env.sim.state[:] = state
        return self.env.observe()

    def close(self) -> None:
        del self.env


_FILES = {
    "libero/__init__.py": "",
    "libero/libero/__init__.py": """
import os
import yaml

_assets_path_cache = None
config_file = os.path.join(os.environ.get("LIBERO_CONFIG_PATH", os.path.expanduser("~/.libero")), "config.yaml")
if not os.path.exists(config_file):
    raise EOFError("Do you want to specify a custom path for the dataset folder? (Y/N): ")


def get_libero_path(key):
    with open(config_file) as file:
        return yaml.safe_load(file)[key]


def get_assets_path():
    if _assets_path_cache is None:
        raise ConnectionError("Local assets not found. Downloading from HuggingFace Hub...")
    return _assets_path_cache
""",
    "libero/libero/benchmark/__init__.py": "from libero_double import get_benchmark_dict, task_maps\n",
    "libero/libero/envs/__init__.py": """
from libero.libero import get_assets_path
from libero_double import OffScreenRenderEnv

get_assets_path()
""",
    "libero/libero/envs/arenas/__init__.py": "",
    "libero/libero/envs/arenas/style.py": """
STYLE_MAPPING = {"floor": {"light-gray": "a.png", "dark": "b.png"}, "wall": {"ceramic": "c.png", "white": "d.png"}}
""",
    "robosuite/__init__.py": "",
    "robosuite/utils/__init__.py": "",
    "robosuite/utils/observables.py": "from libero_double import sensor\n",
}


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the packages and put them on the path; the folder of the package. Nothing is imported yet. The genuine
    packages, where they are installed, are put aside until `forget`."""
    from proctor.suites.libero import installation

    _GENUINE.update({name: sys.modules.pop(name) for name in _imported()})
    for name, text in _FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    root = folder / "libero" / "libero"
    for name in ASSETS:
        (root / "assets" / name).mkdir(parents=True)
    for task in (task for tasks in task_maps.values() for task in list(tasks.values())[:2]):
        _write_task(root, task)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("HOME", str(folder / "home"))
    monkeypatch.setenv(installation.CONFIG_VARIABLE, "")
    installation._imported.cache_clear()
    DRAWN.clear()
    return root


def _write_task(root: Path, task: Task) -> None:
    import torch

    bddl, states = root / "bddl_files" / task.problem_folder, root / "init_files" / task.problem_folder
    for path in (bddl, states):
        path.mkdir(parents=True, exist_ok=True)
    words = "(define (problem LIBERO_Tabletop_Manipulation) (:language Place it on\n  the dish))"
    (bddl / task.bddl_file).write_text(words)
    torch.save(initial_states(), states / task.init_states_file)


def initial_states() -> np.ndarray:
    """(4, 7): the goal 0.05 m ahead; the last succeeds by itself at step 3."""
    rng = np.random.default_rng(5)
    hands = rng.uniform(-0.2, 0.2, (STATES, 3))
    return np.hstack([hands, hands + np.array([0.05, 0.0, 0.0]), [[0]] * (STATES - 1) + [[3]]])


def forget() -> None:
    """Have the packages imported afresh next time; the genuine ones are as they were."""
    from proctor.suites.libero import installation

    for name in _imported():
        del sys.modules[name]
    sys.modules.update(_GENUINE)
    _GENUINE.clear()
    installation._imported.cache_clear()


def _imported() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in ("libero", "robosuite")]


_GENUINE: dict[str, types.ModuleType] = {}
