"""Vessels from files, arches that vary, targets anywhere on a centreline, points on the way, bent catheters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rods import OPEN

from proctor import ConfigError, config_from_dict
from proctor.errors import InputError
from proctor.suites.endovascular.env import EndovascularEnv
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.suite import EndovascularSuite
from proctor.suites.endovascular.tools import TOOLS
from proctor.suites.endovascular.vessel_files import Source, read_tree
from proctor.suites.endovascular.vessels import places
from proctor.suites.endovascular.wire import Physics, Wire

LINES = {
    "aorta": [(0, 0, 0), (0, 0, 80)],
    "left": [(0, 0, 80), (0, 20, 120)],
    "right": [(0, -25, 115), (0, 0, 80)],
    "twig": [(0, 0, 40), (40, 0, 60)],
    "far": [(300, 300, 300), (300, 300, 340)],
}
"""Start and end, mm; `right` runs towards its parent, `twig` begins on the aorta's line, `far` touches nothing."""


def slicer(folder: Path, lines: dict[str, Any] = LINES, **changes: Any) -> Path:
    """Markup curves as 3D Slicer writes them."""
    folder.mkdir(exist_ok=True)
    for name, (start, end) in lines.items():
        points = np.linspace(start, end, 30).tolist()
        radii = [10.0 if name == "aorta" else 4.0] * len(points)
        curve = {"type": "Curve", "controlPoints": [{"position": point} for point in points],
                 "measurements": [{"name": "length"}, {"name": "Radius", "controlPointValues": radii}]}  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps({"markups": [{**curve, **changes}]}))
    return folder


def paths(folder: Path) -> Path:
    """The same as paths of the Vascular Model Repository: cm, no radii."""
    folder.mkdir(exist_ok=True)
    for name, (start, end) in LINES.items():
        rows = "".join(f'<pos x="{x}" y="{y}" z="{z}" />\n' for x, y, z in np.linspace(start, end, 30) / 10)
        (folder / f"{name.upper()}.pth").write_text(f'<?xml version="1.0"?>\n<format/>\n<path>{rows}</path>')
    return folder


def make(**options: Any) -> EndovascularEnv:
    return EndovascularEnv(EndovascularOptions.model_validate(options))


def from_files(folder: Path, **keys: Any) -> dict[str, Any]:
    return {"type": "centerlines", "centerlines_folder": str(folder), "entry_mm": [0, 0, 0], **keys}


@pytest.mark.parametrize("write", [slicer, paths])
def test_lines_that_meet_become_a_tree(tmp_path: Path, write: Any) -> None:
    tree = read_tree(Source(str(write(tmp_path / "lines")), (0.0, 0.0, 1.0), radius_mm=6.0))
    assert set(tree.names) == {"aorta", "left", "right", "twig"}
    assert {branch.parent for branch in tree.branches[1:]} == {"aorta"}
    np.testing.assert_allclose(tree.entry, [0, 0, 0], atol=3)
    np.testing.assert_allclose(tree.direction, [0, 0, 1], atol=1e-6)
    right, twig = tree.branch("right"), tree.branch("twig")
    np.testing.assert_allclose(right.end, [0, -25, 115])
    assert tree.branch("aorta").points[twig.joins][2] == pytest.approx(45, abs=4)
    for branch in tree.branches:
        assert np.linalg.norm(np.diff(branch.points, axis=0), axis=1)[1:] == pytest.approx(1.0, abs=0.3)
        if branch.parent is not None:
            np.testing.assert_array_equal(branch.points[0], tree.branch(branch.parent).points[branch.joins])
    assert tree.branch("left").radii[0] == (4.0 if write is slicer else 6.0)


def test_axes_and_turns_and_an_entry_by_name(tmp_path: Path) -> None:
    source = Source(str(slicer(tmp_path / "lines")), ("aorta", 0), ("y", "-z", "-x"))
    tree = read_tree(source)
    np.testing.assert_allclose(tree.direction, [0, -1, 0], atol=1e-6)
    np.testing.assert_allclose(tree.branch("left").end, [20, -120, 0], atol=1e-6)
    turned = read_tree(Source(source.folder, ("aorta", 0), rotate_yzx_deg=(0.0, 0.0, 90.0)))
    np.testing.assert_allclose(turned.direction, [0, -1, 0], atol=1e-6)


def test_a_wire_goes_through_vessels_from_files(tmp_path: Path) -> None:
    anatomy = from_files(slicer(tmp_path / "lines"), target_branches=["left"])
    env = make(anatomy=anatomy, tool="straight")
    env.reset(0, 0)
    assert env.constants()["case"] == "left"
    assert EndovascularSuite().task_name(env.options) == "lines"
    for _ in range(10):
        step = env.step(np.array([30.0, 0.0], np.float32))
    assert step.signals["path_ratio"] > 0.25
    assert step.signals["wall_depth_max_mm"] < 0.4


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"target_branches": ["lcca"]}, "no branch lcca; target_branches are some of aorta, left"),
        ({"centerlines_folder": "nowhere"}, "there is no folder .*nowhere of centrelines"),
        ({"entry_mm": None, "entry_at": ["aorta", 99]}, r"no point 99 of a line aorta.*aorta \(30 points\)"),
    ],
)
def test_vessels_that_cannot_be(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(anatomy=from_files(slicer(tmp_path / "lines"), **{"target_branches": ["left"], **keys}))


def test_files_that_are_no_centrelines(tmp_path: Path) -> None:
    folder = slicer(tmp_path / "lines", measurements=[{"name": "Radius", "controlPointValues": [1.0]}])
    with pytest.raises(
        InputError, match=r"aorta\.json is no centreline that can be read: ValueError: 30 points, but 1 rad"
    ):
        read_tree(Source(str(folder), (0.0, 0.0, 0.0)))
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="has no centrelines: expected Slicer"):
        read_tree(Source(str(tmp_path / "none"), (0.0, 0.0, 0.0)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"benchmark": "DualDeviceNav"}, "type centerlines needs centerlines_folder"),
        ({"benchmark": "ArchVarity"}, "benchmark"),
        ({"benchmark": "BasicWireNav"}, "type centerlines needs centerlines_folder"),
        ({"anatomy": {"type": "centerlines", "centerlines_folder": "x"}}, "and one of entry_mm and entry_at"),
        ({"anatomy": {"axes": ["x", "y", "y"]}}, "found x, y, y; expected x, y and z in some order"),
        ({"tool": {**TOOLS["straight"].model_dump(), "bends": [[900.0, 3.0]]}}, "bends must have lengths above 0"),
    ],
)
def test_options_that_are_none(options: dict[str, Any], message: str) -> None:
    raw = {"agents": [{"policy": "random"}], "tasks": [{"suite": "endovascular", "options": options}]}
    with pytest.raises(ConfigError) as error:
        config_from_dict(raw)
    assert message in str(error.value)


def test_arch_variety_has_another_patient_and_target_each_trial() -> None:
    """eve_bench's friction, picture and device; arches of this simulator's generator."""
    env = make(benchmark="ArchVariety")
    found = {}
    for seed in (1, 2, 1):
        env.reset(seed, 0)
        constants = env.constants()
        found.setdefault(seed, []).append((constants["vessel_pos3d"].tobytes(), constants["target_pos3d"].tobytes()))
    assert found[1][0] == found[1][1]
    assert found[1][0][0] != found[2][0][0]
    assert env.options.anatomy.friction == 0.1
    assert env.options.tool == "standard_j"
    assert EndovascularSuite().task_name(env.options) == "ArchVariety"
    plain = make(anatomy={"seed": 3}).tree.branch("lcca").radii
    assert make(anatomy={"seed": 3, "scale_diameter": 0.85}).tree.branch("lcca").radii == pytest.approx(0.85 * plain)


def test_targets_lie_on_centrelines_and_in_no_other_vessel() -> None:
    env = make(anatomy={"target_mode": "centerline", "target_branches": ["lcca", "lsa"]})
    tree = env.tree
    spots = places(tree, ("lcca", "lsa"))
    assert {name for name, _ in spots} == {"lcca", "lsa"}
    aorta = tree.branch("aorta")
    for name, index in spots:
        apart = np.linalg.norm(aorta.points - tree.branch(name).points[index], axis=1)
        assert (apart >= aorta.radii).all()
    drawn = set()
    for seed in range(6):
        env.reset(seed, 0)
        target, case = env._scene.target, str(env.constants()["case"])
        drawn.add(target.tobytes())
        assert np.linalg.norm(tree.branch(case).points - target, axis=1).min() == 0.0
        assert env._scene.way.distance.min() == 0.0
    assert len(drawn) > 3


def test_points_on_the_way_are_shown_one_after_the_other() -> None:
    anatomy = {"interim_target_mm": 25.0, "interim_threshold_mm": 14.0, "target_branches": ["lsa"], "seed": 1}
    env = make(anatomy=anatomy)
    first = env.reset(0, 0)["target"]
    plain = make(anatomy={"target_branches": ["lsa"], "seed": 1})
    goal = plain.reset(0, 0)["target"]
    shown = [first]
    for _ in range(60):
        step = env.step(np.array([30.0, 0.0], np.float32))
        if not np.array_equal(step.observation["target"], shown[-1]):
            shown.append(step.observation["target"])
    assert np.linalg.norm(first - goal) > 100
    assert len(shown) > 3
    gaps = [float(np.linalg.norm(target - goal)) for target in shown]
    assert gaps == sorted(gaps, reverse=True)


def test_a_simmons_catheter_has_its_bends() -> None:
    """At rest the pieces follow one another: their angles add up to the tip's."""
    tool = TOOLS["simmons"]
    wire = Wire(tool, OPEN, np.zeros(3), np.array([0.0, 0.0, 1.0]), Physics(1 / 7.5))
    wire.reset(120.0, 0.0)
    for _ in range(150):
        wire.step(0.0, 0.0)
    ends = np.diff(wire.points[[1, 0]], axis=0)[0], np.diff(wire.points[[-1, -2]], axis=0)[0]
    between = np.degrees(np.arccos(np.clip(ends[0] @ ends[1] / np.prod(np.linalg.norm(ends, axis=1)), -1, 1)))
    assert between == pytest.approx(abs(-60 + 20 + 185), abs=2)
    assert np.ptp(wire.points[:, 0]) < 0.01
