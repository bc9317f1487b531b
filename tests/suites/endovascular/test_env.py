"""The suite as the engine sees it, and its scripted agents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rods import Route, heading

from proctor import ConfigError, config_from_dict, run_evaluation
from proctor.errors import InputError
from proctor.policies.protocol import SpaceInfo
from proctor.registry import METRICS
from proctor.suites.endovascular.agents import Navigator
from proctor.suites.endovascular.env import RECORDED_POINTS, RECORDED_SHARES, EndovascularEnv
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.rod import ANGLE, BEHIND
from proctor.suites.endovascular.spline import sample
from proctor.suites.endovascular.tools import TOOLS, Tool, find_tool
from proctor.suites.endovascular.wire import SimulationDiverged
from proctor.testing import EnvConformance


def make(**options: Any) -> EndovascularEnv:
    return EndovascularEnv(EndovascularOptions.model_validate(options))


class TestConformance(EnvConformance):
    steps = 12

    def make(self) -> EndovascularEnv:
        return make(privileged=True, anatomy={"target_branches": ["lcca", "rsa"]})


def push(env: EndovascularEnv, steps: int, speed: float = 30.0, spin: float = 0.0) -> Any:
    step = None
    for _ in range(steps):
        step = env.step(np.array([speed, spin], np.float32))
    assert step is not None
    return step


def test_signals_are_what_the_metrics_read() -> None:
    env = make()
    env.reset(0, 0)
    signals = push(env, 3).signals
    wanted = {name for metric in METRICS.names() for name in METRICS.load(metric)().needs if "wall_" in name}
    wanted |= {"tip_pos3d", "path_ratio", "trajectory_length", "avg_translation_speed"}
    assert wanted <= signals.keys()
    assert signals["wire_pos3d"].shape == (RECORDED_POINTS, 3)
    assert signals["wire_pos3d"][0] == pytest.approx(signals["tip_pos3d"], abs=1e-4)
    assert signals["inserted_length"] == pytest.approx(10 + 13 + 3 * 30 / 7.5, abs=0.01)
    assert signals["avg_translation_speed"] == pytest.approx(30.0, rel=1e-3)


def test_what_is_seen_and_recorded_is_what_the_wire_and_the_vessel_say() -> None:
    """The compiled view against plain formulas."""
    env = make(privileged=True, tool="angled_stiff", anatomy={"target_branches": ["rsa"]})
    env.reset(3, 0)
    start = env.wire.points[0].copy()
    before = push(env, 60, 28.0, 0.6)
    step = push(env, 1, 28.0, 0.6)
    wire, route, signals = env.wire, Route(env.tree, "rsa"), step.signals
    where = wire.rod.node[: wire.free + 1, BEHIND]
    nodes = wire.state.x[: wire.free + 1]

    def along(behind: Any) -> np.ndarray:
        return env.carm.track(np.stack([np.interp(behind, where, nodes[:, i]) for i in range(3)], axis=-1))

    tip = env.carm.track(wire.points[0])
    assert signals["tip_pos3d"] == pytest.approx(tip)
    assert signals["tip_vel3d"] == pytest.approx((tip - before.signals["tip_pos3d"]) * 7.5)
    assert signals["wire_pos3d"] == pytest.approx(along(wire.inserted_mm * RECORDED_SHARES), rel=1e-5)
    assert signals["path_ratio"] == pytest.approx(1 - route.remaining_mm(wire.points[0]) / route.remaining_mm(start))
    piece = np.round(where[:-1] / 2.0 + 1e-9).astype(int)
    forces, normal = (np.zeros((piece[-1] + 1, *part.shape[1:])) for part in np.split(wire.state.mean[:1], [3], axis=1))
    np.add.at(forces, piece, wire.state.mean[: wire.free, :3])
    np.add.at(normal, piece, wire.state.mean[: wire.free, 3:])
    assert np.count_nonzero(normal) > 1
    assert signals["wall_lcp_sum_abs"] == pytest.approx(normal.sum())
    assert signals["wall_lcp_max_abs"] == pytest.approx(normal.max())
    assert signals["wall_contact_count"] == np.count_nonzero(normal)
    assert signals["wall_wire_force_norm"] == pytest.approx(np.linalg.norm(forces))
    assert signals["wall_collision_force_norm"] == pytest.approx(np.linalg.norm(forces.sum(axis=0)))
    assert signals["wall_force_pos3d"] == pytest.approx(
        env.carm.track(wire.points[wire.state.mean[: wire.free, 3].argmax()])
    )
    seen = step.observation
    assert seen["tracking"] == pytest.approx(along(4.0 * np.arange(5))[:, ::2], rel=1e-5)
    assert seen["rotation"] == pytest.approx([np.sin(wire.status[ANGLE]), np.cos(wire.status[ANGLE])], rel=1e-5)
    assert seen["last_action"] == pytest.approx([28.0, 0.6])
    told = seen["privileged"]
    assert told["heading"] == pytest.approx(env.carm.track(heading(wire)), rel=1e-5)
    assert told["shaft_pos"] == pytest.approx(along([16.0])[0], rel=1e-5)
    assert told["ahead"] == pytest.approx(env.carm.track(route.ahead(wire.points[0], 14.0)), rel=1e-5)
    assert told["remaining"] == pytest.approx([route.remaining_mm(wire.points[0])], rel=1e-5)


def test_the_first_velocity_is_zero_and_the_next_a_difference() -> None:
    env = make()
    env.reset(0, 0)
    first, second = push(env, 1).signals, push(env, 1).signals
    assert not first["tip_vel3d"].any()
    assert second["tip_vel3d"] == pytest.approx((second["tip_pos3d"] - first["tip_pos3d"]) * 7.5)


def test_pushing_reaches_the_easy_branch_and_ends_the_episode() -> None:
    env = make(anatomy={"arch_type": "I", "seed": 1, "target_branches": ["lsa"]})
    env.reset(0, 0)
    for _ in range(200):
        step = push(env, 1, speed=21.0)
        if step.terminated:
            break
    assert step.success
    assert step.terminated
    assert step.reward > 0.9
    assert step.signals["path_ratio"] > 0.95
    away = np.linalg.norm(step.signals["tip_pos3d"] - env.constants()["target_pos3d"])
    assert away <= 5.0


@pytest.mark.parametrize(
    ("tool", "arch_type"), [*zip(TOOLS, ("I", "III", "II", "III", "I", "II", "I", "II", "III"), strict=True)]
)
def test_the_wire_stays_in_the_lumen_whatever_is_done(tool: str, arch_type: str) -> None:
    env = make(tool=tool, stop_at_tree_end=False, anatomy={"arch_type": arch_type})
    rng = np.random.default_rng(0)
    env.reset(0, 0)
    for _ in range(30):
        command = np.array([rng.uniform(-10, 35), rng.uniform(-3, 3)], np.float32)
        for _ in range(10):
            signals = env.step(command).signals
            assert signals["wall_depth_max_mm"] < min(0.4, TOOLS[tool].radius_mm)
            assert abs(signals["handle_force_n"]) < 1.51
        path = env.wire.points
        middles = np.concatenate([path, (path[1:] + path[:-1]) / 2])
        assert max(sample(env._field, *point)[0] for point in middles) < 0.0


def test_forces_settle_when_nothing_is_done_any_more() -> None:
    env = make(tool="angled_stiff", stop_at_tree_end=False)
    rng = np.random.default_rng(1)
    env.reset(0, 0)
    for _ in range(15):
        push(env, 10, rng.uniform(0, 35), rng.uniform(-3, 3))
    violent = push(env, 10, 35.0).signals
    push(env, 30, 0.0, 0.0)
    calm = [push(env, 1, 0.0, 0.0).signals["wall_lcp_sum_abs"] for _ in range(10)]
    assert violent["wall_lcp_sum_abs"] > 1.0
    assert max(calm) - min(calm) < 0.02 * max(calm)
    assert max(calm) <= violent["wall_lcp_sum_abs"] + 0.1


def test_a_jammed_wire_presses_as_a_belt_does_whatever_the_substep() -> None:
    """Along a wire under thrust the wall carries thrust times angle, less what the wire's own stiffness carries."""
    sums = []
    for substeps in (6, 24):
        env = make(tool="angled_stiff", stop_at_tree_end=False, substeps=substeps)
        env.reset(0, 0)
        signals = push(env, 130, 25.0, 0.2).signals
        edges = np.diff(env.wire.points, axis=0)
        edges /= np.linalg.norm(edges, axis=1)[:, None]
        angle = np.arccos(np.clip((edges[1:] * edges[:-1]).sum(axis=1), -1, 1)).sum()
        assert signals["handle_force_n"] == pytest.approx(1.5, rel=0.01)
        assert 0.6 < signals["wall_lcp_sum_abs"] / (1.5 * angle) < 1.0
        sums.append(signals["wall_lcp_sum_abs"])
    assert sums[0] == pytest.approx(sums[1], rel=0.05)


def test_at_the_end_of_a_vessel_pushing_does_nothing() -> None:
    env = make(anatomy={"arch_type": "I", "seed": 1, "target_branches": ["lcca"]})
    env.reset(0, 0)
    step = push(env, 110, speed=28.0)
    held = step.signals["inserted_length"]
    assert push(env, 5).signals["inserted_length"] == pytest.approx(held, abs=0.001)
    assert push(env, 2, speed=-20.0).signals["inserted_length"] < held - 4


def test_seeds_turn_the_wire_and_draw_the_target() -> None:
    env = make(anatomy={"target_branches": ["lcca", "lsa"]})
    found = set()
    for seed in range(8):
        env.reset(seed, 0)
        found.add((str(env.constants()["case"]), round(env.wire.status[ANGLE], 6)))
    assert {case for case, _ in found} == {"lcca", "lsa"}
    assert len(found) == 8


def test_a_diverged_simulation_is_an_error_not_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    env = make()
    env.reset(0, 0)
    env.wire.state.x[2, 0] = np.nan
    with pytest.raises(SimulationDiverged, match="not finite after"):
        push(env, 1)


def test_a_picture_shows_vessel_wire_and_target() -> None:
    env = make()
    env.reset(0, 0)
    before = env.render()
    push(env, 20)
    after = env.render()
    assert before.dtype == np.uint8
    assert before.shape == after.shape
    assert before.shape[2] == 3
    assert before.shape[0] % 16 == before.shape[1] % 16 == 0
    assert after.min() < 40
    assert (before != after).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"anatomy": {"target_branches": ["lca"]}}, "found lca; expected some of bct, rcca, rsa, lcca, lsa"),
        ({"anatomy": {"target_branches": []}}, "target_branches"),
        ({"anatomy": {"arch_type": "IV"}}, "arch_type"),
        ({"anatomy": {"friction": float("nan")}}, "friction"),
        ({"tool": "mikro"}, 'unknown tool "mikro"; did you mean "micro"'),
        ({"tool": {"shaft_bending": 1}}, "tip_bending"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    raw = {"agents": [{"policy": "random"}], "tasks": [{"suite": "endovascular", "options": options}]}
    with pytest.raises(ConfigError) as error:
        config_from_dict(raw)
    assert message in str(error.value)


def test_a_tool_must_fit_its_parts() -> None:
    with pytest.raises(ValueError, match="must be shorter than length_mm"):
        Tool(shaft_bending=1, shaft_torsion=1, tip_bending=1, tip_torsion=1, length_mm=60)
    assert find_tool(TOOLS["micro"]) is TOOLS["micro"]


def test_the_navigator_says_what_it_needs() -> None:
    env = make()
    with pytest.raises(InputError, match="set privileged: true"):
        Navigator(SpaceInfo({"t": env.observation_space}, {"t": env.action_space}))


def test_serial_equals_parallel_and_agents_differ(tmp_path) -> None:
    anatomy = {"arch_type": "I", "seed": 1, "target_branches": ["lsa"], "image_frequency_hz": 7.5}
    raw = {
        "agents": [
            {"name": "push", "policy": "endovascular/push_only"},
            {"name": "nav", "policy": "endovascular/navigator"},
        ],
        "tasks": [{"suite": "endovascular", "options": {"anatomy": anatomy, "privileged": True}}],
        "n_trials": 2,
        "max_episode_steps": 40,
    }
    digests = []
    for workers in ("inline", 2):
        run = run_evaluation(config_from_dict({**raw, "workers": workers, "output_root": str(tmp_path)}))
        results = {result.trial.key: result for result in run.results()}
        assert all(result.outcome.scored for result in results.values()), [r.error for r in results.values()]
        digests.append({key: result.digest for key, result in results.items()})
    assert digests[0] == digests[1]
    assert len(set(digests[0].values())) == 4
