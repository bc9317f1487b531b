"""Vessels, the distance grid and the paths in them."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from rods import Route, tube

from proctor.suites.endovascular import grid
from proctor.suites.endovascular.anatomy import STEP_MM, VesselTree, aortic_arch
from proctor.suites.endovascular.carm import CArm
from proctor.suites.endovascular.spline import sample

TYPES = ("I", "II", "III")
BOUNDS = {"I": (0.0, 1.0), "II": (1.0, 2.0), "III": (2.0, 5.0)}
LINE = np.stack([np.zeros(41), np.zeros(41), np.arange(41.0)], axis=1)


@pytest.mark.parametrize("arch_type", TYPES)
@pytest.mark.parametrize("seed", range(5))
def test_the_type_is_the_depth_of_the_trunk_below_the_arch(arch_type, seed: int) -> None:
    tree = aortic_arch(arch_type, seed)
    aorta, trunk = tree.branch("aorta"), tree.branch("bct")
    drop = aorta.points[:, 2].max() - aorta.points[trunk.joins, 2]
    low, high = BOUNDS[arch_type]
    assert low <= drop / (2 * tree.branch("lcca").radii[0]) < high


@pytest.mark.parametrize("arch_type", TYPES)
def test_branches_join_and_run_evenly(arch_type) -> None:
    tree = aortic_arch(arch_type, 3)
    assert tree.names == ("aorta", "bct", "rcca", "rsa", "lcca", "lsa")
    assert tree.leaves == ("rcca", "rsa", "lcca", "lsa")
    for branch in tree.branches:
        steps = np.linalg.norm(np.diff(branch.points, axis=0), axis=1)
        assert steps == pytest.approx(STEP_MM, abs=0.1)
        assert branch.radii.min() > 2.5
        if branch.parent is not None:
            assert (branch.points[0] == tree.branch(branch.parent).points[branch.joins]).all()


def test_a_seed_is_a_patient() -> None:
    first, again, other = (aortic_arch("I", seed).points() for seed in (4, 4, 5))
    assert first.tobytes() == again.tobytes()
    assert first.shape != other.shape or not np.allclose(first, other, atol=1.0)


def test_the_grid_holds_the_distance_to_a_tube() -> None:
    field = grid.build(tube(LINE, 5.0))
    for x in (0.0, 2.0, 4.0, 5.0, 6.5):
        assert sample(field, x, 0.0, 20.0)[0] == pytest.approx(x - 5.0, abs=0.4 if x == 0 else 0.03)
    _, *normal = sample(field, 0.0, 4.5, 20.0)[:4]
    assert normal == pytest.approx([0, 1, 0], abs=0.02)
    assert sample(field, 0.0, 4.5, 20.0)[4] == pytest.approx(1 / 4.5, rel=0.2)


@pytest.mark.parametrize("arch_type", TYPES)
def test_centrelines_lie_inside(arch_type, tmp_path: Path) -> None:
    tree = aortic_arch(arch_type, 0)
    field = grid.shared(tree, tmp_path)
    for branch in tree.branches:
        for point, radius in zip(branch.points[2:-2:7], branch.radii[2:-2:7], strict=True):
            assert sample(field, *point)[0] <= -radius + 0.9


def test_a_grid_from_the_cache_equals_a_built_one(tmp_path: Path) -> None:
    tree = tube(LINE, 5.0)
    first, second, built = grid.shared(tree, tmp_path), grid.shared(tree, tmp_path), grid.build(tree)
    assert first.values.tobytes() == second.values.tobytes() == built.values.tobytes()
    assert [path.suffix for path in tmp_path.iterdir()] == [".npy"]


def test_a_broken_or_absent_cache_does_not_matter(tmp_path: Path) -> None:
    tree = tube(LINE, 5.0)
    built = grid.build(tree)
    grid.shared(tree, tmp_path)
    next(tmp_path.iterdir()).write_bytes(b"half a gr")
    assert grid.shared(tree, tmp_path).values.tobytes() == built.values.tobytes()
    (tmp_path / "file").touch()
    assert grid.shared(tree, tmp_path / "file").values.tobytes() == built.values.tobytes()


def test_old_grids_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "KEPT", 2)
    for radius in (3.0, 4.0, 5.0):
        grid.shared(tube(LINE, radius), tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_paths_along_the_tree() -> None:
    tree = aortic_arch("I", 0)
    route = Route(tree, "lcca")
    aorta, carotid = tree.branch("aorta"), tree.branch("lcca")
    expected = _length(aorta.points[: carotid.joins + 1]) + _length(carotid.points)
    assert route.initial_mm == pytest.approx(expected)
    assert route.remaining_mm(tree.entry) == pytest.approx(expected, abs=STEP_MM)
    assert route.remaining_mm(carotid.end) == 0.0
    wrong = tree.branch("rcca")
    back = _length(wrong.points) + _length(tree.branch("bct").points)
    back += _length(aorta.points[carotid.joins : tree.branch("bct").joins + 1]) + _length(carotid.points)
    assert route.remaining_mm(wrong.end) == pytest.approx(back, abs=STEP_MM)
    assert route.at_end(wrong.end)
    assert not route.at_end(tree.branch("bct").end)


def test_going_ahead_never_leads_away() -> None:
    tree = aortic_arch("III", 1)
    for target, start in itertools.permutations(tree.leaves, 2):
        route, at = Route(tree, target), tree.branch(start).end
        before = route.remaining_mm(at)
        for _ in range(80):
            at = route.ahead(at, 20.0)
            assert route.remaining_mm(at) <= before + 5.0, "at a junction it may be taken for a point of the parent"
            before = route.remaining_mm(at)
        assert before == 0.0


def test_the_c_arm_keeps_lengths_and_turns_by_hand_computed_angles() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 3))
    assert np.linalg.norm(CArm((20.0, 5.0)).track(points), axis=1) == pytest.approx(np.linalg.norm(points, axis=1))
    assert CArm((90.0, 0.0)).track(np.array([1.0, 2.0, 3.0])) == pytest.approx([2.0, -1.0, 3.0])
    assert CArm((0.0, 90.0)).project(np.array([1.0, 2.0, 3.0])) == pytest.approx([1.0, -2.0])


def _length(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def test_a_tree_without_children_has_no_targets() -> None:
    assert VesselTree(tube(LINE, 4.0).branches).leaves == ()
