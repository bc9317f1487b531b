"""Perturbed LIBERO: camera, light, surfaces, layout and wording, each alone, on a double; camera numbers against
LIBERO-Plus's own code where it is at hand (`PROCTOR_LIBERO_PLUS`, a checkout)."""

from __future__ import annotations

import ast
import itertools
import math
import os
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libero_double
import numpy as np
import pytest

from proctor import ConfigError, InputError, config_from_dict
from proctor.suites.libero.disturbing import moved_camera, shifted
from proctor.suites.libero.env import LiberoEnv
from proctor.suites.libero.installation import import_libero
from proctor.suites.libero.perturbations import CameraChange
from proctor.suites.libero.suite import LiberoOptions, LiberoSuite
from proctor.testing import EnvConformance
from proctor.texts import bytes_to_text
from proctor_host.extras import namespace

SMALL = {"benchmark": "spatial", "task": 0, "render_px": 32, "image_px": 28, "video_px": 16}
PLUS = os.environ.get("PROCTOR_LIBERO_PLUS")
POSITION = [0.6586131746834771, 0.0, 1.6103500240372423]
QUATERNION = [0.6380177736282349, 0.3048497438430786, 0.30484986305236816, 0.6380177736282349]
CHANGES: dict[str, Any] = {
    "camera": {"horizontal_deg": 20}, "light": {"brightness": 0.5}, "surfaces": {"floor": "dark"},
    "layout": {"shift_m": 0.1}, "instruction": "fetch it",
}  # fmt: skip


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    pytest.importorskip("torch", reason="the double saves its states with torch")
    yield libero_double.install(tmp_path / "site", monkeypatch)
    libero_double.forget()


def build(**options: Any) -> LiberoEnv:
    return LiberoEnv(import_libero(None), LiberoOptions.model_validate({**SMALL, **options}))


def perturbed(**changes: Any) -> LiberoEnv:
    return build(perturbation=changes)


@pytest.mark.usefixtures("package")
class TestPerturbed(EnvConformance):
    steps = 6

    def make(self) -> LiberoEnv:
        return perturbed(**CHANGES)


# Each kind alone ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CHANGES)
def test_a_kind_changes_what_it_says_and_nothing_else(package: Path, kind: str) -> None:
    plain, other = (env.reset(0, 1) for env in (build(), perturbed(**{kind: CHANGES[kind]})))
    changed = {key for key in plain if plain[key].tobytes() != other[key].tobytes()}
    seen = {"camera": {"image/agentview"}, "instruction": {"instruction"}, "layout": set()}
    assert changed == seen.get(kind, {"image/agentview", "image/robot0_eye_in_hand"})


def test_layout_moves_things_and_a_trial_has_a_layout_of_its_own(package: Path) -> None:
    def plate(env: LiberoEnv, index: int) -> np.ndarray:
        env.reset(0, index)
        return env._world.env.sim.state[3:6].copy()

    plain, env = build(), perturbed(layout={"shift_m": 0.1})
    moves = [plate(env, index) - plate(plain, index) for index in range(8)]
    assert all(0 < math.hypot(x, y) <= 0.1 for x, y, _ in moves)
    assert {z for _, _, z in moves} == {0.0}
    assert len({tuple(move) for move in moves}) == 8
    np.testing.assert_array_equal(plate(env, 3), plate(perturbed(layout={"shift_m": 0.1}), 3))
    assert (plate(env, 3) != plate(perturbed(layout={"shift_m": 0.1, "seed": 1}), 3)).any()


def test_lamps_and_cameras_are_changed_once_after_every_reset(package: Path) -> None:
    env = perturbed(light={"brightness": 0.5, "colour": [1, 0.5, 0], "specular": 2, "turn_deg": 90},
                    camera={"distance": 2})  # fmt: skip
    for index in (0, 1, 0):
        env.reset(0, index)
        model = env._world.env.sim.model
        np.testing.assert_allclose(model.light_diffuse, np.tile([0.25, 0.125, 0], (2, 1)))
        np.testing.assert_allclose(model.light_specular, 0.6)
        np.testing.assert_allclose(model.light_dir, [[-0.6, 0, -0.8], [0, 1, 0]], atol=1e-12)
        np.testing.assert_allclose(model.cam_pos[0], [1.3172, 0, 2.4208])


def test_a_room_of_the_assets(package: Path) -> None:
    (package / "assets" / "scenes" / "blue.xml").write_text("<mujoco/>")
    env = perturbed(surfaces={"wall": "ceramic", "scene": "scenes/blue.xml"})
    env.reset(0, 0)
    assert env._world.env.sim.room == "blue.xml light-gray ceramic"


def test_words_are_those_that_are_given_in_the_observation_and_in_the_briefing(package: Path) -> None:
    long = "please " * 30
    for words, size in (("fetch it", 128), (long, 256), ("", 128)):
        env = perturbed(instruction=words)
        told = env.reset(0, 0)["instruction"]
        assert (bytes_to_text(told), told.shape) == (words, (size,))
        assert env.constants()["instruction"] == words
        assert LiberoSuite().briefing(env.options).instruction == words


def test_a_description_and_states_of_others(package: Path) -> None:
    torch = pytest.importorskip("torch")
    bddl = package / "bddl_files" / "libero_goal" / "put_thing_1_on_the_plate.bddl"
    torch.save(libero_double.initial_states()[2], package / "one.pruned_init")
    env = build(bddl_file=str(bddl), states_file=str(package / "one.pruned_init"))
    seen = env.reset(0, 5)
    assert bytes_to_text(seen["instruction"]) == "Place it on the dish"
    np.testing.assert_allclose(seen["state"][:3], libero_double.initial_states()[2, :3])
    assert env.initial_states == 1


def test_options_may_be_plain_data_as_in_another_interpreter(package: Path) -> None:
    options = LiberoOptions.model_validate({**SMALL, "perturbation": CHANGES})
    here, there = (LiberoEnv(import_libero(None), o) for o in (options, namespace(options.model_dump(mode="json"))))
    for key, value in here.reset(0, 2).items():
        np.testing.assert_array_equal(there.reset(0, 2)[key], value)
    assert not here.step_unseen(np.zeros(7)).success
    np.testing.assert_array_equal(here.dummy_action(), there.dummy_action())


def test_the_environment_needs_no_pydantic() -> None:
    """Its runtime has what LIBERO needs, and nothing of Proctor's dependencies."""
    code = (
        "import sys\n"
        "sys.modules.update(pydantic=None, gymnasium=None)\n"
        "from proctor.suites.libero import env\n"
        "print(env.make.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout, ran.stderr) == ("make\n", "")


# By themselves --------------------------------------------------------------------------------------------------------


def test_a_camera_that_is_not_moved_stays_and_there_and_back_is_where_it_was() -> None:
    place, turn = moved_camera(POSITION, QUATERNION, CameraChange())
    np.testing.assert_allclose([*place, *turn], [*POSITION, *QUATERNION], atol=1e-4)
    for change in ({"horizontal_deg": 30}, {"vertical_deg": 15}, {"turn_deg": 8}, {"tilt_deg": 6}):
        there = moved_camera(POSITION, QUATERNION, CameraChange(**change))
        back = moved_camera(*there, CameraChange(**{key: -value for key, value in change.items()}))
        np.testing.assert_allclose([*back[0], *back[1]], [*POSITION, *QUATERNION], atol=4e-4)
    np.testing.assert_allclose(moved_camera(POSITION, QUATERNION, CameraChange(horizontal_deg=90))[0][:2], [0, 0.6586])


def test_things_that_touch_move_together_and_none_comes_too_near() -> None:
    places = np.array([[0.0, 0.0], [0.02, 0.01], [0.1, 0.0], [0.3, 0.0], [0.3, 0.4]])
    free = np.array([True, True, True, True, False])
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    for seed in range(50):
        moved = shifted(places, free, 0.2, np.random.default_rng(seed))
        np.testing.assert_allclose(moved[1] - moved[0], [0.02, 0.01])
        np.testing.assert_array_equal(moved[4], places[4])
        now = np.linalg.norm(moved[:, None] - moved[None], axis=-1)
        assert (now >= np.minimum(apart, 0.15) - 1e-12).all()
        assert np.linalg.norm(moved - places, axis=1).max() <= 0.2
    np.testing.assert_array_equal(shifted(places, free, 0.0, np.random.default_rng(0)), places)


@pytest.mark.skipif(PLUS is None, reason="PROCTOR_LIBERO_PLUS names no checkout of LIBERO-Plus")
def test_a_camera_stands_where_libero_plus_puts_it() -> None:
    """Its own method, cut out of its file, for its whole range of numbers."""
    problems = Path(str(PLUS)) / "libero" / "libero" / "envs" / "problems"
    tree = ast.parse((problems / "libero_tabletop_manipulation.py").read_text())
    helpers = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    room = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    setup = next(node for node in room.body if isinstance(node, ast.FunctionDef) and node.name == "_setup_camera")
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    names: dict[str, Any] = {"np": np, "Rotation": rotation}
    exec(compile(ast.Module([*helpers, setup], []), "LIBERO-Plus", "exec"), names)
    for view, up, scale, turn, tilt in itertools.product((0, 30, 75, 300), (0, 15), (100, 115, 200), (0, 350), (0, 6)):
        arena = Arena()
        own = types.SimpleNamespace(
            horizon_view=view, vertical_view=up, scale_factor=scale / 100, end_point_rot=turn, end_point_vertical=tilt
        )
        names["_setup_camera"](own, arena)
        angles = {"horizontal_deg": view, "vertical_deg": up, "turn_deg": turn, "tilt_deg": tilt}
        place, turned = moved_camera(POSITION, QUATERNION, CameraChange(**angles, distance=scale / 100))
        pos, quat = (np.array(numbers) for numbers in arena.cameras["agentview"])
        np.testing.assert_allclose(place, pos, atol=1e-9)
        np.testing.assert_allclose(turned, quat / np.linalg.norm(quat), atol=1e-9)


class Arena:
    """Takes down where cameras are put."""

    def __init__(self) -> None:
        self.cameras: dict[str, Any] = {}

    def set_camera(self, camera_name: str, pos: Any, quat: Any) -> None:
        self.cameras[camera_name] = (pos, quat)


# What cannot be -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"surfaces": {"floor": "drak"}}, r'LIBERO has no floor "drak"; did you mean "dark"\? \(it has light'),
        ({"surfaces": {"scene": "scenes/red.xml"}}, r"there is no file .*red\.xml; name one of LIBERO's assets"),
        ({"layout": {"swap": [["plate", "plat"]]}}, r'that can be moved is called "plat"; did you mean "plate"'),
    ],
)  # fmt: skip
def test_what_libero_does_not_have_is_named(package: Path, changes: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        perturbed(**changes).reset(0, 0)


def test_files_that_are_not_there_or_say_nothing(package: Path) -> None:
    (package / "mute.bddl").write_text("(define (problem LIBERO))")
    with pytest.raises(InputError, match=r"mute\.bddl has no \(:language \.\.\.\), which says what the robot is told"):
        build(bddl_file=str(package / "mute.bddl"))
    with pytest.raises(InputError, match=r"bddl_file: .* cannot be read: .*No such file"):
        build(bddl_file=str(package / "none.bddl"))
    with pytest.raises(InputError, match="states_file: there is no file"):
        build(states_file=str(package / "none.pruned_init"))


def test_tasks_are_named_by_what_is_perturbed_and_paths_start_from_the_config() -> None:
    entries: list[dict[str, Any]] = [
        {**SMALL}, {**SMALL, "perturbation": {"camera": {"tilt_deg": 4}, "light": {"brightness": 2}}},
        {**SMALL, "bddl_file": "a.bddl"},
    ]  # fmt: skip
    tasks = [{"suite": "libero", "options": entry} for entry in entries]
    cfg = config_from_dict({"agents": [{"policy": "zero"}], "tasks": tasks})
    assert [task.name for task in cfg.tasks] == ["libero_spatial-0", "libero_spatial-0-camera-light",
                                                 "libero_spatial-0-files"]  # fmt: skip
    with pytest.raises(ConfigError, match="found nothing to perturb; give camera, light, surfaces, layout or instr"):
        config_from_dict({"agents": [{"policy": "zero"}],
                          "tasks": [{"suite": "libero", "options": {**SMALL, "perturbation": {}}}]})  # fmt: skip
