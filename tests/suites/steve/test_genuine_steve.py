"""The adapter on stEVE's own classes; only SOFA is a double.

`PROCTOR_STEVE` is a checkout of stEVE, `PROCTOR_STEVE_BENCH` one of stEVE_bench, `PROCTOR_STEVE_RL` one of stEVE_rl.
stEVE wants pyvista (its VMR vessels one before 0.46), meshio, scikit-image, matplotlib and requests.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sofa_double

from proctor import config_from_dict, run_evaluation
from proctor.suites.steve.build import build, import_eve
from proctor.suites.steve.env import SteveEnv
from proctor.suites.steve.options import SteveOptions

STEVE = os.environ.get("PROCTOR_STEVE")
pytestmark = [
    pytest.mark.skipif(STEVE is None, reason="PROCTOR_STEVE names no checkout of stEVE"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore:.*flip_normals"),
]
PUSH = np.array([0.8, 0.2], np.float32)


@pytest.fixture(autouse=True)
def genuine(monkeypatch):
    """stEVE's package, its relatives where they are named, and SOFA's double."""
    for variable in ("PROCTOR_STEVE", "PROCTOR_STEVE_BENCH", "PROCTOR_STEVE_RL"):
        if variable in os.environ:
            monkeypatch.syspath_prepend(os.environ[variable])
    sofa_double.install(monkeypatch)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] in ("eve", "eve_bench", "eve_rl")]:
        monkeypatch.delitem(sys.modules, name)
    importlib.invalidate_caches()


def make(**options: Any) -> SteveEnv:
    return SteveEnv(import_eve(), SteveOptions.model_validate(options))


def episode(env: SteveEnv, seed: int = 5, steps: int = 6) -> dict[str, np.ndarray]:
    env.reset(seed, 0)
    rows = [env.step(PUSH).signals for _ in range(steps)]
    env.close()
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_the_seed_decides_the_episode() -> None:
    options = {"anatomy": {"target_branches": ["lcca", "lsa"]}}
    first, again, other = (episode(make(**options), seed) for seed in (5, 5, 6))
    assert all(np.array_equal(first[name], again[name], equal_nan=True) for name in first)
    assert not np.array_equal(first["rotation"], other["rotation"])


def test_trials_of_a_benchmark(tmp_path: Path) -> None:
    raw = {
        "agents": [{"name": "drunk", "tool": "j_soft", "policy": "random"}],
        "anatomy": {"arch_type": "II", "target_branches": ["lcca", "lsa"]}, "simulator": "sofa",
        "n_trials": 2, "max_episode_steps": 5, "workers": "inline", "output_root": str(tmp_path),
    }  # fmt: skip
    run = run_evaluation(config_from_dict(raw))
    results = list(run.results())
    assert [result.error for result in results] == [None, None]
    assert {result.outcome.value for result in results} == {"truncated"}
    with np.load(run.path / results[0].npz) as arrays:
        assert np.isfinite(arrays["tip_pos3d"]).all()
        assert str(arrays["case"]) in ("lcca", "lsa")


def with_its_files(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a task reads beside its code: DualDeviceNav a mesh that the repository lacks, in whose place the other one
    is drawn; BasicWireNav a model that is downloaded, in whose place a tube with two branches is."""
    if name == "DualDeviceNav":
        task = importlib.import_module("eve_bench.dualdevicenav")
        shutil.copytree(task.DATA_DIR, folder / "data")
        visual = folder / "data" / "vessel_architecture_visual.obj"
        if not visual.exists():
            shutil.copy(folder / "data" / "vessel_architecture_collision.obj", visual)
        monkeypatch.setattr(task, "DATA_DIR", folder / "data")
    elif name == "BasicWireNav":
        model = small_model(folder / "model")
        monkeypatch.setattr(
            importlib.import_module("eve.intervention.vesseltree.vmr"), "download_vmr_files", lambda _: model
        )


def small_model(folder: Path) -> str:
    """A model as the Vascular Model Repository has them: paths in cm, a surface and a volume."""
    pyvista = importlib.import_module("pyvista")
    (folder / "Meshes").mkdir(parents=True)
    (folder / "Paths").mkdir()
    ways = {"aorta": [(0, 0, 20), (0, 0, 0)], "carotid": [(0, 0, 18), (6, 0, 24)], "btrunk": [(0, 0, 16), (-6, 0, 22)]}
    for name, (start, end) in ways.items():
        points = np.linspace(start, end, 40)
        rows = "".join(f'<pos x="{x}" y="{y}" z="{z}"/>' for x, y, z in points)
        (folder / "Paths" / f"{name}.pth").write_text(
            f"<?xml ?>\n<format/>\n<path><path_points>{rows}</path_points></path>"
        )
    volume = pyvista.ImageData(
        dimensions=(9, 5, 15), spacing=(2.5, 1.0, 2.0), origin=(-10, -2, -2)
    ).cast_to_unstructured_grid()
    volume.save(folder / "Meshes" / "model.vtu")
    pyvista.Box((-10, 10, -2, 2, -2, 26)).triangulate().subdivide(3).save(folder / "Meshes" / "model.vtp")
    return str(folder)


@pytest.mark.skipif("PROCTOR_STEVE_BENCH" not in os.environ, reason="PROCTOR_STEVE_BENCH names no checkout")
@pytest.mark.parametrize(("name", "devices"), [("BasicWireNav", 1), ("ArchVariety", 1), ("DualDeviceNav", 2)])
def test_eve_benchs_tasks_run_by_name(name: str, devices: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_its_files(name, tmp_path, monkeypatch)
    observed = ("tracking", "target", "last_action", "rotation", "inserted_lengths", "image")
    found = []
    for _ in range(2):
        env = make(benchmark=name, observed=observed)
        observation = env.reset(5, 0)
        assert env.action_space.shape == (2 * devices,)
        assert {key: box.shape for key, box in env.observation_space.spaces.items()} == {
            key: value.shape for key, value in observation.items()
        }
        angles = np.atleast_1d(env._intervention.device_rotations)
        np.testing.assert_allclose(observation["rotation"], np.stack([np.sin(angles), np.cos(angles)], -1), atol=1e-6)
        steps = [env.step(np.tile(PUSH, devices)) for _ in range(4)]
        constants = env.constants()
        assert str(constants["case"]) in [branch.name for branch in env._intervention.vessel_tree.branches]
        assert len(constants["vessel_pos3d"]) == len(constants["vessel_radius"])
        found.append([steps[-1].signals["tip_pos3d"], constants["target_pos3d"]])
        env.close()
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("anatomy", [{"vary": True}, {"target_mode": "centerline"}, {"interim_target_mm": 20.0}])
def test_arches_targets_and_points_on_the_way(anatomy: dict[str, Any]) -> None:
    options = {"anatomy": {**anatomy, "target_branches": ["lcca", "lsa"]}}
    first, again, other = (make(**options) for _ in range(3))
    shown = [env.reset(seed, 0)["target"] for env, seed in ((first, 5), (again, 5), (other, 6))]
    np.testing.assert_array_equal(shown[0], shown[1])
    if "interim_target_mm" not in anatomy:
        assert not np.array_equal(shown[0], shown[2])
    else:
        goal = first._intervention.target.coordinates3d
        assert np.linalg.norm(first._env.interim_target.coordinates3d - goal) > 20


def test_the_simmons_catheter_is_a_device() -> None:
    env = make(tool="simmons")
    env.reset(1, 0)
    assert type(env._intervention.devices[0]).__name__ == "Simmons3Bends"
    assert np.isfinite(env.step(PUSH).signals["tip_pos3d"]).all()


def trained(folder: Path, head: str) -> tuple[Any, Path]:
    """An agent of eve_rl's with random weights, in stEVE's own environment, and its checkpoint."""
    import torch

    eve, rl = import_eve(), importlib.import_module("eve_rl")
    env = build(
        eve, SteveOptions.model_validate({"observed": ["target", "tracking", "rotation"], "anatomy": {"seed": 4}})
    )[0]
    env.reset(seed=3)
    inputs = sum(value.size for value in env.observation().values())
    torch.manual_seed(0)

    def net(kind: Any) -> Any:
        return kind(rl.network.component.MLP([16, 16]), inputs, 2)

    top = rl.network.component.LSTM(1, 8) if head == "LSTM" else None
    nets = [net(rl.network.QNetwork), net(rl.network.QNetwork)]
    nets.append(rl.network.GaussianPolicy(rl.network.component.MLP([16, 16]), inputs, 2, head=top))
    optimizers = [rl.optim.Adam(each, 1e-3) for each in nets]
    model = rl.model.SACModel(1e-3, *nets, *optimizers)
    algo = rl.algo.SAC(model, n_actions=2)
    agent = rl.agent.Single(algo, env, env, rl.replaybuffer.VanillaStep(10, 2), normalize_actions=True)
    file = folder / "best.everl"
    agent.save_checkpoint(str(file))
    return agent, file


@pytest.mark.skipif("PROCTOR_STEVE_RL" not in os.environ, reason="PROCTOR_STEVE_RL names no checkout of stEVE_rl")
@pytest.mark.parametrize("suite", ["steve", "endovascular"])
@pytest.mark.parametrize("head", ["Dummy", "LSTM"])
def test_a_checkpoint_of_eve_rl_acts_as_eve_rl_does(tmp_path: Path, head: str, suite: str) -> None:
    """Its environment is rebuilt from it, on either simulator; the actions are those of its own evaluation."""
    agent, file = trained(tmp_path, head)
    options = {"double_step": head == "LSTM"}
    raw = {
        "agents": [{"name": "sac", "checkpoint": str(file), "options": options}],
        "tasks": [{"suite": suite, "options": {"environment_file": str(file)}}], "n_trials": 1, "base_seed": 3,
        "max_episode_steps": 5, "workers": "inline", "output_root": str(tmp_path), "record": {"observations": True},
    }  # fmt: skip
    run = run_evaluation(config_from_dict(raw))
    (result,) = run.results()
    assert result.error is None
    with np.load(run.path / result.npz) as arrays:
        rows = [arrays[f"observations.{name}"] for name in ("target", "tracking", "rotation")]
        agent.algo.model.policy.head.reset()
        theirs = [agent.algo.get_eval_action(np.concatenate([row[i].ravel() for row in rows])) for i in range(5)]
        np.testing.assert_allclose(arrays["actions"], theirs, atol=2e-6)


def test_the_embedded_observation_is_that_of_steves_classes() -> None:
    """Tracking2D, its scaling and the rotation of stEVE on the embedded simulator's wire."""
    from proctor.suites.endovascular.as_steve import spread

    eve, rng = import_eve(), np.random.default_rng(1)
    for count, apart in ((3, 2.0), (6, 4.0), (9, 7.0)):
        line = np.cumsum(rng.normal(size=(25, 2)), axis=0)
        view = types.SimpleNamespace(tracking2d=line)
        theirs = eve.observation.Tracking2D(types.SimpleNamespace(fluoroscopy=view), count, apart)
        theirs.step()
        np.testing.assert_allclose(spread(line, count, apart), theirs.obs, atol=1e-4)


@pytest.mark.parametrize("angles", [(20.0, 5.0), (25.0, 0.0), (-40.0, 70.0)])
def test_the_embedded_c_arm_turns_as_steves(angles: tuple[float, float]) -> None:
    """Points to tracking coordinates and to the picture; the double's transform is held to the same."""
    import steve_double

    from proctor.suites.endovascular.carm import CArm

    eve, points = import_eve(), np.random.default_rng(0).normal(size=(9, 3)) * 50
    theirs = eve.util.coordtransform.vessel_cs_to_tracking3d(points, angles, [0, 0, 0], None)
    np.testing.assert_allclose(CArm(angles).track(points), theirs, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(
        CArm(angles).project(points), eve.util.coordtransform.tracking3d_to_2d(theirs), atol=1e-4
    )
    np.testing.assert_allclose(steve_double.vessel_cs_to_tracking3d(points, angles, [0, 0, 0], None), theirs, atol=1e-4)


def test_pictures_are_those_of_steves_pillow() -> None:
    """Its scale, offset and lines, without its noise. Its class cannot be made (its base takes no arguments, and its
    simulation has no devices), so that its methods are called on a bare object."""
    from proctor.suites.endovascular.pictures import LINE, picture

    kind = importlib.import_module("eve.intervention.fluoroscopy.pillow").Pillow
    box = np.array([[-40.0, 10.0], [90.0, 200.0]])
    bare = type("Bare", (kind,), {"tracking2d_space": types.SimpleNamespace(low=box[0], high=box[1])})
    theirs = bare.__new__(bare)
    theirs.image_size, theirs._image_mode = (120, 120), "L"
    theirs.reset()
    angle = np.linspace(0, 3, 60)
    line = np.stack([20 + 40 * np.cos(angle), 90 + 80 * np.sin(angle)], axis=1)
    image = importlib.import_module("PIL.Image").new("L", (120, 120), 255)
    drawn = theirs._draw_lines(image, line, 1, LINE) == LINE
    ours = picture(line, np.full(59, 1.0), box, 120) == LINE
    for one, other in ((drawn, ours), (ours, drawn)):
        near = [np.roll(other, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1)]
        assert one.sum() > 80
        assert (one <= np.any(near, axis=0)).all()
    assert (drawn & ours).sum() > 0.8 * drawn.sum()


@pytest.mark.skipif("PROCTOR_STEVE_BENCH" not in os.environ, reason="PROCTOR_STEVE_BENCH names no checkout")
def test_the_embedded_devices_are_dual_device_navs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stEVE tells SOFA of them: length, curve, section, stiffness; speeds, targets, friction and picture."""
    from proctor.suites.endovascular.options import EndovascularOptions
    from proctor.suites.endovascular.tools import find_tool

    with_its_files("DualDeviceNav", tmp_path, monkeypatch)
    theirs = importlib.import_module("eve_bench").DualDeviceNav()
    ours = EndovascularOptions.model_validate(
        {"benchmark": "DualDeviceNav", "anatomy": {"centerlines_folder": str(tmp_path / "data" / "Centrelines_comb")}}
    )
    for tool, device in zip((ours.tool, ours.catheter), theirs.devices, strict=True):
        mine, sofa = find_tool(str(tool)), device.sofa_device
        assert (mine.length_mm, mine.radius_mm) == (sofa.length, sofa.radius)
        assert mine.curve_length_mm == pytest.approx(sofa.length - sofa.straight_length, abs=0.01)
        assert mine.curve_radius_mm == pytest.approx(sofa.spire_diameter / 2)
        for mine_n, modulus, radius in (
            (mine.shaft_bending, sofa.young_modulus, sofa.radius),
            (mine.tip_bending, sofa.young_modulus_extremity, sofa.radius_extremity),
        ):
            assert mine_n == pytest.approx(modulus * np.pi / 4 * radius**4, rel=1e-3)
        assert device.velocity_limit == (ours.max_translation_mm_s, ours.max_rotation_rad_s)
    anatomy, view = ours.anatomy, theirs.fluoroscopy
    assert list(anatomy.target_branches) == theirs.target.branches
    assert (anatomy.target_threshold_mm, anatomy.friction) == (theirs.target.threshold, theirs.simulation.friction)
    assert (anatomy.image_frequency_hz, list(anatomy.image_rot_zx_deg)) == (view.image_frequency, view.image_rot_zx)


@pytest.mark.skipif("PROCTOR_STEVE_BENCH" not in os.environ, reason="PROCTOR_STEVE_BENCH names no checkout")
def test_embedded_devices_are_inserted_as_dual_device_navs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same actions give the same insertions, whichever overtakes: stEVE's own rule on SOFA's double. The embedded
    wire begins further in, and so the catheter is brought to the same distance behind it first."""
    from proctor.suites.endovascular.coaxial import Coaxial
    from proctor.suites.endovascular.rod import Field
    from proctor.suites.endovascular.tools import find_tool
    from proctor.suites.endovascular.wire import Physics

    with_its_files("DualDeviceNav", tmp_path, monkeypatch)
    theirs = importlib.import_module("eve_bench").DualDeviceNav(stop_device_at_tree_end=False)
    theirs.reset()
    step = theirs.simulation.dt_simulation
    taken = int(1 / theirs.fluoroscopy.image_frequency / step)
    open_field = Field(np.full((3, 3, 3), -100.0, np.float32), np.zeros(3), 1.0)
    pair = Coaxial(
        (find_tool("mic_guide"), find_tool("mic_cath")), open_field, np.zeros(3), np.array([0.0, 0.0, 1.0]),
        Physics(taken * step, substeps=taken, least_mm=25.2),
    )  # fmt: skip
    pair.reset(25.2, 0.0)
    start = np.array([[30.0, 0.0], [25.0, 0.0]])
    for _ in range(10):
        theirs.step(start)
        pair.drive(start)
    behind = theirs.simulation.inserted_lengths[0] - theirs.simulation.inserted_lengths[1]
    for _ in range(40):
        ahead = pair.lengths[0] - behind - pair.lengths[1]
        pair.drive(np.array([[0.0, 0.0], [min(20.0, ahead / (taken * step)), 0.0]]))
    offset = pair.lengths - np.array(theirs.simulation.inserted_lengths)
    rng, first = np.random.default_rng(0), set()
    for _ in range(60):
        action = np.stack([rng.uniform(-15, 30, 2), np.zeros(2)], axis=1)
        theirs.step(action.copy())
        pair.drive(action)
        first.add(int(np.argmax(pair.lengths)))
        np.testing.assert_allclose(pair.lengths - offset, theirs.simulation.inserted_lengths, atol=0.5)
    assert first == {0, 1}


@pytest.mark.skipif("PROCTOR_STEVE_PYTHON" not in os.environ, reason="PROCTOR_STEVE_PYTHON names no interpreter")
def test_in_an_interpreter_of_its_own(tmp_path: Path) -> None:
    """That has stEVE and SOFA (or its double), and nothing of Proctor."""
    task = {
        "suite": "steve", "options": {"anatomy": {"target_branches": ["lcca"]}},
        "runtime": {"python": os.environ["PROCTOR_STEVE_PYTHON"]},
    }  # fmt: skip
    raw = {"agents": [{"policy": "random"}], "tasks": [task], "n_trials": 2, "max_episode_steps": 4}
    run = run_evaluation(config_from_dict({**raw, "output_root": str(tmp_path)}))
    assert [result.error for result in run.results()] == [None, None]
