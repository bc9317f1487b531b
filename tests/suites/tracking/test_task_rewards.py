"""Rewards of the tasks: laws first, then poses whose rewards are known."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import built_in_robot
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.suites.tracking.tasks import Limbs, PostureReader, task_reward, task_rewards
from proctor.suites.tracking.tasks import posture as posture_module
from proctor.suites.tracking.tasks.names import FAMILIES
from proctor.suites.tracking.tasks.rewards import Tolerance, control

ROBOT = built_in_robot()
JOINTS = ROBOT.description.joint_names
REWARDS = task_rewards(list(FAMILIES.values()), ROBOT)
H = ROBOT.description.default_height


def random_states(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Near standing, so that rewards are neither all 0 nor all 1."""
    rng = np.random.default_rng(seed)
    qpos = np.tile(ROBOT.default_qpos, (n, 1))
    qpos[:, :3] += rng.normal(0, 0.1, (n, 3))
    qpos[:, 3:7] += rng.normal(0, 0.2, (n, 4))
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    qpos[:, 7:] += rng.normal(0, 0.4, (n, len(JOINTS)))
    return qpos, rng.normal(0, 0.3, (n, ROBOT.model.nv)), rng.normal(0, 2.0, (n, len(JOINTS)))


def standing(**joints: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Still, in the default pose but for the named joints."""
    qpos = ROBOT.default_qpos.copy()
    for name, value in joints.items():
        qpos[7 + JOINTS.index(f"{name}_joint")] = value
    return qpos, np.zeros(ROBOT.model.nv), np.zeros(len(JOINTS))


def lying() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    qpos, qvel, action = standing()
    qpos[2], qpos[3:7] = 0.1, (np.sqrt(0.5), 0, np.sqrt(0.5), 0)
    return qpos, qvel, action


def arms(left: float, right: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Straight arms, `left` and `right` the pitch of the shoulders: 0 hanging, -1.57 forward, -3 up."""
    return standing(
        left_shoulder_pitch=left, right_shoulder_pitch=right, left_elbow=1.57, right_elbow=1.57,
        left_shoulder_roll=0.1, right_shoulder_roll=-0.1,
    )  # fmt: skip


@pytest.mark.parametrize("reward", REWARDS, ids=lambda r: r.name)
def test_rewards_are_between_0_and_1_and_not_constant(reward) -> None:
    values = reward(*random_states(400, seed=1))
    assert values.shape == (400,)
    assert np.all((values >= 0) & (values <= 1))
    assert np.ptp(values) > 0


@pytest.mark.parametrize("reward", REWARDS, ids=lambda r: r.name)
def test_place_and_heading_change_nothing(reward) -> None:
    qpos, qvel, action = random_states(50, seed=2)
    rng = np.random.default_rng(3)
    half, shift = rng.uniform(-np.pi, np.pi, 50), rng.normal(0, 10, (50, 2))
    w, z = np.cos(half), np.sin(half)
    a, b, c, d = qpos[:, 3:7].T
    turned, turned_vel = qpos.copy(), qvel.copy()
    turned[:, 3:7] = np.stack([w * a - z * d, w * b - z * c, w * c + z * b, w * d + z * a], axis=1)
    cos, sin = np.cos(2 * half), np.sin(2 * half)
    turned[:, 0] = cos * qpos[:, 0] - sin * qpos[:, 1] + shift[:, 0]
    turned[:, 1] = sin * qpos[:, 0] + cos * qpos[:, 1] + shift[:, 1]
    turned_vel[:, 0] = cos * qvel[:, 0] - sin * qvel[:, 1]
    turned_vel[:, 1] = sin * qvel[:, 0] + cos * qvel[:, 1]
    assert np.allclose(reward(turned, turned_vel, action), reward(qpos, qvel, action), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reward", REWARDS, ids=lambda r: r.name)
def test_a_row_does_not_depend_on_the_others(reward) -> None:
    states = random_states(7, seed=4)
    together = reward(*states)
    alone = [reward(*(array[i] for array in states)) for i in range(7)]
    assert [a.shape for a in alone] == [()] * 7
    assert np.allclose(together, alone, rtol=1e-12, atol=0)
    order = np.random.default_rng(5).permutation(7)
    assert np.allclose(reward(*(array[order] for array in states)), together[order], rtol=1e-12, atol=0)


def test_many_states_are_measured_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    states = random_states(23, seed=6)
    whole = REWARDS[0](*states)
    monkeypatch.setattr(posture_module, "BLOCK", 5)
    assert np.allclose(REWARDS[0](*states), whole, rtol=1e-12, atol=0)
    assert REWARDS[0](*(array[:0] for array in states)).shape == (0,)


def test_the_reward_is_the_product_of_its_terms() -> None:
    states = random_states(20, seed=7)
    posture = PostureReader(ROBOT)(*states[:2])
    for reward in REWARDS:
        terms = reward.terms(posture, states[2])
        assert list(terms)[-1] == "control"
        assert np.allclose(np.prod(list(terms.values()), axis=0), reward(*states), rtol=1e-12)


def test_standing_still_is_all_that_standing_still_asks_for() -> None:
    stand = task_reward("move-ego-0-0", ROBOT)
    assert stand(*standing()) == 1.0
    assert stand(*lying()) == 0.0
    qpos, qvel, action = standing()
    walking = qvel.copy()
    walking[0] = 0.7
    assert stand(qpos, walking, action) < 0.01


@pytest.mark.parametrize(("angle", "velocity"), [(0, (0.7, 0)), (90, (0, 0.7)), (180, (-0.7, 0)), (-90, (0, -0.7))])
def test_the_direction_is_the_robots_own(angle: int, velocity: tuple[float, float]) -> None:
    qpos, qvel, action = standing()
    qvel[:2] = velocity
    assert task_reward(f"move-ego-{angle}-0.7", ROBOT)(qpos, qvel, action) == 1.0
    assert task_reward(f"move-ego-{angle + 90}-0.7", ROBOT)(qpos, qvel, action) < 0.01
    sidewise = qpos.copy()
    sidewise[3:7] = (np.sqrt(0.5), 0, 0, np.sqrt(0.5))
    assert task_reward(f"move-ego-{angle - 90}-0.7", ROBOT)(sidewise, qvel, action) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("levels", "pitches"),
    [("l-l", (0, 0)), ("m-m", (-1.57, -1.57)), ("h-h", (-3, -3)), ("l-h", (0, -3)), ("h-m", (-3, -1.57))],
)
def test_arms_are_where_the_name_says(levels: str, pitches: tuple[float, float]) -> None:
    state = arms(*pitches)
    assert task_reward(f"raisearms-{levels}", ROBOT)(*state) == pytest.approx(1.0)
    others = {"l-l", "m-m", "h-h", "l-h", "h-m", "h-l"} - {levels}
    assert all(task_reward(f"raisearms-{other}", ROBOT)(*state) < 0.2 for other in others)
    assert task_reward("raisearms-x-x", ROBOT)(*state) == 1.0


def test_left_is_left() -> None:
    left_up = arms(-3, 0)
    assert task_reward("raisearms-h-l", ROBOT)(*left_up) > 0.99
    assert task_reward("raisearms-l-h", ROBOT)(*left_up) < 1e-6
    assert task_reward("move-arms-0-0-h-l", ROBOT)(*left_up) == task_reward("raisearms-h-l", ROBOT)(*left_up)


@pytest.mark.parametrize("axis", "xyz")
def test_rotation_has_an_axis_and_a_sign(axis: str) -> None:
    qpos, qvel, action = standing()
    qvel[3 + "xyz".index(axis)] = -3.0
    assert task_reward(f"rotate-{axis}--3-0.5", ROBOT)(qpos, qvel, action) == 1.0
    assert task_reward(f"rotate-{axis}-3-0.5", ROBOT)(qpos, qvel, action) < 1e-6
    assert task_reward(f"rotate-{axis}--3-1.2", ROBOT)(qpos, qvel, action) < 0.1


def test_spinning_with_arms_asks_for_both() -> None:
    qpos, qvel, action = arms(-1.57, -1.57)
    spin = task_reward("spin-arms-2-m-m", ROBOT)
    assert spin(qpos, qvel, action) < 0.01
    qvel[5] = 2.0
    assert spin(qpos, qvel, action) == pytest.approx(1.0)


def test_height_of_the_root_is_what_jump_crouch_and_low_ask_for() -> None:
    qpos, qvel, action = standing()

    def at(task: str, height: float) -> float:
        moved = qpos.copy()
        moved[2] = height
        return float(task_reward(task, ROBOT)(moved, qvel, action))

    assert at("jump-1", 1.0) == at("jump-1", 1.3) == 1.0
    assert at("jump-1", H) == pytest.approx(0.1)
    assert at("move-ego-low0.5-0-0", 0.5) == 1.0
    assert at("move-ego-low0.5-0-0", H) < 0.2
    assert at("move-ego-low0.5-0-0", 0.2) < at("move-ego-low0.5-0-0", 0.4) < 1.0


def test_crouching_is_on_the_feet_and_sitting_is_not_standing() -> None:
    legs = dict(left_hip_pitch=-1.1, right_hip_pitch=-1.1, left_knee=1.8, right_knee=1.8)
    feet = dict(left_ankle_pitch=-0.7, right_ankle_pitch=-0.7)
    qpos, qvel, action = standing(**legs, **feet)
    foot = PostureReader(ROBOT)(qpos[None], qvel[None]).feet[0, 0]
    qpos[2] -= foot
    crouch = task_reward(f"crouch-{qpos[2]:.3f}", ROBOT)
    assert crouch(qpos, qvel, action) == pytest.approx(1.0)
    hovering = qpos.copy()
    hovering[7:] = ROBOT.default_qpos[7:]
    hovering[2] = 1.2
    assert task_reward("crouch-1.2", ROBOT)(hovering, qvel, action) < 0.01, "the feet are in the air"

    sit = task_reward("sitonground", ROBOT)
    seated, qvel, action = standing(left_hip_pitch=-1.57, right_hip_pitch=-1.57, left_knee=0.0, right_knee=0.0)
    seated[2] = 0.167
    assert sit(seated, qvel, action) == 1.0
    assert sit(*standing()) < 1e-6
    assert sit(*lying()) == 0.0


def test_large_actions_cost_a_fifth_at_most() -> None:
    joints = len(JOINTS)
    actions = np.stack([np.zeros(joints), np.ones(joints), np.full(joints, 3.0), np.full(joints, -50.0)])
    assert np.allclose(control(actions), [1.0, 1.0, 0.9, 0.8])


def test_a_state_that_is_not_finite_earns_nothing() -> None:
    qpos, qvel, action = standing()
    broken = np.stack([qpos, qpos])
    broken[0, 2] = np.nan
    values = task_reward("move-ego-0-0", ROBOT)(broken, np.stack([qvel, qvel]), np.stack([action, action]))
    assert values.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("shape", ["gaussian", "linear"])
@given(value=st.floats(-50, 50), lower=st.floats(-5, 5), width=st.floats(0, 5), margin=st.floats(0.01, 10))
@settings(max_examples=50)
def test_tolerance_falls_with_the_distance(shape, value, lower, width, margin) -> None:
    tolerance = Tolerance(lower, lower + width, margin, shape)
    inside = lower <= value <= lower + width
    assert 0 <= tolerance(value) <= 1
    assert not inside or tolerance(value) == 1
    further = value + np.copysign(1.0, value - (lower + width / 2))
    assert tolerance(further) <= tolerance(value) + 1e-12


def test_tolerance_one_margin_outside() -> None:
    outside = np.array([0.0, 1.0, 1.5, 2.0, -1.0, np.nan])
    assert np.allclose(Tolerance(0, 1, 1)(outside), [1, 1, 0.1**0.25, 0.1, 0.1, 0])
    assert np.allclose(Tolerance(0, 1, 1, "linear")(outside), [1, 1, 0.5, 0, 0, 0])
    with pytest.raises(ValueError, match=r"lower <= upper, not \[1, 0\]"):
        Tolerance(1, 0, 1)
    with pytest.raises(ValueError, match="a margin is positive and finite, not 0"):
        Tolerance(0, 1, 0)


def test_what_does_not_fit_the_robot_is_named() -> None:
    with pytest.raises(InputError, match=r'"jump-0.5" asks for no jump: the root of this robot is 0.76 m high'):
        task_reward("jump-0.5", ROBOT)
    with pytest.raises(InputError, match='"left_hand" is no body of'):
        task_reward("raisearms-l-l", ROBOT, Limbs(hands=("left_hand", "right_hand")))
    swapped = Limbs(hands=("right_wrist_yaw_link", "left_wrist_yaw_link"))
    with pytest.raises(InputError, match="right_wrist_yaw_link does not hang on left_shoulder_pitch_link"):
        task_reward("raisearms-l-l", ROBOT, swapped)
    reward = task_reward("move-ego-0-0", ROBOT)
    with pytest.raises(InputError, match=r"action has shape \(1, 23\); \(1, 29\) was expected"):
        reward(*standing()[:2], np.zeros(23))
    with pytest.raises(InputError, match=r"qvel has shape \(2, 36\); \(2, 35\) was expected"):
        reward(np.zeros((2, 36)), np.zeros((2, 36)), np.zeros((2, 29)))
