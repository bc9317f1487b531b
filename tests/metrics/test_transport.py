"""Exact transport: laws of a distance, parity with two other solvers, hard cases, threads and memory."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.metrics.transport import FIXED_REACH, Workspace, emd, emd_many


def distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sqrt(((a[:, None] - b[None]) ** 2).sum(axis=-1))


def converged(a: np.ndarray, b: np.ndarray) -> float:
    """What POT gives, run to convergence on distances from direct differences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ot = pytest.importorskip("ot")
    weights = np.full(len(a), 1 / len(a)), np.full(len(b), 1 / len(b))
    return float(ot.emd2(*weights, distances(a, b), numItermax=10**9))


def assigned(a: np.ndarray, b: np.ndarray) -> float:
    """The best assignment of as many rows to as many columns."""
    from scipy.optimize import linear_sum_assignment

    cost = distances(a, b)
    return float(cost[linear_sum_assignment(cost)].mean())


def walk(seed: int, frames: int, columns: int = 7, step: float = 0.05) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(0, step, (frames, columns)), axis=0)


def tracked(seed: int, frames: int, late: int = 2, noise: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    reference = walk(seed, frames)
    agent = reference[np.maximum(np.arange(frames) - late, 0)]
    return agent + np.random.default_rng([seed, 1]).normal(0, noise, agent.shape), reference


def fallen(seed: int, frames: int) -> tuple[np.ndarray, np.ndarray]:
    agent, reference = tracked(seed, frames)
    agent[frames // 3 :] = agent[frames // 3] + np.random.default_rng(seed).normal(0, 0.003, agent.shape)[frames // 3 :]
    return agent, reference


def lying_far_away(seed: int, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that differ by less than single precision tells of such distances."""
    rng = np.random.default_rng(seed)
    return 2.0 + rng.normal(0, 1e-5, (frames, 72)), walk(seed, frames, columns=72, step=0.01)


def line(*at: float) -> np.ndarray:
    return np.array(at, dtype=np.float64)[:, None]


RNG = np.random.default_rng(5)
GRID = np.array([[i, j] for i in range(6) for j in range(6)], dtype=np.float64)
HARD = {
    "one to one": (walk(1, 1), walk(2, 1)),
    "one to many": (walk(1, 1), walk(2, 50)),
    "many to one": (walk(1, 33), walk(2, 1)),
    "two to many": (walk(1, 2), walk(2, 301)),
    "coprime": (walk(1, 89), walk(2, 97)),
    "multiples": (walk(1, 30), walk(2, 90)),
    "one column": (walk(1, 60, columns=1), walk(2, 45, columns=1)),
    "five columns": (walk(1, 60, columns=5), walk(2, 60, columns=5)),
    "duplicates": (np.repeat(walk(1, 8), 9, axis=0), np.repeat(walk(2, 9), 7, axis=0)),
    "one place": (np.ones((40, 3)), np.zeros((40, 3))),
    "one place to many": (np.ones((40, 3)), walk(2, 40, columns=3)),
    "collinear": (np.outer(RNG.random(50), [1.0, 2.0, 3.0]), np.outer(RNG.random(70), [1.0, 2.0, 3.0])),
    "ties": (GRID, GRID + np.array([1.0, 0.0])),
    "integers": (RNG.integers(0, 3, (64, 2)).astype(float), RNG.integers(0, 3, (48, 2)).astype(float)),
    "huge": (1e160 * walk(1, 50), 1e160 * walk(2, 40)),
    "tiny": (1e-160 * walk(1, 50), 1e-160 * walk(2, 40)),
    "two scales": (np.vstack([walk(1, 40), 1e9 + walk(3, 2)]), walk(2, 42)),
    "far away": (walk(1, 50) + 1e6, walk(2, 50) + 1e6),
    "tracked": tracked(1, 200),
    "tracked closely": tracked(2, 200, late=0, noise=1e-7),
    "tracked and cut": (tracked(3, 200)[0][:150], tracked(3, 200)[1]),
    "very late": tracked(4, 150, late=12),
    "fallen": fallen(1, 200),
    "lying still": (np.vstack([walk(1, 50), np.repeat(walk(2, 1), 100, axis=0)]), walk(1, 150)),
    "lying far away": lying_far_away(1, 200),
    "lying far away, one longer": (lying_far_away(2, 120)[0], lying_far_away(2, 130)[1]),
    "shuffled": (walk(1, 150), walk(1, 150)[np.random.default_rng(0).permutation(150)] + 1e-3),
}


@pytest.mark.parametrize("case", HARD)
def test_agrees_with_a_converged_network_simplex(case: str) -> None:
    a, b = HARD[case]
    scale = max(np.abs(a).max(), np.abs(b).max())
    assert emd(a, b) / scale == pytest.approx(converged(a / scale, b / scale), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("case", [case for case, (a, b) in HARD.items() if len(a) == len(b) and case != "huge"])
def test_agrees_with_an_assignment_solver(case: str) -> None:
    a, b = HARD[case]
    assert emd(a, b) == pytest.approx(assigned(a, b), rel=1e-9, abs=1e-300)


CLOUDS = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1), st.booleans())


def clouds(drawn: tuple[int, int, int, int, bool]) -> tuple[np.ndarray, np.ndarray]:
    n, m, d, seed, whole = drawn
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    return (np.round(2 * a), np.round(2 * b)) if whole else (a, b)


@settings(max_examples=150, deadline=None)
@given(CLOUDS)
def test_agrees_on_random_clouds_and_on_ties(drawn: tuple[int, int, int, int, bool]) -> None:
    a, b = clouds(drawn)
    assert emd(a, b) == pytest.approx(converged(a, b), rel=1e-9, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(CLOUDS)
def test_arguments_may_be_exchanged_and_rows_shuffled(drawn: tuple[int, int, int, int, bool]) -> None:
    a, b = clouds(drawn)
    value = emd(a, b)
    rng = np.random.default_rng(0)
    assert emd(b, a) == pytest.approx(value, rel=1e-12, abs=1e-15)
    assert emd(rng.permutation(a), rng.permutation(b)) == pytest.approx(value, rel=1e-12, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(CLOUDS, st.floats(-3, 3), st.integers(-40, 40))
def test_shifts_change_nothing_and_scales_scale(drawn: tuple[int, int, int, int, bool], by: float, power: int) -> None:
    a, b = clouds(drawn)
    value = emd(a, b)
    assert emd(a + by, b + by) == pytest.approx(value, rel=1e-12, abs=1e-14)
    assert emd(a * 2.0**power, b * 2.0**power) == value * 2.0**power
    assert emd(-a, -b) == pytest.approx(value, rel=1e-12, abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(CLOUDS, st.integers(1, 30))
def test_a_detour_is_no_shorter(drawn: tuple[int, int, int, int, bool], between: int) -> None:
    a, b = clouds(drawn)
    c = np.random.default_rng(between).normal(size=(between, a.shape[1]))
    assert emd(a, b) <= (emd(a, c) + emd(c, b)) * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(CLOUDS, st.integers(2, 4))
def test_rows_may_be_repeated(drawn: tuple[int, int, int, int, bool], times: int) -> None:
    a, b = clouds(drawn)
    assert emd(np.repeat(a, times, axis=0), b) == pytest.approx(emd(a, b), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("case", HARD)
def test_the_same_frames_are_at_distance_zero(case: str) -> None:
    a, _ = HARD[case]
    assert emd(a, a.copy()) == 0.0
    assert emd(a, np.random.default_rng(0).permutation(a)) == 0.0


def test_values_computed_by_hand() -> None:
    assert emd(line(0, 1), line(5, 3)) == 3.5
    assert emd(line(0), line(1, 2, 6)) == 3.0
    assert emd(line(0, 1, 5), line(2, 4)) == pytest.approx(5 / 3, rel=1e-15)
    assert emd([[0, 0]], [[3, 4]]) == 5.0
    assert emd(np.array([[True]]), np.array([[False]])) == 1.0


def test_a_whole_shift_costs_its_length() -> None:
    a = walk(3, 120)
    assert emd(a, a + 10.0) == pytest.approx(10 * np.sqrt(7), rel=1e-12)


def test_fixed_point_that_is_too_narrow_is_noticed_and_made_up_for() -> None:
    from proctor.metrics.transport.solve import transport

    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 0.1, (200, 1)), rng.normal(0, 0.1, (150, 1))
    table = np.empty(200 * 150, np.int32)
    value, wide = transport(a, b, table, FIXED_REACH)
    assert not wide
    narrow, wide = transport(a, b, table, 2.0**30)
    assert wide
    assert narrow == pytest.approx(value, rel=1e-12)


def test_threads_change_no_bit() -> None:
    pairs = [(walk(i, 20 + i), walk(i + 100, 50)) for i in range(30)] + [tracked(i, 80) for i in range(10)]
    one = emd_many(pairs, threads=1)
    assert one.dtype == np.float64
    assert one.tobytes() == emd_many(pairs, threads=4).tobytes() == emd_many(iter(pairs)).tobytes()
    assert one.tolist() == [emd(a, b) for a, b in pairs]


def test_no_pairs_no_values() -> None:
    assert emd_many([]).shape == (0,)


def test_a_thread_keeps_one_table_of_four_bytes_per_pair_of_frames() -> None:
    workspace = Workspace()
    emd(walk(1, 90), walk(2, 70), workspace)
    assert workspace.nbytes == 4 * 90 * 70
    emd(walk(1, 20), walk(2, 10), workspace)
    assert workspace.nbytes == 4 * 90 * 70


def test_a_used_workspace_gives_the_same_value() -> None:
    workspace = Workspace()
    emd(walk(1, 90), walk(2, 70), workspace)
    assert emd(walk(3, 60), walk(4, 40), workspace) == emd(walk(3, 60), walk(4, 40))


GOOD = np.zeros((3, 2))
WRONG = {
    "the first array has shape (3,), expected (frames, columns); reshape it": (np.zeros(3), GOOD),
    "the second array has shape (0, 2), expected at least one frame": (GOOD, np.zeros((0, 2))),
    "the first array has shape (3, 0), expected at least one frame and one column": (np.zeros((3, 0)), GOOD),
    "the second array has nan at frame 1, column 0 (1 such values in all); cut": (GOOD, line(0, np.nan)),
    "the first array has inf at frame 0, column 0": (line(np.inf), GOOD),
    "the first has 2 columns, the second 1; pass the same joints": (GOOD, line(1)),
    "the second array holds <U1, expected real numbers; convert it to float64": (GOOD, [["a", "b"]]),
    "the first array holds complex128, expected real numbers": (GOOD * 1j, GOOD),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_input_is_refused_with_a_way_out(text: str) -> None:
    with pytest.raises(InputError) as caught:
        emd(*WRONG[text])
    assert text in str(caught.value)


def test_a_wrong_pair_among_many_is_named_before_anything_is_solved() -> None:
    with pytest.raises(InputError, match="pair 1: the second array has shape"):
        emd_many([(GOOD, GOOD), (GOOD, np.zeros((0, 2)))])


@pytest.mark.parametrize("threads", [0, -1])
def test_a_number_of_threads_below_one_is_refused(threads: int) -> None:
    with pytest.raises(InputError, match=f"threads is {threads}, expected at least 1, or None for all cores"):
        emd_many([(GOOD, GOOD)], threads=threads)


def test_the_compiler_is_imported_when_a_problem_is_solved() -> None:
    code = """
import sys
import proctor.metrics, proctor.metrics.transport as transport
assert "numba" not in sys.modules
assert transport.emd([[1.0]], [[1.0]]) == 0.0
assert "numba" not in sys.modules
assert transport.emd([[1.0]], [[2.0]]) == 1.0
assert "numba" in sys.modules
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
