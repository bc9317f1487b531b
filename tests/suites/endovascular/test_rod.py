"""The solver against beam theory and against the laws of mechanics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from rods import OPEN, Bench, field_of, heading, plane, slope, tube
from scipy.spatial.transform import Rotation

from proctor.suites.endovascular import grid, view
from proctor.suites.endovascular.rod import ANGLE, DEPTH_MAX, FORCE, RADIUS, REST, SPAN, TORQUE, UNSETTLED
from proctor.suites.endovascular.tools import Tool
from proctor.suites.endovascular.wire import Physics, Wire

STRAIGHT = Tool(shaft_bending=300, shaft_torsion=240, tip_bending=300, tip_torsion=240, curve_radius_mm=None)


def wire_in(field, tool: Tool = STRAIGHT, **physics) -> Wire:
    return Wire(tool, field, np.zeros(3), np.array([0.0, 0.0, 1.0]), Physics(1 / 7.5, **physics))


@pytest.mark.parametrize("bend", [5.0, 300.0, 900.0])
@pytest.mark.parametrize("free", [20, 60])
def test_a_cantilever_bends_as_a_beam(bend: float, free: int) -> None:
    bench = Bench(free=free, bend=bend)
    expected = 0.02 * bench.length
    bench.work.force[0, 0] = 3 * bend * expected / bench.length**3
    bench.settle(dt=5.0, steps=60)
    assert bench.state.x[0, 0] == pytest.approx(expected, rel=0.02)


def test_stiffness_does_not_depend_on_the_substep() -> None:
    deflections = []
    for dt in (0.001, 0.005, 0.02, 0.1):
        bench = Bench(free=30)
        bench.work.force[0, 1] = 0.05
        bench.settle(dt, steps=int(4 / dt))
        deflections.append(bench.state.x[0, 1])
    assert deflections == pytest.approx([deflections[0]] * 4, rel=1e-3)


def test_a_wall_pushes_back_as_a_beam_is_bent() -> None:
    bench = Bench(slope(-3.0, 60.0), free=40)
    bench.settle()
    normal = bench.state.contact[: bench.free, 3]
    aside = -bench.state.x[0, 0]
    assert np.flatnonzero(normal).tolist() == [0]
    assert aside > 3.0
    across, along = normal[0] * np.cos(np.deg2rad(60.0)), normal[0] * np.sin(np.deg2rad(60.0))
    k = np.sqrt(along / 300.0)
    column = across / along * (np.tan(k * bench.length) / k - bench.length)
    assert aside == pytest.approx(column, rel=0.05)


def test_a_torque_twists_the_shaft_as_theory_says() -> None:
    bench = Bench(free=60, twist=20.0)
    bench.rod.node[1:11, REST] = 2.0 / 12.0
    bench.settle()
    side = np.cross([0, 0, 1.0], bench.state.x[0] - bench.state.x[12])
    bench.work.force[0] = 0.002 * side / np.linalg.norm(side)
    bench.settle()
    arm = bench.state.x[0] - bench.state.x[30]
    torque = np.cross(arm, bench.work.force[0])[2]
    frames = Rotation.from_quat(np.roll(bench.state.q[28:34], -1, axis=-1))
    rates = (frames[:-1].inv() * frames[1:]).as_rotvec()[:, 2] / bench.rod.node[29:34, SPAN]
    assert rates.mean() == pytest.approx(torque / 20.0, rel=0.05)


def test_a_free_tip_turns_with_the_handle() -> None:
    wire = wire_in(OPEN, STRAIGHT.model_copy(update={"curve_radius_mm": 10.0}))
    wire.reset(60.0, 0.3)
    before = heading(wire)
    for _ in range(10):
        wire.step(0.0, 1.5)
    wire.step(0.0, 0.0)
    turned = wire.status[ANGLE] - 0.3
    assert turned == pytest.approx(2.0, rel=1e-6)
    angle = np.arctan2(np.cross(before, heading(wire))[2], before[:2] @ heading(wire)[:2])
    assert angle == pytest.approx(turned, abs=0.02)


@pytest.mark.parametrize("field", [OPEN, plane(2.0)], ids=["free", "wall"])
def test_energy_does_not_grow_without_actuation(field) -> None:
    bench = Bench(field, free=40)
    bench.work.force[0] = [0.3, 0.1, 0.0]
    bench.settle(steps=40)
    bench.work.force[:] = 0.0
    energies = [bench.energy()]
    for _ in range(300):
        bench.substep(0.002)
        energies.append(bench.energy())
    assert energies[0] > 0.1
    assert all(after <= before * (1 + 1e-6) + 1e-9 for before, after in itertools.pairwise(energies))
    assert energies[-1] < 0.2 * energies[0]


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.4])
def test_sliding_costs_the_coulomb_force(friction: float) -> None:
    wire = wire_in(plane(1.0), friction=friction)
    wire.reset(80.0, 0.0)
    wire._work.force[:40, 0] = 0.02
    for _ in range(20):
        wire.step(10.0, 0.0)
    normal = view.contact(wire.rod, wire.state, wire.free)[0]
    assert 0.6 < normal < 0.9
    assert wire.status[FORCE] == pytest.approx(friction * normal, rel=0.05, abs=0.003)


def test_spinning_costs_the_coulomb_torque() -> None:
    wire = wire_in(plane(1.0), friction=0.3)
    wire.reset(80.0, 0.0)
    wire._work.force[:40, 0] = 0.02
    for _ in range(12):
        wire.step(0.0, 3.0)
    normal = view.contact(wire.rod, wire.state, wire.free)[0]
    assert wire.status[TORQUE] == pytest.approx(0.3 * normal * wire.rod.node[0, RADIUS], rel=0.05)


def test_the_handle_yields_at_its_limit() -> None:
    ahead = plane(45.0)
    field = field_of(ahead.values.transpose(2, 1, 0).copy(), -200.0, 200.0)
    wire = wire_in(field, max_push_n=0.5)
    wire.reset(25.0, 0.0)
    forces = []
    for _ in range(40):
        wire.step(20.0, 0.0)
        forces.append(wire.status[FORCE])
    assert max(forces) == pytest.approx(0.5, rel=0.1)
    assert view.contact(wire.rod, wire.state, wire.free)[1] == pytest.approx(wire.status[FORCE], rel=0.1)
    assert wire.inserted_mm < 52.0


def test_the_same_commands_give_the_same_bytes() -> None:
    found = []
    for _ in range(2):
        wire = wire_in(plane(3.0))
        wire.reset(30.0, 0.1)
        for speed, spin in ((20.0, 1.0), (35.0, -2.0), (-10.0, 3.0)):
            wire.step(speed, spin)
        found.append(wire.points.tobytes() + np.array(wire.status[FORCE]).tobytes())
    assert found[0] == found[1]


def test_many_random_substeps_stay_finite_and_inside() -> None:
    bend = np.linspace(0, np.pi / 2, 40)
    points = np.stack([22 * (1 - np.cos(bend)), 5 * np.sin(2 * bend), 22 * np.sin(bend)], axis=1)
    field = grid.build(tube(points, 4.0))
    soft = {"shaft_bending": 120, "shaft_torsion": 100, "tip_bending": 8, "tip_torsion": 6, "taper_mm": 10}
    tool = Tool(length_mm=50, tip_length_mm=10, curve_length_mm=8, **soft)
    wire = wire_in(field, tool, spacing_mm=5.0, substeps=25)
    wire._law = wire._law._replace(dt=1 / 7.5 / 6)
    rng = np.random.default_rng(0)
    wire.reset(10.0, 0.0)
    worst, unsettled, steps = 0.0, 0, 100_000 // wire.physics.substeps
    for speed, spin in rng.uniform((-35, -3), (35, 3), (steps, 2)):
        wire.step(speed, spin)
        worst, unsettled = max(worst, wire.status[DEPTH_MAX]), unsettled + wire.status[UNSETTLED]
        assert abs(wire.status[FORCE]) <= 1.5
    assert worst < 0.4
    assert unsettled < 100
