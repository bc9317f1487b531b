"""Tracking metrics of a pair of tracks: laws, then the checked values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from proctor.errors import InputError
from proctor.suites.tracking.metrics import (
    Track,
    TrackOptions,
    by_motion,
    evaluate_tracks,
    summarize,
    tracking_metrics,
)
from proctor.suites.tracking.parts import METRICS as NAMES

ERRORS = {name for name in NAMES if "proximity" not in name and not name.startswith(("success", "upright", "frames"))}
JOINT_SPACE = ("emd", "distance", "proximity", "mpjpe_l", "vel_dist", "accel_dist")


def quaternions(angles: np.ndarray, axis: int = 1) -> np.ndarray:
    """Rotations (T, 4) by `angles` about one of the axes x, y, z."""
    found = np.zeros((len(angles), 4))
    found[:, 0], found[:, 1 + axis] = np.cos(angles / 2), np.sin(angles / 2)
    return found


def track(seed: int = 0, frames: int = 12, joints: int = 5, bodies: int = 4, size: float = 0.3) -> Track:
    """A smooth made-up track with the root near 0.8 m."""
    rng = np.random.default_rng(seed)
    return Track(
        joint_pos=size * rng.normal(size=(frames, joints)).cumsum(axis=0),
        body_pos=size * rng.normal(size=(frames, bodies, 3)),
        root_pos=np.array([0.0, 0.0, 0.8]) + 0.02 * rng.normal(size=(frames, 3)),
        root_quat=quaternions(0.1 * rng.normal(size=frames)),
        anchor_quat=quaternions(0.1 * rng.normal(size=frames)),
        observed=size * rng.normal(size=(frames, joints)),
    )


def values(agent: Track, reference: Track, **options: Any) -> dict[str, Any]:
    return tracking_metrics(agent, reference, dt_s=0.02, options=TrackOptions(**options))


def first(track: Track, n: int) -> Track:
    return Track(**{name: array[:n] for name, array in vars(track).items()})


def close(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether both hold the same values up to rounding."""
    return list(found) == list(expected) and all(
        value is expected[name] if value is None else value == pytest.approx(expected[name], rel=1e-9, abs=1e-12)
        for name, value in found.items()
    )


def test_all_metrics_are_there_in_their_order() -> None:
    assert tuple(values(track(), track(1))) == NAMES


def test_a_motion_against_itself_is_exactly_perfect() -> None:
    found = values(track(), track())
    assert {name: found[name] for name in ERRORS if found[name] != 0} == {"first_fall_s": None}
    ones = {name for name in NAMES if found[name] == 1}
    assert {"proximity", "proximity_xpos", "obs_state_proximity", "upright_share"} <= ones
    assert found["success_phc_linf_xpos"] == found["success_phc_mean_xpos"] == 1


def test_errors_are_symmetric() -> None:
    forth, back = values(track(0), track(1)), values(track(1), track(0))
    for name in ERRORS - {"first_fall_s"}:
        assert forth[name] == pytest.approx(back[name], rel=1e-12), name


def test_errors_do_not_see_where_both_are() -> None:
    def moved(t: Track) -> Track:
        assert t.joint_pos is not None
        assert t.body_pos is not None
        return replace(t, joint_pos=t.joint_pos + 0.7, body_pos=t.body_pos + np.array([1.0, -2.0, 0.5]))

    assert close(values(moved(track(0)), moved(track(1))), values(track(0), track(1)))


def test_joint_errors_scale_with_the_angles() -> None:
    small, large = values(track(0), track(1)), values(track(0, size=0.6), track(1, size=0.6))
    for name in ("emd", "distance", "mpjpe_l", "vel_dist", "accel_dist", "emd_xpos", "mpjpe_xpos", "obs_state_emd"):
        assert large[name] == pytest.approx(2 * small[name], rel=1e-9), name


def test_transport_does_not_see_the_order_of_frames_and_distances_do() -> None:
    shuffled = np.random.default_rng(3).permutation(12)
    agent = Track(**{name: array[shuffled] for name, array in vars(track()).items()})
    found = values(agent, track())
    assert found["emd"] == found["emd_xpos"] == found["obs_state_emd"] == 0
    assert found["distance"] > 0.1
    assert found["vel_dist"] > 100


def test_a_permutation_of_joints_or_bodies_changes_nothing() -> None:
    def turned(t: Track) -> Track:
        assert t.joint_pos is not None
        assert t.body_pos is not None
        assert t.observed is not None
        return replace(t, joint_pos=t.joint_pos[:, ::-1], body_pos=t.body_pos[:, ::-1], observed=t.observed[:, ::-1])

    assert close(values(turned(track(0)), turned(track(1))), values(track(0), track(1)))


@pytest.mark.parametrize("threads", [2, None])
def test_threads_change_nothing(threads: int | None) -> None:
    pairs = [(track(seed, frames=6 + seed % 3), track(seed + 50, frames=7)) for seed in range(9)]
    assert evaluate_tracks(pairs, threads, dt_s=0.02) == [tracking_metrics(a, r, dt_s=0.02) for a, r in pairs]
    assert evaluate_tracks([]) == []


def assignment(a: np.ndarray, b: np.ndarray) -> float:
    cost = np.linalg.norm(a[:, None] - b[None], axis=-1)
    return float(cost[linear_sum_assignment(cost)].mean())


def test_transport_is_the_best_assignment_of_frames() -> None:
    agent, reference = track(0), track(1)
    found = values(agent, reference)
    spaces = {"emd": "joint_pos", "emd_xpos": "body_pos", "obs_state_emd": "observed"}
    for name, array in spaces.items():
        a, r = (getattr(t, array).reshape(12, -1) for t in (agent, reference))
        assert found[name] == pytest.approx(assignment(a, r), rel=1e-9), name


@pytest.fixture
def checked() -> tuple[Track, Track]:
    """The arrays of the checked values."""
    rng = np.random.RandomState(0)
    return Track(joint_pos=rng.randn(6, 4)), Track(joint_pos=rng.randn(6, 4))


def test_checked_values_along_time(checked: tuple[Track, Track]) -> None:
    found = tracking_metrics(*checked)
    assert found["mpjpe_l"] == pytest.approx(3046.426, abs=5e-4)
    assert found["vel_dist"] == pytest.approx(4854.556, abs=5e-4)
    assert found["accel_dist"] == pytest.approx(9065.37, abs=5e-3)


def test_checked_values_of_the_older_evaluator(checked: tuple[Track, Track]) -> None:
    found = tracking_metrics(*checked, legacy="bfm_zero")
    assert found["mpjpe_l"] == pytest.approx(3046.426, abs=5e-4)
    assert found["vel_dist"] == pytest.approx(3670.642, abs=5e-4)
    assert found["accel_dist"] == pytest.approx(508.111, abs=5e-4)


def test_the_older_evaluator_compares_23_observed_joints() -> None:
    rng = np.random.default_rng(0)
    a, r = rng.normal(size=(2, 8, 29))
    legacy = tracking_metrics(Track(observed=a), Track(observed=r), legacy="bfm_zero")
    cut = tracking_metrics(Track(observed=a[:, :23]), Track(observed=r[:, :23]))
    assert legacy == cut
    assert legacy["obs_state_emd"] < tracking_metrics(Track(observed=a), Track(observed=r))["obs_state_emd"]


def test_three_quarters_of_a_radian_over_29_joints_is_0_139_rad_per_joint() -> None:
    reference = np.random.default_rng(0).normal(size=(5, 29)) * 10
    found = tracking_metrics(Track(joint_pos=reference + 0.75 / math.sqrt(29)), Track(joint_pos=reference))
    assert found["emd"] == pytest.approx(0.75)
    assert round(0.75 / math.sqrt(29), 3) == 0.139


@pytest.mark.parametrize(
    ("distance", "expected"), [(0.0, 1.0), (2.0, 1.0), (3.0, 0.5), (3.5, 0.25), (4.0, 0.0), (9.0, 0.0)]
)
def test_proximity_by_hand(distance: float, expected: float) -> None:
    agent, reference = Track(joint_pos=np.full((3, 1), distance)), Track(joint_pos=np.zeros((3, 1)))
    assert tracking_metrics(agent, reference)["proximity"] == pytest.approx(expected)


def test_proximity_has_its_own_bound_and_margin() -> None:
    agent, reference = Track(joint_pos=np.full((3, 1), 0.75)), Track(joint_pos=np.zeros((3, 1)))
    assert values(agent, reference, bound=0.5, margin=1.0)["proximity"] == pytest.approx(0.75)


def bodies(*errors: list[float]) -> tuple[Track, Track]:
    """Frames of bodies that are `errors` metres off along y."""
    off = np.zeros((len(errors), len(errors[0]), 3))
    off[:, :, 1] = errors
    start = np.random.default_rng(5).normal(size=off.shape)
    return Track(body_pos=start + off), Track(body_pos=start)


def test_body_errors_by_hand() -> None:
    found = tracking_metrics(*bodies([0.3, 0.4], [0.0, 0.0]))
    assert found["mpjpe_xpos"] == pytest.approx(1000 * 0.7 / 4)
    assert found["distance_xpos"] == pytest.approx(0.25)
    assert found["proximity_xpos"] == 1


def test_success_is_of_the_worst_body_or_of_the_mean_in_the_worst_frame() -> None:
    worst = tracking_metrics(*bodies([0.1, 0.2], [0.2, 0.6]))
    assert (worst["success_phc_linf_xpos"], worst["success_phc_mean_xpos"]) == (0, 1)
    mean = tracking_metrics(*bodies([0.0, 0.0], [0.4, 0.7]))
    assert (mean["success_phc_linf_xpos"], mean["success_phc_mean_xpos"]) == (0, 0)
    at_the_bound = tracking_metrics(
        Track(body_pos=np.full((2, 1, 3), [0.5, 0, 0])), Track(body_pos=np.zeros((2, 1, 3)))
    )
    assert at_the_bound["success_phc_linf_xpos"] == 1


def test_unequal_lengths_compare_the_common_frames_and_transport_all() -> None:
    agent, reference = first(track(0), 7), track(1)
    found, same = values(agent, reference), values(agent, first(reference, 7))
    for name in ("distance", "proximity", "mpjpe_l", "vel_dist", "accel_dist", "mpjpe_xpos", "root_pos_error_m"):
        assert found[name] == same[name], name
    assert (found["frames_compared"], found["frames_cut"]) == (7, 5)
    assert found["emd"] != pytest.approx(same["emd"])


def test_frames_that_were_never_reached_are_neither_success_nor_upright() -> None:
    found = values(first(track(), 9), track())
    assert found["mpjpe_xpos"] == 0
    assert (found["success_phc_linf_xpos"], found["success_phc_mean_xpos"]) == (0, 0)
    assert found["upright_share"] == pytest.approx(9 / 12)
    longer = values(track(), first(track(), 9))
    assert (longer["success_phc_linf_xpos"], longer["upright_share"], longer["frames_cut"]) == (1, 1, 3)


def pose(lean: list[float], height: list[float]) -> Track:
    root = np.zeros((len(height), 3))
    root[:, 2] = height
    return Track(joint_pos=np.zeros((len(height), 1)), root_pos=root, anchor_quat=quaternions(np.array(lean)))


STANDING = pose([0.0] * 4, [0.8] * 4)


@pytest.mark.parametrize(
    ("agent", "share", "fall"),
    [
        (pose([0.1, 0.5, 0.7, 0.78], [0.8] * 4), 1.0, None),
        (pose([0.0, 0.8, 1.5, 0.1], [0.8] * 4), 0.5, 0.02),
        (pose([0.0] * 4, [0.8, 0.41, 0.39, 0.1]), 0.5, 0.04),
        (pose([math.pi] * 4, [0.8] * 4), 0.0, 0.0),
    ],
)
def test_upright_and_first_fall_by_hand(agent: Track, share: float, fall: float | None) -> None:
    found = values(agent, STANDING)
    assert found["upright_share"] == share
    assert found["first_fall_s"] == (fall if fall is None else pytest.approx(fall))


def test_a_reference_that_lies_down_may_be_followed_to_the_floor() -> None:
    lying = pose([0.0, 0.8, 1.5, 1.6], [0.8, 0.5, 0.1, 0.08])
    assert values(lying, lying)["upright_share"] == 1
    below_zero = pose([0.0] * 4, [-0.2] * 4)
    assert values(below_zero, below_zero)["upright_share"] == 1


def test_no_fall_time_without_a_clock() -> None:
    assert tracking_metrics(pose([2.0] * 4, [0.8] * 4), STANDING)["first_fall_s"] is None


@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.3, math.pi / 2, 3.1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_orientation_errors_are_angles_whatever_the_sign_and_size_of_a_quaternion(angle: float, axis: int) -> None:
    turned, reference = quaternions(np.full(3, angle), axis), quaternions(np.zeros(3))
    for factor in (1.0, -1.0, 3.0):
        found = tracking_metrics(Track(anchor_quat=factor * turned, root_quat=turned), Track(anchor_quat=reference))
        assert found["torso_rot_error_rad"] == pytest.approx(angle, abs=1e-12)
        assert "root_rot_error_rad" not in found


def test_one_frame_has_no_velocity_and_two_no_acceleration() -> None:
    one, two = values(first(track(), 1), first(track(1), 1)), values(first(track(), 2), first(track(1), 2))
    assert (one["vel_dist"], one["accel_dist"], two["accel_dist"]) == (None, None, None)
    assert two["vel_dist"] > 0
    assert one["emd"] == pytest.approx(one["distance"])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_agent_that_diverged_has_no_error_no_success_and_does_not_stand(bad: float) -> None:
    agent = track()
    for array in vars(agent).values():
        array[5:] = bad
    found = values(agent, track(1))
    assert all(math.isnan(found[name]) for name in (*JOINT_SPACE, "emd_xpos", "mpjpe_xpos", "root_pos_error_m"))
    assert (found["success_phc_linf_xpos"], found["success_phc_mean_xpos"]) == (0, 0)
    assert found["upright_share"] == pytest.approx(5 / 12)
    assert found["first_fall_s"] == pytest.approx(0.1)


def test_a_diverged_motion_leaves_its_neighbours_alone() -> None:
    broken = track()
    assert broken.joint_pos is not None
    broken.joint_pos[3] = math.nan
    first_, second = evaluate_tracks([(broken, track(1)), (track(2), track(3))], dt_s=0.02)
    assert math.isnan(first_["emd"])
    assert first_["emd_xpos"] > 0
    assert second == values(track(2), track(3))


def test_only_what_both_tracks_have_is_compared() -> None:
    agent, reference = Track(joint_pos=np.zeros((3, 2)), body_pos=np.zeros((3, 2, 3))), Track(joint_pos=np.ones((3, 2)))
    assert set(tracking_metrics(agent, reference)) == {*JOINT_SPACE, "frames_compared", "frames_cut"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Track(), "a track needs at least one of joint_pos, body_pos"),
        (
            lambda: Track(joint_pos=np.zeros((0, 4))),
            r"joint_pos of a track has shape \(0, 4\); expected \(T, n\) with one frame",
        ),
        (lambda: Track(body_pos=np.zeros((5, 12))), r"has shape \(5, 12\); expected \(T, n, 3\)"),
        (lambda: Track(joint_pos=np.array([["a"]])), "holds <U1; expected real numbers"),
        (
            lambda: Track(joint_pos=np.zeros((4, 2)), root_pos=np.zeros((5, 3))),
            "different numbers of frames: joint_pos 4, root_pos 5",
        ),
        (lambda: TrackOptions(legacy="bfm0"), "legacy is 'bfm0'; expected \"bfm_zero\""),  # type: ignore[arg-type]
        (lambda: TrackOptions(margin=0), "margin is 0; expected a finite number, more than 0"),
        (lambda: TrackOptions(bound=-1), "bound is -1; expected a finite number, 0 or more"),
        (lambda: evaluate_tracks([], 0), "threads is 0; expected 1 or more"),
        (lambda: TrackOptions(dt_s=0), "dt_s is 0; expected seconds between frames"),
        (
            lambda: tracking_metrics(Track(joint_pos=np.zeros((4, 29))), Track(joint_pos=np.zeros((4, 23)))),
            r"joint_pos: one frame of the agent has shape \(29,\), one of the reference \(23,\); both tracks need",
        ),
        (
            lambda: evaluate_tracks(
                [(track(), track()), (track(), Track(joint_pos=np.array([[0.0] * 5, [math.nan] * 5])))]
            ),
            "joint_pos of pair 1: the reference is not finite at frame 1; repair or drop the motion",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()


def test_summary_is_mean_and_population_std_of_numbers_only() -> None:
    rows = [
        {"emd": 1.0, "success": True, "motion_id": 0, "motion_file": "a"},
        {"emd": np.float64(4.0), "success": False, "motion_id": 1, "motion_file": "b"},
    ]
    assert summarize(rows) == {
        "emd": 2.5, "emd#std": 1.5, "emd#n": 2.0, "success": 0.5, "success#std": 0.5, "success#n": 2.0,
    }  # fmt: skip
    assert summarize([]) == {}


def test_summary_counts_what_it_leaves_out() -> None:
    found = summarize([{"emd": 1.0, "fall": None}, {"emd": math.nan, "fall": 2.0}, {"emd": 3.0}, {"nan": math.nan}])
    assert (found["emd"], found["emd#std"], found["emd#n"], found["emd#missing"]) == (2.0, 1.0, 2.0, 2.0)
    assert (found["fall"], found["fall#n"], found["fall#missing"]) == (2.0, 1.0, 3.0)
    assert found["nan#n"] == 0
    assert math.isnan(found["nan"])
    assert found["nan#missing"] == 4


def test_motions_of_one_name_keep_their_own_rows() -> None:
    found = by_motion(["walk", "walk", "walk#2", "walk"], [{"emd": float(i)} for i in range(4)])
    assert list(found) == ["walk", "walk#3", "walk#2", "walk#4"]
    assert [row["emd"] for row in found.values()] == [0, 1, 2, 3]
    assert found["walk#3"] == {"emd": 1.0, "motion_id": 1, "motion_file": "walk"}
