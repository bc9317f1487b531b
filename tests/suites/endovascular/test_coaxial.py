"""A catheter over a wire as one rod: laws that two devices in one another obey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rods import OPEN, plane, tube

from proctor.suites.endovascular import grid, view
from proctor.suites.endovascular.coaxial import AHEAD, CATHETER, WIRE, Coaxial
from proctor.suites.endovascular.rod import DEPTH_MAX, FORCE, SPAN, UNSETTLED
from proctor.suites.endovascular.tools import TOOLS, Tool
from proctor.suites.endovascular.wire import Physics, Wire

UP = np.array([0.0, 0.0, 1.0])
SHAFT = Tool(shaft_bending=300, shaft_torsion=240, tip_bending=300, tip_torsion=240, curve_radius_mm=None)
CURVED = SHAFT.model_copy(update={"curve_radius_mm": 20.0, "curve_length_mm": 20.0})
TWICE = SHAFT.model_copy(update=dict.fromkeys(("shaft_bending", "tip_bending"), 600.0) | {"shaft_torsion": 480.0})
PAIR = TOOLS["mic_guide"], TOOLS["mic_cath"]


def coaxial(wire: Tool, catheter: Tool, field: Any = OPEN, **physics: Any) -> Coaxial:
    return Coaxial((wire, catheter), field, np.zeros(3), UP, Physics(1 / 7.5, **physics))


def moved(pair: Coaxial, wire_mm: float, catheter_mm: float, *, rest: int = 60) -> Coaxial:
    """Both brought to these insertions, and left alone."""
    for device, length in ((WIRE, wire_mm), (CATHETER, catheter_mm)):
        while abs(pair.lengths[device] - length) > 1e-9:
            commands = np.zeros((2, 2))
            commands[device, 0] = np.clip(7.5 * (length - pair.lengths[device]), -30, 30)
            pair.drive(commands)
    for _ in range(rest):
        pair.drive(np.zeros((2, 2)))
    return pair


def ready(wire: Tool, catheter: Tool, wire_mm: float, catheter_mm: float, **physics: Any) -> Coaxial:
    pair = coaxial(wire, catheter, **physics)
    pair.reset(10.0, 0.0)
    return moved(pair, wire_mm, catheter_mm)


# One of them


@pytest.mark.parametrize("field", [OPEN, plane(3.0)], ids=["free", "wall"])
def test_a_wire_whose_catheter_is_not_inserted_is_a_single_wire_to_the_byte(field: Any) -> None:
    """Whatever the catheter's handle does."""
    tool = TOOLS["angled_standard"]
    single = Wire(tool, field, np.zeros(3), UP, Physics(1 / 7.5, friction=0.1, least_mm=23.0))
    pair = coaxial(tool, TOOLS["straight"].model_copy(update={"radius_mm": 0.8}), field, friction=0.1, least_mm=23.0)
    single.reset(23.0, 0.4)
    pair.reset(23.0, 0.4)
    for speed, spin, other in np.random.default_rng(0).uniform((-20, -3, -3), (35, 3, 3), (60, 3)):
        single.step(speed, spin)
        pair.drive(np.array([[speed, spin], [-5.0, other]]))
        assert pair.points.tobytes() == single.points.tobytes()
        assert pair.status.tobytes() == single.status.tobytes()
        assert view.contact(pair.rod, pair.state, pair.free) == view.contact(single.rod, single.state, single.free)
    assert pair.lengths[CATHETER] == 0.0


@pytest.mark.parametrize("angle", [0.0, 1.0, -2.5])
def test_a_catheter_that_is_ahead_has_its_own_shape_and_turns_with_its_own_handle(angle: float) -> None:
    pair = ready(SHAFT, CURVED, 20.0, 60.0)
    for _ in range(20):
        pair.drive(np.array([[0.0, 0.3], [0.0, 7.5 * angle / 20]]))
    for _ in range(60):
        pair.drive(np.zeros((2, 2)))
    single = Wire(CURVED, OPEN, np.zeros(3), UP, Physics(1 / 7.5))
    single.reset(60.0, angle)
    for _ in range(60):
        single.step(0.0, 0.0)
    assert pair.duo[AHEAD] == CATHETER
    np.testing.assert_allclose(pair.points[0], single.points[0], atol=1e-3)


def test_advancing_one_leaves_the_insertion_of_the_other() -> None:
    pair = coaxial(*PAIR, grid.build(tube(np.outer(np.linspace(0, 200, 60), UP), 4.0)))
    pair.reset(25.2, 0.5)
    for device in (WIRE, CATHETER, CATHETER, CATHETER, WIRE):
        held = pair.lengths[1 - device]
        for _ in range(8):
            commands = np.zeros((2, 2))
            commands[device] = 20.0, 1.0
            pair.drive(commands)
        assert pair.lengths[1 - device] == pytest.approx(held, abs=0.01)
    assert pair.lengths == pytest.approx([25.2 + 16 * 20 / 7.5, 24 * 20 / 7.5], abs=0.01)


# Both of them


def bent(wire: Wire, load: float) -> np.ndarray:
    wire._work.force[0, 0] = load
    for _ in range(80):
        wire.step(0.0, 0.0)
    return wire.points.copy()


@pytest.mark.parametrize("load", [0.02, 0.3])
def test_two_equal_straight_devices_bend_as_one_of_twice_the_stiffness(load: float) -> None:
    """But for some micrometres by which handles yield that pull with another force."""
    single = Wire(TWICE.model_copy(update={"tip_torsion": 480.0}), OPEN, np.zeros(3), UP, Physics(1 / 7.5))
    single.reset(60.5, 0.0)
    found, expected = bent(ready(SHAFT, SHAFT, 60.5, 60.5), load), bent(single, load)
    assert expected[0, 0] > 20 * load
    np.testing.assert_allclose(found, expected, atol=0.01)


@pytest.mark.parametrize("ahead", [WIRE, CATHETER])
@pytest.mark.parametrize("covered", [15.0, 30.5, 47.3])
def test_a_half_covered_device_bends_as_a_stepped_beam(covered: float, ahead: int) -> None:
    """The covered part has the sum of the stiffnesses; wherever the nodes are, and whichever is ahead."""
    lengths = (60.0, covered) if ahead == WIRE else (covered, 60.0)
    stiff = SHAFT.model_copy(update=dict.fromkeys(("shaft_bending", "tip_bending"), 900.0))
    pair = (SHAFT, stiff) if ahead == WIRE else (stiff, SHAFT)
    load, bare = 0.005, 60.0 - covered
    expected = load * (bare**3 / (3 * 300.0) + (60.0**3 - bare**3) / (3 * 1200.0))
    assert bent(ready(*pair, *lengths), load)[0, 0] == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("stiffer", [1.0, 3.0])
def test_at_rest_both_have_the_curvature_weighted_by_stiffness(stiffer: float) -> None:
    """A curve of 1/20 mm in a straight device becomes 1/20 of its share of the stiffness."""
    keys = ("shaft_bending", "tip_bending", "shaft_torsion", "tip_torsion")
    straight = SHAFT.model_copy(update={key: stiffer * getattr(SHAFT, key) for key in keys})
    tip = ready(CURVED, straight, 60.0, 60.0).points[0]
    radius = 20.0 * (1 + stiffer)
    arc = [radius * (1 - np.cos(20 / radius)), 40.0 + radius * np.sin(20 / radius)]
    assert [np.hypot(tip[0], tip[1]), tip[2]] == pytest.approx(arc, abs=0.05)


def test_opposed_curves_cancel_and_crossed_ones_meet_half_way() -> None:
    tips = {}
    for angle in (0.0, np.pi / 2, np.pi):
        pair = coaxial(CURVED, CURVED)
        pair.catheter_rad = angle
        pair.reset(10.0, 0.0)
        tips[angle] = moved(pair, 60.0, 60.0).points[0]
    assert np.hypot(*tips[np.pi][:2]) < 1e-3
    directions = [np.arctan2(tips[angle][1], tips[angle][0]) for angle in (0.0, np.pi / 2)]
    turn = (directions[1] - directions[0] + np.pi) % (2 * np.pi) - np.pi
    assert abs(turn) == pytest.approx(np.pi / 4, abs=0.01)
    assert np.hypot(*tips[np.pi / 2][:2]) == pytest.approx(20 * np.sqrt(2) * (1 - np.cos(1 / np.sqrt(2))), abs=0.05)


def test_mirrored_devices_do_the_mirrored_thing() -> None:
    turn = np.linspace(0, np.pi / 2, 60)
    bend = np.stack([0 * turn, 40 * (1 - np.cos(turn)), 40 * np.sin(turn)], axis=1)
    field, found = grid.build(tube(bend, 6.0)), []
    pair = coaxial(
        TOOLS["angled_standard"], TOOLS["j_soft"].model_copy(update={"radius_mm": 0.8}), field, friction=0.05
    )
    for sign in (1.0, -1.0):
        pair.catheter_rad = -0.9 * sign
        pair.reset(23.0, 0.7 * sign)
        for step in range(30):
            pair.drive(np.array([[6.0, sign * (1.5 if step % 10 < 6 else -0.8)], [13.0, sign * 1.1]]))
        assert view.contact(pair.rod, pair.state, pair.free)[0] > 0.005
        assert pair.duo[AHEAD] == CATHETER
        found.append(pair.points.copy())
    assert np.abs(found[0][:, 0]).max() > 0.3
    np.testing.assert_allclose(found[0], found[1] * [-1, 1, 1], atol=1e-6)


def test_what_is_outside_touches_the_wall() -> None:
    """Pressed on a plane, the covered part keeps the catheter's radius from it, the bare part the wire's."""
    thick = SHAFT.model_copy(update={"radius_mm": 0.9})
    pair = ready(SHAFT, thick, 80.0, 40.0, field=plane(2.0))
    for _ in range(40):
        pair._work.force[: pair.free, 0] = 0.02 * pair.rod.node[: pair.free, SPAN]
        pair.drive(np.zeros((2, 2)))
    covered = pair.points[(pair.points[:, 2] > 25) & (pair.points[:, 2] < 35), 0]
    assert covered.max() == pytest.approx(2.0 - 0.9, abs=0.12)
    assert pair.points[:5, 0] == pytest.approx(2.0 - SHAFT.radius_mm, abs=0.12)


# Who is ahead


@pytest.mark.parametrize(
    ("speeds", "after"),
    [
        ((10.0, 10.0), (42.0, 40.0)),
        ((0.0, 30.0), (40.0, 44.0)),
        ((5.0, 30.0), (41.0, 44.0)),
        ((-30.0, 0.0), (34.0, 38.0)),
        ((-30.0, 20.0), (34.0, 42.0)),
        ((20.0, -30.0), (44.0, 32.0)),
    ],
)
def test_either_may_overtake(speeds: tuple[float, float], after: tuple[float, float]) -> None:
    """The wire at 40 mm and the catheter at 38, for 0.2 s."""
    pair = put(40.0, 38.0)
    pair.drive(np.array([[speeds[0], 0.0], [speeds[1], 0.0]]))
    assert pair.lengths == pytest.approx(after, abs=0.01)
    assert pair.duo[AHEAD] == np.argmax(after)


@pytest.mark.parametrize(
    ("speeds", "after"),
    [((10.0, 8.0), (42.0, 41.55)), ((5.0, 30.0), (40.0, 45.95)), ((-30.0, 20.0), (34.0, 39.95))],
)
def test_where_one_is_about_to_overtake_the_slower_one_stops(
    speeds: tuple[float, float], after: tuple[float, float]
) -> None:
    """stEVE's rule, with the catheter 0.05 mm behind the wire, for 0.2 s."""
    pair = put(40.0, 39.95)
    pair.drive(np.array([[speeds[0], 0.0], [speeds[1], 0.0]]))
    assert pair.lengths == pytest.approx(after, abs=0.01)


def put(wire_mm: float, catheter_mm: float) -> Coaxial:
    pair = Coaxial((SHAFT, SHAFT), OPEN, np.zeros(3), UP, Physics(0.2, substeps=100))
    pair.reset(10.0, 0.0)
    for device, length in ((WIRE, wire_mm), (CATHETER, catheter_mm)):
        for _ in range(5):
            commands = np.zeros((2, 2))
            commands[device, 0] = (length - pair.lengths[device]) / 0.2
            pair.drive(commands)
    return pair


def test_a_device_ends_where_it_ends() -> None:
    short = SHAFT.model_copy(update={"length_mm": 100.0, "taper_mm": 0.0})
    pair = coaxial(SHAFT, short, max_push_n=5.0, least_mm=20.0)
    pair.reset(21.0, 0.0)
    for count, after in ((35, [91.0, 100.0]), (15, [121.0, 100.0])):
        for _ in range(count):
            pair.drive(np.array([[15.0, 0.0], [30.0, 0.0]]))
        assert pair.lengths == pytest.approx(after, abs=0.01)
    for _ in range(60):
        pair.drive(np.array([[-35.0, 0.0], [-30.0, 0.0]]))
    assert pair.lengths == pytest.approx([20.0, 0.0], abs=0.01)


def test_driven_at_random_they_stay_in_the_vessel() -> None:
    turn = np.linspace(0, np.pi, 120)
    arch = np.stack([30 * (1 - np.cos(turn)), 8 * np.sin(2 * turn), 30 * np.sin(turn)], axis=1)
    field = grid.build(tube(arch, 4.0))
    pairs = [PAIR, (TOOLS["angled_standard"], CURVED.model_copy(update={"radius_mm": 0.8}))]
    for number, pair in enumerate(coaxial(*tools, field, friction=0.1, least_mm=23.0) for tools in pairs):
        rng, order, commands, unsettled = np.random.default_rng(number), set(), np.zeros((2, 2)), 0.0
        pair.reset(23.0, 0.0)
        for step in range(300):
            if step % 6 == 0:
                commands = rng.uniform((-30, -3), (32, 3), (2, 2))
                commands[:, 0] *= np.where(pair.lengths > 85.0, -1.0, 1.0) * np.sign(commands[:, 0])
            pair.drive(commands)
            order.add(int(pair.duo[AHEAD]))
            unsettled += pair.status[UNSETTLED]
            assert pair.status[DEPTH_MAX] < 0.4
            assert abs(pair.status[FORCE]) <= 1.5
        assert order == {WIRE, CATHETER}
        assert unsettled < 20
