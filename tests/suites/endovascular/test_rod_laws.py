"""The rod against closed solutions: elastica, buckling, capstan, symmetry, the balance of energy, convergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rods import OPEN, Bench, energy, plane, tube
from scipy.integrate import solve_bvp

from proctor.suites.endovascular import grid, view
from proctor.suites.endovascular.env import EndovascularEnv
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.rod import FORCE
from proctor.suites.endovascular.tools import TOOLS, Tool
from proctor.suites.endovascular.wire import Physics, Wire

UP = np.array([0.0, 0.0, 1.0])
LIMP = Tool(shaft_bending=0.5, shaft_torsion=0.5, tip_bending=0.5, tip_torsion=0.5, curve_radius_mm=None)
SHAFT = Tool(shaft_bending=300, shaft_torsion=240, tip_bending=300, tip_torsion=240, curve_radius_mm=None)


def wire_in(field: Any, tool: Tool, **physics: Any) -> Wire:
    return Wire(tool, field, np.zeros(3), UP, Physics(1 / 7.5, **physics))


def quarter_bend(radius: float, straight: float) -> np.ndarray:
    """A centreline (n, 3): up, round a quarter of a circle towards x, and on."""
    turn = np.linspace(0, np.pi / 2, 60)
    bend = np.stack([radius * (1 - np.cos(turn)), 0 * turn, straight + radius * np.sin(turn)], axis=1)
    on = bend[-1] + np.outer(np.linspace(1, 60, 30), [1.0, 0, 0])
    return np.vstack([np.outer(np.linspace(0, straight, 20)[:-1], UP), bend, on])


# Closed solutions


@pytest.mark.parametrize("fine", [0, 16], ids=["even", "finer at the tip"])
@pytest.mark.parametrize(("load", "across", "along"), [(1, 0.3017, 0.0564), (2, 0.4935, 0.1606), (10, 0.8106, 0.5550)])
def test_a_large_load_bends_a_cantilever_as_the_elastica(load: float, across: float, along: float, fine: int) -> None:
    """Tip deflections (shares of the length) of Bisshopp and Drucker's solution, for loads P L^2 / EI across."""
    bench = Bench(free=50, fine=fine)
    bench.work.force[0, 0] = load * 300.0 / bench.length**2
    bench.settle(dt=1.0, steps=80)
    found = np.array([bench.state.x[0, 0], -bench.state.x[0, 2]]) / bench.length
    assert found == pytest.approx([across, along], abs=0.003)


def test_the_whole_shape_is_the_elasticas() -> None:
    bench = Bench(free=50)
    pull = 4.0 * 300.0 / bench.length**2
    bench.work.force[0, 0] = pull
    bench.settle(dt=1.0, steps=80)
    s = np.linspace(0, bench.length, 200)
    angle = solve_bvp(
        lambda _, y: np.stack([y[1], -pull / 300.0 * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        np.stack([s / bench.length, 1 / bench.length * np.ones_like(s)]),
        tol=1e-8,
    ).sol(s)[0]
    x = np.r_[0, np.cumsum(0.5 * (np.sin(angle[1:]) + np.sin(angle[:-1])) * np.diff(s))]
    nodes = bench.length - bench.rod.node[: bench.free, 0]
    assert bench.state.x[: bench.free, 0] == pytest.approx(np.interp(nodes, s, x), abs=0.002 * bench.length)


@pytest.mark.parametrize("fine", [0, 16], ids=["even", "finer at the tip"])
@pytest.mark.parametrize(("load", "across"), [(0.97, 0.0), (1.063, 0.422), (1.293, 0.719)])
def test_a_column_buckles_at_eulers_load(load: float, across: float, fine: int) -> None:
    """Below pi^2 EI / (4 L^2) a nudge is forgotten; above it the tip goes where Timoshenko's table says."""
    bench = Bench(free=50, fine=fine)
    bench.work.force[0, 2] = -load * np.pi**2 * 300.0 / (4 * bench.length**2)
    bench.work.force[0, 0] = 1e-3
    bench.settle(dt=1.0, steps=5)
    bench.work.force[0, 0] = 0.0
    bench.settle(dt=5.0, steps=300)
    assert bench.state.x[0, 0] / bench.length == pytest.approx(across, abs=0.012)


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.3])
def test_pulled_round_a_bend_the_force_grows_as_the_capstan_says(friction: float) -> None:
    """Handle over tip is exp(friction times angle), here nearly a quarter turn; the wire hardly resists bending."""
    wire = wire_in(grid.build(tube(quarter_bend(30.0, 20.0), 3.0)), LIMP, friction=friction, max_push_n=8.0)
    wire.reset(10.0, 0.0)
    while wire.inserted_mm < 100.0:
        wire._work.force[0] = [0.02, 0.0, 0.02]
        wire.step(20.0, 0.0)
    wire._work.force[0] = [2.0, 0.0, 0.0]
    for _ in range(40):
        wire.step(-3.0, 0.0)
    first = wire.points[wire.free - 4] - wire.points[wire.free - 3]
    angle = np.arccos(first[0] / np.linalg.norm(first))
    assert 1.4 < angle < np.pi / 2
    assert -wire.status[FORCE] / 2.0 == pytest.approx(np.exp(friction * angle), rel=0.02)


def test_a_mirrored_wire_does_the_mirrored_thing() -> None:
    """In a vessel that is its own mirror image, a wire turned the other way goes where the mirror shows."""
    turn = np.linspace(0, np.pi / 2, 60)
    bend = np.stack([0 * turn, 40 * (1 - np.cos(turn)), 40 * np.sin(turn)], axis=1)
    field = grid.build(tube(bend, 6.0))
    found = []
    for sign in (1.0, -1.0):
        wire = wire_in(field, TOOLS["angled_standard"], friction=0.05)
        wire.reset(20.0, 0.7 * sign)
        for step in range(25):
            wire.step(14.0, sign * (1.5 if step % 10 < 6 else -0.8))
        assert view.contact(wire.rod, wire.state, wire.free)[0] > 0.005
        found.append(wire.points.copy())
    assert np.abs(found[0][:, 0]).max() > 0.3
    np.testing.assert_allclose(found[0], found[1] * [-1, 1, 1], atol=1e-6)


@pytest.mark.parametrize("friction", [0.0, 0.2])
def test_the_handles_work_is_stored_or_rubbed_off(friction: float) -> None:
    field = grid.build(tube(quarter_bend(60.0, 10.0), 4.0))
    wire = wire_in(field, SHAFT, friction=friction, max_push_n=5.0)
    wire.reset(10.0, 0.0)
    work, rubbed, before = 0.0, 0.0, wire.inserted_mm
    while wire.inserted_mm < 90.0:
        push = wire.status[FORCE]
        wire.step(4.0, 0.0)
        moved, before = wire.inserted_mm - before, wire.inserted_mm
        work += 0.5 * (push + wire.status[FORCE]) * moved
        rubbed += friction * view.contact(wire.rod, wire.state, wire.free)[0] * moved
    stored = energy(wire.rod, wire.state, wire._work, field, wire.free)
    assert stored > 1.0
    assert rubbed >= (1.0 if friction else 0.0)
    assert work == pytest.approx(stored + rubbed, rel=0.04)


# Convergence


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if tool.bends is None])
@pytest.mark.parametrize("spacing", [0.5, 1.0, 2.0])
def test_a_free_tip_has_the_shape_that_its_tool_says(name: str, spacing: float) -> None:
    """An arc of the tool's radius and length, between a straight shaft and a straight end; at every spacing."""
    tool = TOOLS[name]
    wire = wire_in(OPEN, tool, spacing_mm=spacing, tip_spacing_mm=spacing)
    wire.reset(60.0, 0.0)
    for _ in range(60 if tool.shaft_bending > 5 else 500):
        wire.step(0.0, 0.0)
    radius, end = tool.curve_radius_mm or 0.0, tool.end_mm
    bend = tool.curve_length_mm / radius if radius else 0.0
    aside = radius * (1 - np.cos(bend)) + end * np.sin(bend)
    on = 60.0 - tool.curved_mm + radius * np.sin(bend) + end * np.cos(bend)
    tip = wire.points[0]
    assert [np.hypot(tip[0], tip[1]), tip[2]] == pytest.approx([aside, on], abs=0.03 * spacing**2 + 0.005)


@pytest.mark.parametrize("inserted", [9.0, 10.0, 10.4, 11.0, 11.9])
def test_a_curve_half_out_of_the_sheath_is_half_a_curve(inserted: float) -> None:
    """What is still in the sheath is straight and has no share in the shape, wherever the nodes are."""
    wire = wire_in(OPEN, TOOLS["j_soft"].model_copy(update={"end_mm": 0.0}))
    wire.reset(inserted, 0.0)
    for _ in range(60):
        wire.step(0.0, 0.0)
    tip, bend = wire.points[0], inserted / 6.0
    assert [np.hypot(tip[0], tip[1]), tip[2]] == pytest.approx([6 - 6 * np.cos(bend), 6 * np.sin(bend)], abs=0.15)


def driven(tool: str, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Tip positions (n, 3) and largest forces under some commands, the same at every spacing."""
    env = EndovascularEnv(EndovascularOptions.model_validate({"tool": tool, "anatomy": {"seed": 1}, **options}))
    rng, steps, command = np.random.default_rng(3), [], np.zeros(2, np.float32)
    env.reset(3, 0)
    for k in range(45):
        if k % 8 == 0:
            command = np.array([rng.uniform(5, 30), rng.uniform(-2, 2)], np.float32)
        steps.append(env.step(command).signals)
    forces = [[step["wall_lcp_max_abs"], step["wall_wire_force_norm"]] for step in steps]
    return np.array([step["tip_pos3d"] for step in steps]), np.max(forces, axis=0)


@pytest.mark.parametrize(("tool", "bound_mm"), [("angled_standard", 0.03), ("j_soft", 0.03), ("micro", 0.15)])
def test_tip_and_forces_do_not_depend_on_the_spacing(tool: str, bound_mm: float) -> None:
    tips, forces = driven(tool)
    finest, pressed = driven(tool, spacing_mm=0.5, tip_spacing_mm=0.5)
    assert np.median(np.linalg.norm(tips - finest, axis=1)) < bound_mm
    assert forces == pytest.approx(pressed, rel=0.1, abs=0.002)


def test_a_finer_tip_is_nearer_to_the_finest() -> None:
    tips = [driven("micro", tip_spacing_mm=spacing)[0] for spacing in (2.0, 1.0, 0.5)]
    errors = [np.median(np.linalg.norm(found - tips[2], axis=1)) for found in tips[:2]]
    assert errors[1] < 0.5 * errors[0]


def test_forces_are_told_of_pieces_of_the_wire_not_of_nodes() -> None:
    """A wire that is pressed evenly on a plane presses each piece alike, however it is divided."""
    found = []
    for spacing in (0.5, 1.0, 2.0):
        wire = wire_in(plane(1.0), SHAFT, spacing_mm=spacing, tip_spacing_mm=spacing)
        wire.reset(80.0, 0.0)
        wire._work.force[: wire.free, 0] = 0.02 * wire.rod.node[: wire.free, 2]
        for _ in range(20):
            wire.step(0.0, 0.0)
        found.append(view.contact(wire.rod, wire.state, wire.free))
    for other in found[:2]:
        assert [*other[:2], *other[3:5]] == pytest.approx([*found[2][:2], *found[2][3:5]], rel=0.15)
        assert other[5] == pytest.approx(found[2][5], abs=2)


@pytest.mark.parametrize("tool", ["j_soft", "angled_standard", "micro"])
def test_a_trial_does_not_begin_with_a_blow(tool: str) -> None:
    """The curve is in the vessel before the trial begins, so that unfolding is no force of the agent's."""
    env = EndovascularEnv(EndovascularOptions.model_validate({"tool": tool, "anatomy": {"seed": 1}}))
    for seed in range(3):
        env.reset(seed, 0)
        steps = [env.step(np.array([20.0, 0.0], np.float32)).signals for _ in range(8)]
        assert max(step["wall_wire_force_norm"] for step in steps) < 0.01
