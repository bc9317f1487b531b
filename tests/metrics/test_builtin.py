import math

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.metrics import compute, describe
from proctor_host.episode import Episode, Outcome

DT = 0.5


def episode(n: int = 5, dt: float = DT, **signals: np.ndarray) -> Episode:
    arrays = {
        "actions": np.zeros((n, 2), dtype=np.float32),
        "rewards": np.zeros(n),
        "success": np.zeros(n, dtype=bool),
        "action_dt_s": np.array(dt),
        **signals,
    }
    return Episode(arrays, Outcome.FAILURE, max_steps=100)


def path(seed: int = 0, n: int = 30) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3)).cumsum(axis=0)


def tip(positions: np.ndarray, dt: float = DT) -> dict[str, float | None]:
    return compute(episode(len(positions), dt, tip_pos3d=positions))


TIP = ("tip_speed_max_mm_s", "tip_speed_mean_mm_s", "tip_jerk_p95_mm_s3")


@pytest.mark.parametrize("name", TIP)
def test_tip_metrics_do_not_see_where_the_tip_is(name: str) -> None:
    assert tip(path() + np.array([10.0, -3.0, 7.0]))[name] == pytest.approx(tip(path())[name])


@pytest.mark.parametrize(("name", "power"), [(TIP[0], 1), (TIP[1], 1), (TIP[2], 3)])
def test_tip_metrics_scale_with_length_and_clock(name: str, power: int) -> None:
    assert tip(3 * path())[name] == pytest.approx(3 * tip(path())[name])
    assert tip(path(), dt=DT / 2)[name] == pytest.approx(2**power * tip(path())[name])


def test_tip_speeds_by_hand_with_no_speed_at_the_first_step() -> None:
    found = tip(np.array([[0.0, 0, 0], [3.0, 4.0, 0], [3.0, 4.0, 1.0]]))
    assert found["tip_speed_max_mm_s"] == pytest.approx(10.0)
    assert found["tip_speed_mean_mm_s"] == pytest.approx((0 + 10 + 2) / 3)
    assert found["tip_jerk_p95_mm_s3"] is None


def test_jerk_of_constant_acceleration_is_zero_and_of_a_cubic_constant() -> None:
    t = np.arange(12) * DT
    line = np.stack([t**2, t, 0 * t], axis=1)
    cubic = np.stack([t**3, 0 * t, 0 * t], axis=1)
    assert tip(line)["tip_jerk_p95_mm_s3"] == pytest.approx(0, abs=1e-9)
    assert tip(cubic)["tip_jerk_p95_mm_s3"] == pytest.approx(6)


@pytest.mark.parametrize("positions", [np.zeros((0, 3)), np.zeros((4, 2)), np.full((4, 3), np.nan)])
def test_tip_metrics_are_not_available_without_positions(positions: np.ndarray) -> None:
    assert tip(positions)["tip_jerk_p95_mm_s3"] is None


def test_tip_metrics_are_not_available_without_a_clock() -> None:
    assert [tip(path(), dt=math.nan)[name] for name in TIP] == [None] * 3


def test_metrics_whose_arrays_are_missing_are_left_out() -> None:
    found = compute(episode())
    assert "tip_speed_max_mm_s" not in found
    assert "wall_lcp_max_abs_max" not in found
    assert found["wall_force_max"] is None


def test_last_values_follow_the_last_step() -> None:
    found = compute(episode(3, path_ratio=np.array([0.1, 0.5, 0.25]), trajectory_length=np.array([1.0, 2.0, np.nan])))
    assert found["path_ratio_last"] == 0.25
    assert found["trajectory_length_last"] is None


def test_forces_leave_nan_out_and_are_not_available_when_there_is_nothing_else() -> None:
    found = compute(
        episode(
            3,
            wall_wire_force_norm=np.array([np.nan, 2.0, 4.0]),
            wall_collision_force_norm=np.array([np.nan] * 3),
            wall_lcp_sum_abs=np.array([1.0, np.nan, 3.0]),
        )
    )
    assert found["wall_wire_force_norm_max"] == 4
    assert found["wall_wire_force_norm_mean"] == 3
    assert found["wall_collision_force_norm_max"] is None
    assert found["wall_lcp_sum_abs_mean"] == 2
    assert found["wall_force_max"] == 4


def test_wall_force_max_does_not_change_when_the_signals_swap() -> None:
    a, b = np.array([1.0, 5.0]), np.array([3.0, 2.0])
    one = compute(episode(2, wall_wire_force_norm=a, wall_collision_force_norm=b))
    two = compute(episode(2, wall_wire_force_norm=b, wall_collision_force_norm=a))
    assert one["wall_force_max"] == two["wall_force_max"] == 5


def test_action_metrics_by_hand() -> None:
    actions = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, -5.0]], dtype=np.float32)
    found = compute(episode(3, actions=actions))
    assert found["action_rate_mean"] == pytest.approx((5 + 9) / 2)
    assert found["action_abs_max"] == 5


def test_discrete_actions_have_no_rate() -> None:
    found = compute(episode(3, actions=np.array([0, 1, 2])))
    assert found["action_rate_mean"] is None
    assert found["action_abs_max"] is None


def test_signals_of_text_or_of_several_numbers_a_step_are_not_available() -> None:
    found = compute(episode(2, path_ratio=np.array(["a", "b"]), trajectory_length=np.zeros((2, 2))))
    assert found["path_ratio_last"] is None
    assert found["trajectory_length_last"] is None


def test_every_metric_says_what_it_is() -> None:
    for info in describe():
        assert info.unit
        assert info.direction in ("up", "down", "none")
        assert info.doc.endswith(".")


OWN = """
from proctor.metrics import Metric

class Steps(Metric):
    "Steps taken."
    name, unit, direction = "n_steps", "step", "down"
    def __call__(self, episode):
        return episode.n_steps

class Broken(Steps):
    name = "broken"
    def __call__(self, episode):
        return episode.arrays["nothing"]

class Twin(Steps):
    name = "action_abs_max"

def plain(episode):
    return 1.0
"""


@pytest.fixture
def base(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def test_a_metric_of_your_own_is_computed_beside_the_built_in_ones(base) -> None:
    found = compute(episode(7), ("own.py:Steps",), base)
    assert found["n_steps"] == 7
    assert "action_abs_max" in found
    assert describe(("own.py:Steps",), base)[-1] == ("n_steps", "step", "down", "mean", "Steps taken.")


def test_bad_metrics_are_refused_with_their_name(base) -> None:
    with pytest.raises(InputError, match='the metric "broken" failed on an episode of 5 steps: KeyError'):
        compute(episode(), ("own.py:Broken",), base)
    with pytest.raises(InputError, match=r'two metrics are called "action_abs_max"; give the one in own.py:Twin'):
        compute(episode(), ("own.py:Twin",), base)
    with pytest.raises(InputError, match=r"expected a subclass of proctor.Metric"):
        compute(episode(), ("own.py:plain",), base)
