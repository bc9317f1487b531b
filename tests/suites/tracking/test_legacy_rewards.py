"""The original formulas of the reward tasks, in states whose rewards can be worked out by hand.

`test_genuine_rewards.py` compares them with the original's own code, where that is at hand.
"""

from __future__ import annotations

import numpy as np
import pytest

from proctor import ConfigError
from proctor.errors import InputError
from proctor.suites.tracking.robot import load_robot
from proctor.suites.tracking.tasks import task_reward, task_rewards
from proctor.suites.tracking.tasks.legacy import tolerance
from proctor.suites.tracking.tasks.names import FAMILIES, LEGACY_FAMILIES
from proctor.training.reward import RewardEvaluationCfg

ROBOT = load_robot("builtin:g1")
ACTION = np.zeros(29)
STILL = np.zeros(35)


def reward(name: str, qpos: np.ndarray = ROBOT.default_qpos, qvel: np.ndarray = STILL) -> float:
    return float(task_reward(name, ROBOT, legacy="bfm_zero")(qpos, qvel, ACTION))


def moving(**entries: float) -> np.ndarray:
    """The root's velocity: x, y, z in the world, then about its own axes."""
    found = STILL.copy()
    for key, value in entries.items():
        found[["x", "y", "z", "rx", "ry", "rz"].index(key)] = value
    return found


def at_height(height: float) -> np.ndarray:
    found = ROBOT.default_qpos.copy()
    found[2] = height
    return found


def test_tolerances_have_their_value_one_margin_outside() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, 5.0, -1.0, np.nan])
    np.testing.assert_allclose(tolerance(values, 0.0, 1.0, 2.0, 0.01, True), [1, 1, 0.505, 0.01, 0, 0.505, 0])
    found = tolerance(values, 0.0, 1.0, 2.0, 0.5, False)
    np.testing.assert_allclose(found, [1, 1, 0.5**0.25, 0.5, 0.5**4, 0.5**0.25, 0])
    np.testing.assert_array_equal(tolerance(values, 0.0, 1.0, 0.0, 0.5, True), [1, 1, 0, 0, 0, 0, 0])


def test_standing_still_is_paid_in_full_and_walking_less() -> None:
    assert reward("move-ego-0-0") == pytest.approx(1.0)
    slow = 0.1 ** ((0.1 / 0.2) ** 2)
    assert reward("move-ego-0-0", qvel=moving(x=0.1)) == pytest.approx((slow + 1) / 2)
    assert reward("move-ego-0-0", at_height(0.25)) == pytest.approx(1 - 0.99 * 0.5)


@pytest.mark.parametrize(("angle", "velocity"), [(0, {"x": 0.7}), (90, {"y": 0.7}), (180, {"x": -0.7})])
def test_walking_as_asked_is_paid_in_full(angle: int, velocity: dict[str, float]) -> None:
    assert reward(f"move-ego-{angle}-0.7", qvel=moving(**velocity)) == pytest.approx(1.0, abs=1e-5)
    away = {key: -value for key, value in velocity.items()}
    assert reward(f"move-ego-{angle}-0.7", qvel=moving(**away)) == pytest.approx(0.0, abs=1e-5)
    standing = (5 * 0.5 ** ((0.63 / 0.35) ** 2) + 1) / 6
    assert reward(f"move-ego-{angle}-0.7") == pytest.approx(standing), "who does not move goes in no direction"


def test_walking_low_spinning_and_sitting() -> None:
    assert reward("move-ego-low0.5-0-0", at_height(0.5)) == pytest.approx(1.0)
    assert reward("move-ego-low0.5-0-0", at_height(0.65)) == pytest.approx(1 - 0.99 * (0.65 - 0.525) / 0.25)
    assert reward("rotate-z-5-0.5", qvel=moving(rz=5.0)) == pytest.approx(1.0)
    assert reward("rotate-z-5-0.5", qvel=moving(rz=3.75)) == pytest.approx(0.5)
    assert reward("rotate-z-5-0.5", qvel=moving(rz=-5.0)) == 0.0
    assert reward("rotate-x-3-0.5", qvel=moving(rx=3.0)) == pytest.approx(1.0), "its x axis is level"
    assert reward("crouch-0.25") == pytest.approx(1 - (0.76 - 0.35) / 0.7)


def test_a_jump_is_read_off_the_torsos_y_axis_as_the_original_does() -> None:
    rising = moving(z=5.0)
    standing = reward("jump-1.2", qvel=rising)
    assert 0.4 < standing < 1 - 0.9 / 1.9 + 1e-9
    on_its_side = ROBOT.default_qpos.copy()
    on_its_side[3:7] = np.cos(np.pi / 4), np.sin(np.pi / 4), 0.0, 0.0
    factors = task_reward("jump-1.2", ROBOT, legacy="bfm_zero")
    posture = factors.reader(on_its_side[None], rising[None])
    assert factors.terms(posture, ACTION[None])["upright"] == pytest.approx(1.0)


def test_actions_cost_nothing_and_levels_that_are_not_there_are_refused() -> None:
    made = task_reward("raisearms-l-m", ROBOT, legacy="bfm_zero")
    assert made(ROBOT.default_qpos, STILL, 9.0 * np.ones(29)) == made(ROBOT.default_qpos, STILL, ACTION)
    with pytest.raises(InputError, match=r'"raisearms-l-h": .* have no level h of a hand, only l and m'):
        task_reward("raisearms-l-h", ROBOT, legacy="bfm_zero")


def test_every_original_name_has_a_reward_and_two_have_it_there_alone() -> None:
    names = [name for name in (*FAMILIES.values(), *LEGACY_FAMILIES.values()) if "-h" not in name]
    states = np.stack([at_height(h) for h in (0.1, 0.4, 0.76)])
    for made in task_rewards(names, ROBOT, legacy="bfm_zero"):
        found = made(states, np.zeros((3, 35)), np.zeros((3, 29)))
        assert ((found >= 0) & (found <= 1)).all()
        assert made.name in names
    with pytest.raises(
        InputError, match='"totheknee" has a reward by the original formulas only; set legacy: bfm_zero'
    ):
        task_reward("totheknee", ROBOT)


def test_an_evaluation_may_be_by_the_original_formulas() -> None:
    assert RewardEvaluationCfg(tasks=("crouch-0",), legacy="bfm_zero").legacy == "bfm_zero"
    with pytest.raises(ConfigError, match="success: keys of a tracking evaluation"):
        RewardEvaluationCfg(success="never_fell")
