"""Frame-wise metrics of many trials at once: the values of each, whatever lies beside it and wherever they are made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.suites.tracking.metrics import Track, TrackOptions, evaluate_tracks
from proctor.suites.tracking.metrics.frames import DEVICE_ROWS, Rows, frame_metrics, frame_metrics_of, measure
from proctor.suites.tracking.metrics.segments import Segments, squared, total, width_of

torch = pytest.importorskip("torch")

OPTIONS = TrackOptions(dt_s=0.02)
Pair = tuple[Track, Track]


def quaternions(angles: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(angles / 2), 0 * angles, np.sin(angles / 2), 0 * angles], axis=1)


def made_up(rng: np.random.Generator, frames: int, lean: float, dtype: Any = np.float64, **without: None) -> Track:
    """A track of so many frames that leans so far."""
    arrays = {
        "joint_pos": rng.normal(size=(frames, 5)),
        "body_pos": rng.normal(size=(frames, 4, 3)),
        "root_pos": np.array([0.0, 0.0, 0.8]) + 0.2 * rng.normal(size=(frames, 3)),
        "root_quat": quaternions(rng.normal(size=frames)),
        "anchor_quat": quaternions(lean + 0.1 * rng.normal(size=frames)),
        "observed": rng.normal(size=(frames, 5)),
    }
    return Track(**{name: array.astype(dtype) for name, array in arrays.items()} | without)


def trials(seed: int = 0, count: int = 40) -> list[Pair]:
    """Lengths from 1 to 300, half of them unequal; upright and fallen, single and double precision, some diverged, some
    without bodies or without a torso."""
    rng = np.random.default_rng(seed)
    pairs = []
    for i in range(count):
        frames = int(rng.choice([1, 2, 3, 17, 64, 65, 300]))
        ends = frames if i % 2 else max(1, frames - int(rng.integers(0, frames)))
        dtype = (np.float64, np.float32)[i % 3 == 0]
        missing: dict[str, None] = {7: {"body_pos": None}, 8: {"anchor_quat": None}}.get(i % 11, {})
        agent = made_up(rng, ends, (0.0, 3.0, 1.0)[i % 3], dtype, **missing)
        if i % 5 == 4:
            for array in (a for a in vars(agent).values() if a is not None):
                array[int(rng.integers(ends)) :] = (math.nan, math.inf)[i % 2]
        pairs.append((agent, made_up(rng, frames, 0.0, dtype)))
    return pairs


def same(found: float | None, expected: float | None) -> bool:
    """Up to rounding in double precision."""
    if expected is None:
        return found is None
    return found == pytest.approx(expected, rel=1e-13, abs=1e-13, nan_ok=True)


def by_hand(agent: Track, reference: Track, options: TrackOptions) -> dict[str, float | None]:
    """The formulas of docs/tracking-metrics.md, frame by frame."""
    n = min(len(agent), len(reference))
    pairs = {k: (a[:n], getattr(reference, k)[:n]) for k, a in vars(agent).items() if a is not None}
    found: dict[str, float | None] = {"frames_compared": float(n)}
    found["frames_cut"] = float(max(len(agent), len(reference)) - n)

    def mean(values: Any, scale: float = 1.0) -> float | None:
        return scale * math.fsum(values) / len(values) if len(values) else None

    def near(distance: float) -> float:
        return min(1.0, max(0.0, (options.bound + options.margin - distance) / options.margin))

    def distances(prefix: str, suffix: str, apart: list[float]) -> None:
        found[f"{prefix}distance{suffix}"] = mean(apart)
        found[f"{prefix}proximity{suffix}"] = mean([near(d) for d in apart])

    def norm(vector: np.ndarray) -> float:
        return math.sqrt(math.fsum(vector.ravel() ** 2))

    a, r = pairs["joint_pos"]
    apart = [norm(a[t] - r[t]) for t in range(n)]
    distances("", "", apart)
    found["mpjpe_l"] = mean(apart, 1000)
    e = a - r
    found["vel_dist"] = mean([norm(e[t + 1] - e[t]) for t in range(n - 1)], 1000)
    found["accel_dist"] = mean([norm(e[t] - 2 * e[t + 1] + e[t + 2]) for t in range(n - 2)], 1000)
    distances("obs_state_", "", [norm(pairs["observed"][0][t] - pairs["observed"][1][t]) for t in range(n)])
    found["root_pos_error_m"] = mean([norm(pairs["root_pos"][0][t] - pairs["root_pos"][1][t]) for t in range(n)])
    if "body_pos" in pairs:
        a, r = pairs["body_pos"]
        errors = [[norm(a[t, b] - r[t, b]) for b in range(a.shape[1])] for t in range(n)]
        distances("", "_xpos", [norm(a[t] - r[t]) for t in range(n)])
        found["mpjpe_xpos"] = mean([error for frame in errors for error in frame], 1000)
        whole = n == len(reference)
        found["success_phc_linf_xpos"] = float(whole and max(map(max, errors)) <= options.success_m)
        found["success_phc_mean_xpos"] = float(whole and max(sum(f) / len(f) for f in errors) <= options.success_m)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_a_trial_has_the_same_values_to_the_bit_whatever_lies_beside_it(seed: int) -> None:
    pairs = trials(seed)
    alone = [frame_metrics(agent, reference, OPTIONS) for agent, reference in pairs]
    assert repr(frame_metrics_of(pairs, OPTIONS)) == repr(alone)
    order = np.random.default_rng(seed).permutation(len(pairs))
    assert repr(frame_metrics_of([pairs[i] for i in order], OPTIONS)) == repr([alone[i] for i in order])


@pytest.mark.parametrize("seed", range(3))
def test_on_a_device_too(seed: int) -> None:
    pairs = trials(seed)
    alone = [value for pair in pairs for value in frame_metrics_of([pair], OPTIONS, "cpu")]
    assert repr(frame_metrics_of(pairs, OPTIONS, "cpu")) == repr(alone)


@pytest.mark.parametrize("legacy", [None, "bfm_zero"])
@pytest.mark.parametrize("seed", range(3))
def test_a_device_gives_the_values_of_numpy_up_to_rounding(seed: int, legacy: Any) -> None:
    pairs, options = trials(seed), TrackOptions(dt_s=0.02, legacy=legacy, success_m=3.0)
    for here, there in zip(frame_metrics_of(pairs, options), frame_metrics_of(pairs, options, "cpu"), strict=True):
        assert list(here) == list(there)
        for name, value in here.items():
            assert same(there[name], value), name


def test_values_are_those_of_the_formulas() -> None:
    options = TrackOptions(dt_s=0.02, success_m=3.0)
    for agent, reference in trials(5):
        if not all(np.isfinite(a).all() for a in vars(agent).values() if a is not None):
            continue
        found = frame_metrics(agent, reference, options)
        for name, value in by_hand(agent, reference, options).items():
            assert same(found[name], value), name


def test_single_precision_is_widened_before_anything_is_computed() -> None:
    rng = np.random.default_rng(0)
    agent, reference = rng.normal(size=(2, 9, 5)).astype(np.float32)
    lengths = np.array([4, 5])
    narrow = Rows({"joint_pos": torch.tensor(agent)}, {"joint_pos": torch.tensor(reference)}, lengths, lengths)
    wide = Rows({"joint_pos": agent.astype(float)}, {"joint_pos": reference.astype(float)}, lengths, lengths)
    for one, other in zip(measure(narrow, OPTIONS), measure(wide, OPTIONS), strict=True):
        assert list(one) == list(other)
        assert all(same(one[name], value) for name, value in other.items())


def test_nothing_to_compare_is_nothing() -> None:
    assert measure(Rows({}, {}, np.array([3, 4]), np.array([3, 4])), OPTIONS) == [{}, {}]
    assert frame_metrics_of([], OPTIONS) == frame_metrics_of([], OPTIONS, "cpu") == []


@pytest.mark.parametrize("device", [None, "cpu"])
def test_all_metrics_are_the_same_for_any_number_of_threads(device: str | None) -> None:
    pairs = [pair for pair in trials(9, 12) if len(pair[0]) > 1]
    one, many = (evaluate_tracks(pairs, threads, options=OPTIONS, device=device) for threads in (1, 3))
    assert repr(one) == repr(many)


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match='device is "cuda:77", where torch cannot compute in double precision: '):
        evaluate_tracks(trials(count=1), device="cuda:77")
    with pytest.raises(InputError, match='device is "gpu", where torch cannot compute'):
        evaluate_tracks(trials(count=1), device="gpu")


def test_more_trials_than_a_device_is_given_at_once_and_one_that_is_longer() -> None:
    width = 1 << 14
    agent = np.random.default_rng(0).normal(size=(width, 1))
    tracks = [(Track(joint_pos=agent), Track(joint_pos=np.zeros((width, 1))))] * (DEVICE_ROWS // width + 1)
    found = frame_metrics_of(tracks, OPTIONS, "cpu")
    assert len({repr(values) for values in found}) == 1
    assert found[0]["distance"] == pytest.approx(np.abs(agent).mean())


# Reductions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("like", [np.zeros(1), torch.zeros(1)])
def test_reductions_by_hand(like: Any) -> None:
    lengths = np.array([3, 0, 1, 5])
    values = np.array([1.0, 2.0, 6.0, -4.0, 0.5, 0.0, math.nan, 1.0, 2.0])
    given: Any = torch.tensor(values) if torch.is_tensor(like) else values
    segments = Segments(lengths, given)
    assert segments.means(given).tolist()[:3] == [3.0, math.inf, -4.0]
    assert math.isnan(segments.means(given)[3])
    assert segments.sums(given).tolist()[:3] == [9.0, 0.0, -4.0]
    assert segments.maxima(given).tolist()[:3] == [6.0, -math.inf, -4.0]
    assert segments.counts(given > 1.5).tolist() == [2.0, 0.0, 0.0, 1.0]
    assert segments.firsts(given > 1.5).tolist() == [1.0, math.inf, math.inf, 4.0]
    inner, within = segments.differences(1, given)
    assert within.tolist() == [0, 1, 4, 5, 6, 7]
    assert inner.lengths.tolist() == [2, 0, 0, 4]
    inner, within = segments.differences(2, given)
    assert within.tolist() == [0, 4, 5, 6]
    assert inner.lengths.tolist() == [1, 0, 0, 3]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 29, 72])
def test_sums_over_the_last_axis(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(6, 3, n))
    for array in (values, torch.tensor(values)):
        assert np.asarray(total(array)) == pytest.approx(values.sum(-1), rel=1e-13, abs=1e-13)
        assert np.asarray(squared(array)) == pytest.approx((values**2).sum(-1), rel=1e-13)


def test_widths_are_powers_of_two_with_room() -> None:
    assert [width_of(n) for n in (0, 1, 2, 3, 4, 5, 500, 512, 513)] == [1, 1, 2, 4, 4, 8, 512, 512, 1024]
