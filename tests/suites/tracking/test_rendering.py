"""Pictures: what is in them, what they depend on, and other simulators' states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from drawing import built_in_robot, needs_frames
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_data

from proctor.errors import InputError
from proctor.suites.offscreen import RenderingUnavailable, graphics_context
from proctor.suites.tracking.rendering import (
    Look,
    SimulatorOrder,
    TrackingRenderer,
    qpos_from,
)
from proctor.suites.tracking.robot import load_robot

ROBOT = built_in_robot()
STANDING = ROBOT.default_qpos
JOINTS = ROBOT.description.joint_names


@pytest.fixture(scope="module")
def renderer() -> Iterator[TrackingRenderer]:
    needs_frames()
    with TrackingRenderer(ROBOT, 160, 120) as made:
        yield made


def moved(x: float = 0.0, y: float = 0.0) -> np.ndarray:
    return STANDING + np.concatenate([[x, y], np.zeros(len(STANDING) - 2)])


def orange(frame: np.ndarray) -> np.ndarray:
    """Where a frame is distinctly more red than blue: floor, sky and robot are grey and blue."""
    channels = frame.astype(int)
    return channels[..., 0] - channels[..., 2] > 40


def test_a_frame_has_the_size_that_was_asked_for(renderer: TrackingRenderer) -> None:
    frame = renderer.render(STANDING)
    assert (frame.shape, frame.dtype) == ((120, 160, 3), np.uint8)


def test_a_frame_depends_on_the_states_alone(renderer: TrackingRenderer) -> None:
    first = renderer.render(STANDING, STANDING)
    renderer.render(moved(3.0), moved(1.0))
    assert np.array_equal(renderer.render(STANDING, STANDING), first)


def test_sky_above_floor_below_and_a_robot_between(renderer: TrackingRenderer) -> None:
    frame = renderer.render(STANDING).astype(int)
    sky, floor, middle = frame[:10], frame[-10:], frame[35:90, 70:90]
    assert np.mean(sky[..., 2] - sky[..., 0]) > 20, "the sky is blue"
    assert np.mean(sky) > np.mean(floor) + 20, "the floor is darker than the sky"
    assert np.std(middle) > 20, "something stands in the middle"


def test_the_reference_is_coloured_to_the_right_and_only_there_when_given(renderer: TrackingRenderer) -> None:
    assert not orange(renderer.render(STANDING)).any()
    columns = np.flatnonzero(orange(renderer.render(STANDING, STANDING)).any(axis=0))
    assert columns.size > 5
    assert columns.min() > 80, "the reference is right of the middle, the agent left"


def test_the_reference_lets_light_through() -> None:
    needs_frames()
    ghost, solid = Look(beside_m=0.0), Look(beside_m=0.0, reference_rgba=(1.0, 0.55, 0.12, 1.0))
    bare, seen = [], []
    for look in (ghost, solid):
        with TrackingRenderer(ROBOT, 160, 120, look) as drawn:
            bare.append(drawn.render(STANDING).astype(int))
            seen.append(drawn.render(STANDING, STANDING).astype(int))
    robot = orange(seen[1])
    through, covered = (np.abs(after - before)[robot].mean() for before, after in zip(bare, seen, strict=True))
    assert robot.sum() > 50
    assert 0 < through < 0.8 * covered


def test_the_camera_follows(renderer: TrackingRenderer) -> None:
    """Wherever the pair walks, the robots are at the same place of the picture; the floor's pattern alone moves."""
    here, there = renderer.render(STANDING, STANDING), renderer.render(moved(8.0, -4.0), moved(8.0, -4.0))
    assert np.mean(orange(here) != orange(there)) < 0.01


def test_both_stay_in_view_as_they_part(renderer: TrackingRenderer) -> None:
    columns = np.flatnonzero(orange(renderer.render(STANDING, moved(-2.5, 2.5))).any(axis=0))
    assert columns.size > 2
    assert columns.min() > 2
    assert columns.max() < 157


def test_a_closed_renderer_opens_again(renderer: TrackingRenderer) -> None:
    with TrackingRenderer(ROBOT, 64, 48) as own:
        first = own.render(STANDING)
        own.close()
        assert np.array_equal(own.render(STANDING), first)


def test_states_of_the_wrong_kind_are_named(renderer: TrackingRenderer) -> None:
    with pytest.raises(InputError, match=r"qpos has shape \(3,\); one state of \(36,\) was expected"):
        renderer.render(np.zeros(3))
    broken = STANDING.copy()
    broken[9] = np.nan
    with pytest.raises(InputError, match=r"reference_qpos\[9\] is not finite"):
        renderer.render(STANDING, broken)


def test_a_frame_has_a_sensible_size() -> None:
    with pytest.raises(InputError, match="width is 0 pixels; a frame has 16 to 4096 on a side"):
        TrackingRenderer(ROBOT, 0, 100)


def test_without_graphics_the_error_says_where_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    class Absent:
        def __init__(self, *_: object):
            raise RuntimeError("no driver")

    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.setitem(__import__("sys").modules, "mujoco.egl", type("Module", (), {"GLContext": Absent}))
    with pytest.raises(RenderingUnavailable, match=r"no graphics context \(egl\): RuntimeError: no driver.*doctor"):
        graphics_context((16, 16))


@given(st.permutations(range(len(JOINTS))), st.integers(0, 3))
def test_states_are_found_by_name_whatever_the_order(order: list[int], leading: int) -> None:
    rng = np.random.default_rng(leading)
    shape = (2,) * leading
    quat = rng.normal(size=(*shape, 4))
    quat /= np.linalg.norm(quat, axis=-1, keepdims=True)
    expected = np.concatenate([rng.normal(size=(*shape, 3)), quat, rng.normal(size=(*shape, len(JOINTS)))], axis=-1)
    names = tuple(JOINTS[i] for i in order)
    found = qpos_from(
        ROBOT,
        expected[..., :3],
        np.roll(quat, -1, axis=-1),
        expected[..., 7:][..., order],
        SimulatorOrder("xyzw", names),
    )
    assert np.allclose(found, expected, rtol=0, atol=1e-15)


def test_joints_that_the_robot_lacks_are_left_out() -> None:
    names = ("finger", *JOINTS)
    joints = np.concatenate([[99.0], STANDING[7:]])
    order = SimulatorOrder("wxyz", names)
    assert np.allclose(qpos_from(ROBOT, STANDING[:3], STANDING[3:7], joints, order), STANDING)


@pytest.mark.parametrize(
    ("order", "joints", "quat", "text"),
    [
        (SimulatorOrder("wxyz", JOINTS[1:]), 28, [1, 0, 0, 0], "joint_names lacks left_hip_pitch_joint of the robot"),
        (SimulatorOrder("wxyz", (*JOINTS, JOINTS[0])), 30, [1, 0, 0, 0], "left_hip_pitch_joint more than once"),
        (SimulatorOrder("wxyz"), 23, [1, 0, 0, 0], r"joint_pos has shape \(23,\); \(29,\) was expected"),
        (SimulatorOrder("wxyz"), 29, [0, 0, 0, 0], "a quaternion of length zero"),
        (SimulatorOrder("zyxw"), 29, [1, 0, 0, 0], 'the quaternion order is "wxyz" or "xyzw", not \'zyxw\''),  # type: ignore[arg-type]
    ],
)
def test_another_simulators_mistakes_are_named(
    order: SimulatorOrder, joints: int, quat: list[float], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        qpos_from(ROBOT, np.zeros(3), np.array(quat, float), np.zeros(joints), order)


def test_a_model_of_meshes_is_drawn_on_the_same_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_frames()
    monkeypatch.setenv("MENAGERIE_ROOT", str(shared_data("menagerie")))
    meshes = load_robot("menagerie:unitree_g1")
    frames = []
    for robot in (meshes, ROBOT):
        with TrackingRenderer(robot, 96, 72) as drawn:
            frames.append(drawn.render(robot.default_qpos, robot.default_qpos).astype(int))
    assert np.abs(frames[0] - frames[1])[:10].max() <= 2, "the same sky"
    alike = orange(frames[0]) & orange(frames[1])
    assert alike.sum() > 0.4 * orange(frames[1]).sum(), "two models of one robot stand at one place"
