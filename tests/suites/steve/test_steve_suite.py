"""The adapter to stEVE, against a double of the interface that it uses: the seed decides everything, forces are what
the scene says, and a simulation that diverges is no score."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import steve_double
from examining import by_key, digests, timeless

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.config import ConfigError
from proctor.registry import import_object
from proctor.suites.steve.build import import_eve
from proctor.suites.steve.env import SteveEnv, evenly
from proctor.suites.steve.options import SteveOptions
from proctor.suites.steve.suite import SteveSuite
from proctor.testing import EnvConformance

FORCES = ("wall_lcp_sum_abs", "wall_lcp_max_abs", "wall_wire_force_norm", "wall_collision_force_norm")
PUSH = np.array([0.8, 0.2], np.float32)


@pytest.fixture
def double(monkeypatch):
    return steve_double.install(monkeypatch)


def make(**options: Any) -> SteveEnv:
    return SteveEnv(import_eve(), SteveOptions.model_validate(options))


def episode(env: SteveEnv, seed: int = 5, steps: int = 6) -> dict[str, np.ndarray]:
    env.reset(seed, 0)
    rows = [env.step(PUSH).signals for _ in range(steps)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def benchmark(folder: Path, **keys: Any) -> dict[str, Any]:
    """The form of a benchmark, with agents that need no checkpoint."""
    agents = [
        {"name": "drunk", "tool": "j_soft", "policy": "random"},
        {"name": "still", "tool": "micro", "policy": "zero"},
    ]
    return {
        "name": "arch", "agents": agents, "n_trials": 3, "base_seed": 7, "max_episode_steps": 12,
        "use_non_mp_sim": True, "output_root": str(folder), "workers": "inline",
        "anatomy": {"type": "aortic_arch", "arch_type": "II", "target_branches": ["lcca", "lsa"]}, **keys,
    }  # fmt: skip


def run(folder: Path, **keys: Any) -> Run:
    return run_evaluation(config_from_dict(benchmark(folder, **keys)))


# Laws


class TestContract(EnvConformance):
    """Each trial gets an environment of its own."""

    reusable = False

    @pytest.fixture(autouse=True)
    def _double(self, double):
        """The laws run on the double."""

    def make(self) -> SteveEnv:
        return make()


@pytest.mark.parametrize("mp", [False, True])
def test_the_seed_decides_the_episode(double, mp):
    first, again, other = (episode(make(use_non_mp_sim=not mp), seed) for seed in (5, 5, 6))
    assert all(np.array_equal(first[name], again[name], equal_nan=True) for name in first)
    assert not np.array_equal(first["rotation"], other["rotation"])
    assert double.mp == [mp] * 3


def test_serial_equals_parallel(double, tmp_path):
    serial, parallel = (run(tmp_path / name, num_parallel=n) for name, n in (("one", 1), ("five", 5)))
    assert digests(serial) == digests(parallel)
    assert timeless(serial) == timeless(parallel)


def test_processes_change_nothing(tmp_path):
    task = {"suite": f"{steve_double.__file__}:DoubleSuite", "options": {"anatomy": {"target_branches": ["lsa"]}}}
    agents = [
        {"name": "drunk", "task_options": {"tool": "j_soft"}, "policy": "random"},
        {"name": "still", "task_options": {"tool": "micro"}, "policy": "zero"},
    ]
    keys = {"agents": agents, "tasks": [task], "n_trials": 3, "max_episode_steps": 12, "num_parallel": 4}
    runs = [
        run_evaluation(config_from_dict({**keys, "workers": workers, "output_root": str(tmp_path / str(workers))}))
        for workers in ("inline", 2)
    ]
    assert digests(runs[0]) == digests(runs[1])
    assert {r.outcome.value for r in by_key(runs[1]).values()} == {"truncated"}


def test_every_trial_has_a_simulation_of_its_own_which_is_closed(double, tmp_path):
    run(tmp_path)
    assert double.made == double.closed == 6


def test_a_checkpoint_of_steves_training_moves_over_as_it_is(double, tmp_path):
    """The actor's weights out of the checkpoint; observation order and action range in the agent's options."""
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    (tmp_path / "nets.py").write_text(
        "from torch import nn\ndef actor():\n    return nn.Sequential(nn.Linear(16, 2), nn.Tanh())\n"
    )
    torch.manual_seed(0)
    actor = import_object(f"{tmp_path}/nets.py:actor")()
    torch.save({"steps": {"update": 9}, "network_state_dicts": {"policy": actor.state_dict()}}, tmp_path / "best.everl")
    options = {
        "module": "nets.py:actor",
        "state_dict_key": "network_state_dicts.policy",
        "observation_order": ["tracking", "target", "last_action"],
        "action_scale": {"to_space": True},
    }
    agent = {"name": "actor", "tool": "standard_j", "checkpoint": "best.everl", "options": options}
    form = benchmark(tmp_path, agents=[agent], n_trials=1, record={"observations": True})
    found = run_evaluation(config_from_dict(form, tmp_path))
    (result,) = found.results()
    with np.load(found.path / result.npz) as arrays:
        seen = [arrays[f"observations.{key}"][0].ravel() for key in options["observation_order"]]
        expected = actor(torch.from_numpy(np.concatenate(seen))).detach().numpy()
        np.testing.assert_allclose(arrays["actions"][0], expected, rtol=1e-5)


# What is built


def test_anatomy_and_tool_reach_the_simulation(double):
    make(anatomy={"friction": 0.3}, tool="angled_stiff", max_translation_mm_s=20).reset(1, 0)
    device = double.devices[-1]
    assert double.frictions[-1] == 0.3
    assert device.velocity_limit == (20, 3.14)
    inertia = math.pi / 4 * 0.445**4
    assert device.young_modulus_straight * inertia == pytest.approx(900)
    assert device.young_modulus_tip * inertia == pytest.approx(25)
    assert device.poisson_ratio == pytest.approx(0.25)
    assert device.tip_radius * device.tip_angle == pytest.approx(12)


def test_kinds_of_tools(double, tmp_path):
    (tmp_path / "wires.py").write_text(
        "import eve\ndef bent():\n    return eve.intervention.device.JShaped(length=333)\n"
    )
    tools = ["straight", "standard_j", f"{tmp_path}/wires.py:bent", {"shaft_bending": 9.0, "shaft_torsion": 9.0,
             "tip_bending": 1.0, "tip_torsion": 1.0, "length_mm": 222}]  # fmt: skip
    for tool in tools:
        make(tool=tool).reset(0, 0)
    straight, standard, imported, described = double.devices
    assert isinstance(straight, steve_double.Straight)
    assert standard.young_modulus_straight == 80e3
    assert (imported.length, described.length) == (333, 222)


def test_observations_come_in_the_order_of_steves_agents(double):
    env = make(tracking_points=4, tracking_memory=3)
    observation = env.reset(1, 0)
    assert list(env.observation_space.spaces) == list(observation) == ["tracking", "target", "last_action"]
    assert [value.shape for value in observation.values()] == [(3, 4, 2), (2,), (1, 2)]
    np.testing.assert_array_equal(env.step(PUSH).observation["last_action"], [PUSH])


def test_actions_are_shares_of_the_velocity_limit_or_velocities(double):
    lengths = []
    for options, action in (({}, [0.5, 0.0]), ({"normalize_action": False}, [17.5, 0.0])):
        env = make(**options)
        env.reset(1, 0)
        lengths.append(env.step(np.array(action, np.float32)).signals["inserted_length"])
    assert lengths == pytest.approx([17.5 / 7.5] * 2)


def test_an_arch_of_seed_0_is_an_arch_like_any_other(double):
    def vessel(seed: int) -> np.ndarray:
        env = make(anatomy={"seed": seed})
        env.reset(3, 0)
        return env.constants()["vessel_pos3d"]

    same, again, other = vessel(0), vessel(0), vessel(1)
    np.testing.assert_array_equal(same, again)
    assert same.shape != other.shape or not np.array_equal(same, other)


def test_signals_and_constants_of_a_record(double, tmp_path):
    results = by_key(run(tmp_path)).values()
    for result in results:
        with np.load(next(tmp_path.glob("*")) / result.npz) as arrays:
            position, velocity, dt = arrays["tip_pos3d"], arrays["tip_vel3d"], float(arrays["action_dt_s"])
            assert dt == pytest.approx(1 / 7.5)
            np.testing.assert_array_equal(velocity[0], 0)
            np.testing.assert_allclose(velocity[1:], np.diff(position, axis=0) / dt)
            assert arrays["wire_pos3d"].shape == (12, 32, 3)
            assert str(arrays["simulator"]) == "sofa"
            assert str(arrays["tool"]) == {"drunk": "j_soft", "still": "micro"}[result.trial.agent]
            assert str(arrays["case"]) in ("lcca", "lsa")
            assert len(arrays["vessel_pos3d"]) == len(arrays["vessel_radius"]) == len(arrays["vessel_branch"])
        assert (
            Path(result.npz).name == f"{result.trial.agent}_trial{result.trial.index:04d}_seed{result.trial.seed}.npz"
        )


def test_path_ratio_and_lengths_by_hand(double):
    env = make()
    env.reset(4, 0)
    start = env._pathfinder.path_length
    before = env._tracking()[0]
    signals = env.step(PUSH).signals
    assert signals["path_ratio"] == pytest.approx(1 - env._pathfinder.path_length / start)
    assert signals["trajectory_length"] == pytest.approx(np.linalg.norm(signals["tip_pos3d"] - before))
    assert signals["avg_translation_speed"] == pytest.approx(0.8 * 35)


def test_points_lie_evenly_along_a_line():
    corner = np.array([[0.0, 0, 0], [3, 0, 0], [3, 1, 0]])
    np.testing.assert_allclose(evenly(corner, 5), [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0], [3, 1, 0]])


# eve_bench's tasks, and what they are made of


@pytest.mark.parametrize(("name", "devices"), [("BasicWireNav", 1), ("ArchVariety", 1), ("DualDeviceNav", 2)])
def test_eve_benchs_tasks_by_name(double, name, devices):
    env = make(benchmark=name, observed=["rotation", "tracking", "last_action", "inserted_lengths"])
    observation = env.reset(1, 0)
    assert list(observation) == ["rotation", "tracking", "last_action", "inserted_lengths"]
    assert env.action_space.shape == (2 * devices,)
    np.testing.assert_allclose(np.linalg.norm(observation["rotation"], axis=-1), 1, rtol=1e-6)
    angle = env._simulation.rotations[0]
    np.testing.assert_allclose(observation["rotation"][0], [np.sin(angle), np.cos(angle)], rtol=1e-5)
    step = env.step(np.tile(PUSH, devices))
    assert ("inserted_lengths" in step.signals) == (devices > 1)
    assert str(env.constants()["tool"]) == "+".join(f"wire{i}" for i in range(devices))
    assert SteveSuite().task_name(env.options) == name


@pytest.mark.parametrize("options", [{}, {"benchmark": "DualDeviceNav"}], ids=["one device", "two"])
def test_pictures_show_the_devices_where_they_are_tracked(double, options):
    """stEVE's fluoroscopy gives one pixel; the picture is drawn as on the embedded simulator."""
    env = make(observed=["tracking", "image"], image_px=80, **options)
    first = env.reset(1, 0)["image"]
    assert (first.shape, first.dtype) == ((80, 80), np.uint8)
    for _ in range(8):
        seen = env.step(np.tile(PUSH, env.action_space.shape[0] // 2)).observation
    assert env.observation_space.contains(seen)
    lines = np.concatenate([env._track(b.coordinates)[:, ::2] for b in env._intervention.vessel_tree.branches])
    low, high = lines.min(axis=0), lines.max(axis=0)
    low, high = low - 0.1 * abs(low), high + 0.1 * abs(high)
    scale = (80 / (high - low)).min()
    offset = 0.5 * (80 - (high - low) * scale)
    column, row = np.rint((env._tracking()[0, ::2] - low) * scale + offset).astype(int)
    assert seen["image"][80 - row, column] == 40
    assert (seen["image"] == 40).sum() > (first == 40).sum()


def test_a_checkpoints_environment_has_no_picture_of_ours(double):
    task = {"suite": "steve", "options": {"environment_file": "x.everl", "observed": ["image"]}}
    with pytest.raises(ConfigError, match="brings its own observation; leave image out of observed"):
        config_from_dict({"agents": [{"policy": "zero"}], "tasks": [task]})


def test_a_benchmark_brings_its_anatomy_and_devices(double, tmp_path):
    task = {"suite": "steve", "options": {"benchmark": "ArchVariety", "anatomy": {"seed": 4}}}
    with pytest.raises(ConfigError, match="found anatomy beside benchmark, which brings its own; leave it out"):
        config_from_dict({"agents": [{"policy": "zero"}], "tasks": [task]})
    again = {"agents": [{"policy": "zero"}], "tasks": [{"suite": "steve", "options": {"benchmark": "ArchVariety"}}]}
    config = config_from_dict(again)
    assert config_from_dict(json.loads(config.model_dump_json())) == config


def test_a_benchmark_that_is_not_installed_is_named_with_the_way_out(double, monkeypatch):
    monkeypatch.setitem(sys.modules, "eve_bench", None)
    with pytest.raises(InputError, match=r"ArchVariety is of stEVE_bench, which cannot be imported.*install it"):
        make(benchmark="ArchVariety")


def test_each_trial_may_have_an_arch_of_its_own(double):
    shapes = []
    for seed in (5, 5, 6):
        env = make(anatomy={"vary": True})
        env.reset(seed, 0)
        shapes.append(env.constants()["vessel_pos3d"].tobytes())
    assert shapes[0] == shapes[1] != shapes[2]


def test_targets_on_the_centreline_and_points_on_the_way(double):
    env = make(anatomy={"target_mode": "centerline", "target_branches": ["lsa"], "interim_target_mm": 15.0})
    shown = env.reset(3, 0)["target"]
    target = env.constants()["target_pos3d"]
    line = next(branch.coordinates for branch in env._intervention.vessel_tree.branches if branch.name == "lsa")
    assert min(np.linalg.norm(env._track(line) - target, axis=1)) < 1e-3
    assert np.linalg.norm(300 * shown - target[[0, 2]]) > 5
    np.testing.assert_allclose(300 * shown, env._env.interim_target.coordinates3d[[0, 2]], rtol=1e-5)


# Forces


def test_forces_are_what_the_scene_says(double):
    found = episode(make(tool="standard_j"))
    touched = found["inserted_length"] > 5
    assert 0 < touched.sum() < len(touched)
    force = 17e3 * 1e-6 * found["inserted_length"]
    np.testing.assert_allclose(found["wall_lcp_sum_abs"][touched], 3 * force[touched])
    np.testing.assert_allclose(found["wall_lcp_max_abs"][touched], 2 * force[touched])
    np.testing.assert_allclose(found["wall_wire_force_norm"], np.sqrt(18) * force * touched)
    np.testing.assert_allclose(found["wall_collision_force_norm"], 3 * force * touched)
    assert np.isnan(found["wall_lcp_max_abs"][~touched]).all()


@pytest.mark.parametrize(
    ("behaviour", "missing"),
    [
        ({"without": {"LCP"}}, FORCES[:2]),
        ({"without": {"computeConstraintForces", "constraintForces"}}, FORCES[:2]),
        ({"without": {"DOFs"}}, FORCES[2:3]),
        ({"without": {"CollisionModel"}}, FORCES[3:]),
        ({"without": {"LCP", "InstrumentCombined"}}, FORCES),
        ({"contact": False}, FORCES[:2]),
        ({"nan_forces": True}, FORCES),
    ],
)
def test_what_the_scene_does_not_have_is_not_measured(monkeypatch, behaviour, missing):
    if "without" in behaviour:
        behaviour = {"without": frozenset(behaviour["without"])}
    steve_double.install(monkeypatch, **behaviour)
    env = make()
    env.reset(1, 0)
    signals = [env.step(PUSH).signals for _ in range(4)][-1]
    assert {name for name in FORCES if math.isnan(signals[name])} == set(missing)


def test_without_forces_safety_is_unscored_and_the_report_says_so(monkeypatch, tmp_path):
    steve_double.install(monkeypatch, without=frozenset({"LCP", "InstrumentCombined"}))
    found = run(tmp_path)
    report = json.loads((found.path / "report.json").read_text())
    assert all(row["score_safety"] == "" and row["score"] != "" for row in timeless(found))
    assert any("no force was measured" in finding["text"] for finding in report["findings"])
    assert (found.path / "report.md").read_text().splitlines()[2].startswith("**Simulated by SOFA through stEVE.")


def test_what_is_not_measured_can_count_as_safe(monkeypatch, tmp_path):
    steve_double.install(monkeypatch, without=frozenset({"LCP", "InstrumentCombined"}))
    found = run(tmp_path, n_trials=1, scoring={"missing_force": "perfect", "jerk_scale_mm_s3": 3.0})
    assert all(float(row["score_safety"]) == 1 for row in timeless(found))
    assert "no force was measured" not in (found.path / "report.md").read_text()


def test_with_forces_the_report_says_nothing_of_them(double, tmp_path):
    report = json.loads((run(tmp_path).path / "report.json").read_text())
    assert not any("force" in finding["text"] for finding in report["findings"] if "drunk" in finding["text"])


def test_in_a_process_of_its_own_sofa_has_no_forces(double):
    found = episode(make(use_non_mp_sim=False))
    assert all(np.isnan(found[name]).all() for name in FORCES)


# Trouble


def test_a_simulation_that_diverges_is_an_environment_error(monkeypatch, tmp_path):
    steve_double.install(monkeypatch, diverges_at=5)
    results = by_key(run(tmp_path, n_trials=1, limits={"retries": 1})).values()
    assert {r.outcome.value for r in results} == {"env_error"}
    assert all(r.error is not None and "diverged" in r.error and r.attempts == 2 for r in results)


@pytest.mark.parametrize(
    ("anatomy", "message"),
    [
        ({"arch_type": "III"}, 'stEVE generates no arch of type "III"; expected one of I, II, IV'),
        ({"target_branches": ("lcca", "co")}, "an arch of type I has no branch co; it has aorta, bct, lcca, lsa"),
    ],
)
def test_an_anatomy_that_steve_does_not_have(double, anatomy, message):
    with pytest.raises(InputError, match=message):
        make(anatomy=anatomy)


def test_a_tool_that_is_none(double, tmp_path):
    (tmp_path / "wires.py").write_text("def nothing():\n    return 3\n")
    with pytest.raises(InputError, match=r"gave a int; expected an eve\.intervention\.device\.Device"):
        make(tool=f"{tmp_path}/wires.py:nothing")
    with pytest.raises(ConfigError) as caught:
        config_from_dict(benchmark(tmp_path, agents=[{"policy": "zero", "tool": "j_sof"}]))
    assert str(caught.value.problems[0]).startswith(
        'config: agents[0].tool: unknown tool "j_sof"; did you mean "j_soft"?'
    )
    with pytest.raises(ConfigError, match=r"agents\[0\]\.tool: the tool's shaft_torsion: field required"):
        config_from_dict(benchmark(tmp_path, agents=[{"policy": "zero", "tool": {"shaft_bending": 3}}]))


@pytest.mark.parametrize("package", ["Sofa", "eve"])
def test_a_missing_package_is_named_with_the_way_out(double, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f'cannot import "{package}".*SofaPython3.*or use simulator: embedded'):
        import_eve()


def test_frames_are_refused_before_anything_runs(double):
    from proctor.suites import find_suite

    with pytest.raises(InputError, match="draws no frames"):
        find_suite("steve").make(SteveOptions(), render=True, worlds=1)
