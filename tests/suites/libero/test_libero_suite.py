"""The adapter to LIBERO, against a double of the interface that it uses: a trial is its initial state, the protocol is
data, cameras draw when somebody looks, and what is missing is named."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libero_double
import numpy as np
import pytest
from examining import by_key, digests
from libero_double import ASSETS, DRAWN, initial_states
from PIL import Image

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.config import ConfigError
from proctor.errors import MissingExtra
from proctor.runs.resume import resume
from proctor.suites.libero.env import LiberoEnv, axis_angle
from proctor.suites.libero.installation import CONFIG_VARIABLE, find_assets, import_libero, package_folder, read_states
from proctor.suites.libero.suite import LiberoOptions, LiberoSuite
from proctor.testing import EnvConformance
from proctor.texts import bytes_to_text

LOOKER = Path(__file__).parents[2] / "support" / "lookers.py"
SMALL = {"render_px": 32, "image_px": 28, "video_px": 16}
AHEAD = np.array([1, 0, 0, 0, 0, 0, -1], np.float32)
LOOK = ["agentview", "robot0_eye_in_hand"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an installed double, not imported yet."""
    pytest.importorskip("torch", reason="the double saves its states with torch")
    yield libero_double.install(tmp_path / "site", monkeypatch)
    libero_double.forget()


def build(**options: Any) -> LiberoEnv:
    given = {"benchmark": "spatial", "task": 0, **SMALL, **options}
    return LiberoEnv(import_libero(None), LiberoOptions.model_validate(given))


def examination(folder: Path, **keys: Any) -> dict[str, Any]:
    tasks = [{"suite": "libero", "options": {"benchmark": "spatial", "task": [0, 1], **SMALL}}]
    return {
        "agents": [{"name": "looker", "policy": f"{LOOKER}:Looker"}], "tasks": tasks, "n_trials": 3,
        "max_episode_steps": 7, "num_parallel": 1, "workers": "inline", "scoring": "success",
        "output_root": str(folder), **keys,
    }  # fmt: skip


def run(folder: Path, **keys: Any) -> Run:
    found = run_evaluation(config_from_dict(examination(folder, **keys)))
    assert all(result.outcome.scored for result in found.results()), [result.error for result in found.results()]
    return found


@pytest.mark.usefixtures("package")
class TestConformance(EnvConformance):
    steps = 8

    def make(self) -> LiberoEnv:
        return build()


def test_a_trial_is_its_initial_state_whatever_the_seed(package: Path) -> None:
    env = build()
    first = env.reset(1, 1)
    assert env.constants() == {"initial_state": 1, "instruction": "put thing 0 on the plate"}
    again = env.reset(99, 1)
    for key, value in first.items():
        np.testing.assert_array_equal(again[key], value)
    np.testing.assert_array_equal(env.reset(1, 1 + libero_double.STATES)["state"], first["state"])
    assert (env.reset(1, 2)["state"] != first["state"]).any()
    np.testing.assert_allclose(first["state"][:3], initial_states()[1, :3].astype(np.float32))


def test_observations_are_those_of_the_protocol(package: Path) -> None:
    env = build(render_px=None, image_px=None)
    seen = env.reset(0, 0)
    assert list(seen) == ["image/agentview", "image/robot0_eye_in_hand", "state", "joints", "instruction"]
    raw = env._world.sim.render(camera_name="agentview", width=256, height=256)
    turned = Image.fromarray(np.ascontiguousarray(raw[::-1, ::-1]))
    np.testing.assert_array_equal(
        seen["image/agentview"], np.asarray(turned.resize((224, 224), Image.Resampling.BILINEAR))
    )
    hand = initial_states()[0, :3]
    turn = 2 * abs(hand[0]) * np.sign(hand[0])
    np.testing.assert_allclose(seen["state"], [*hand, turn, 0, 0, 0.04, -0.04], rtol=1e-6)
    np.testing.assert_allclose(seen["joints"], np.arange(7) * hand[1], rtol=1e-6)
    assert bytes_to_text(seen["instruction"]) == "put thing 0 on the plate"


def test_the_original_protocol_leaves_frames_as_they_are(package: Path) -> None:
    env = build(protocol="libero_original", render_px=None, image_px=None)
    frame = env.reset(0, 0)["image/agentview"]
    np.testing.assert_array_equal(frame, env._world.sim.render(camera_name="agentview", width=128, height=128))


def test_a_video_shows_the_hand_beside_the_room(package: Path) -> None:
    env = build()
    env.reset(0, 0)
    room, hand = np.split(env.render(), 2, axis=1)
    for camera, shown in (("agentview", room), ("robot0_eye_in_hand", hand)):
        np.testing.assert_array_equal(shown[::-1], env._world.sim.render(camera_name=camera, width=16, height=16))
    alone = build(video_cameras=["robot0_eye_in_hand"])
    alone.reset(0, 0)
    np.testing.assert_array_equal(alone.render(), hand)


@pytest.mark.parametrize(
    ("protocol", "trials", "wait", "dummy", "limits"),
    [
        ("openpi", 50, 10, [0, 0, 0, 0, 0, 0, -1], [220, 280, 300, 520, 400]),
        ("libero_original", 20, 5, [0] * 7, [600] * 5),
        ("waypoint", 50, 10, [0] * 7, [220, 280, 300, 520, 400]),
    ],
)
def test_protocols(package: Path, protocol: str, trials: int, wait: int, dummy: list[int], limits: list[int]) -> None:
    entries = [
        {"suite": "libero", "options": {"benchmark": benchmark, "task": 1, "protocol": protocol, **SMALL}}
        for benchmark in ("spatial", "object", "goal", 10, "libero_90")
    ]
    cfg = config_from_dict({"agents": [{"policy": "zero"}], "tasks": entries})
    assert {(task.n_trials, task.wait_steps) for task in cfg.tasks} == {(trials, wait)}
    assert {(task.success_rule, task.stop_on_success) for task in cfg.tasks} == {("ever", True)}
    libero = import_libero(None)
    envs = [LiberoEnv(libero, LiberoOptions.model_validate(task.options)) for task in cfg.tasks]
    assert [env.max_steps for env in envs] == limits
    assert envs[0].dummy_action().tolist() == dummy
    assert envs[0].dummy_action().dtype == np.float64


def test_the_configs_own_numbers_go_before_the_protocols() -> None:
    entry = {"suite": "libero", "options": {"benchmark": 90}, "wait_steps": 3}
    cfg = config_from_dict({"agents": [{"policy": "zero"}], "tasks": [entry], "n_trials": 7})
    assert len(cfg.tasks) == 90
    assert cfg.tasks[89].name == "libero_90-89"
    assert {cfg.trials_of(task) for task in cfg.tasks} == {7}
    assert {task.wait_steps for task in cfg.tasks} == {3}
    assert config_from_dict(cfg.model_dump(mode="json")) == cfg


@pytest.mark.parametrize(("protocol", "outcomes"), [("openpi", [False, True]), ("waypoint", [True, True])])
def test_success_during_the_wait(package: Path, tmp_path: Path, protocol: str, outcomes: list[bool]) -> None:
    """Initial state 3 succeeds at step 3 by itself: within a wait of four, or after one of two."""
    options = {"benchmark": "goal", "task": 0, "protocol": protocol, **SMALL}
    tasks = [{"suite": "libero", "name": f"wait{n}", "wait_steps": n, "options": options} for n in (4, 2)]
    results = by_key(run(tmp_path, agents=[{"policy": "zero"}], tasks=tasks, n_trials=4, max_episode_steps=5))
    assert [results[f"zero/wait{n}/0003"].success for n in (4, 2)] == outcomes
    assert results["zero/wait2/0003"].steps_total == 1
    assert not results["zero/wait4/0000"].success


def test_reaching_the_goal_is_success_and_the_horizon_is_the_configs(package: Path) -> None:
    env = build()
    env.reset(0, 0)
    assert [env.step_unseen(AHEAD).success for _ in range(5)] == [False, False, False, True, True]
    env._world.env.timestep = 2000
    assert not env.step_unseen(AHEAD).terminated


def test_cameras_draw_when_somebody_looks(package: Path) -> None:
    env = build()
    env.reset(0, 0)
    DRAWN.clear()
    assert env.step_unseen(AHEAD).observation is None
    assert not DRAWN
    env.step(AHEAD)
    assert DRAWN == LOOK


def test_what_is_seen_after_unseen_steps_is_what_is_always_seen(package: Path) -> None:
    lazy, eager = build(), build()
    for env in (lazy, eager):
        env.reset(0, 1)
    actions = np.random.default_rng(0).uniform(-1, 1, (6, 7))
    for action in actions[:-1]:
        unseen, seen = lazy.step_unseen(action), eager.step(action)
        assert unseen.reward == seen.reward
        np.testing.assert_array_equal(unseen.signals["hand_pos"], seen.signals["hand_pos"])
    last, expected = lazy.step(actions[-1]), eager.step(actions[-1])
    for key, value in expected.observation.items():
        np.testing.assert_array_equal(last.observation[key], value)


def test_a_run_draws_what_its_policy_asks_for(package: Path, tmp_path: Path) -> None:
    """Seven steps in chunks of three: asked before steps 1, 4 and 7. The rest is drawn by resets and the wait's end."""
    counts = []
    for steps in (1, 7):
        DRAWN.clear()
        tasks = [{"suite": "libero", "options": {"benchmark": "spatial", "task": 0, **SMALL}}]
        run(tmp_path / str(steps), tasks=tasks, n_trials=1, max_episode_steps=steps)
        counts.append(len(DRAWN))
    assert counts[1] - counts[0] == 2 * len(LOOK)


def test_shadows_can_be_switched_off(package: Path) -> None:
    flags = [_flags(build(shadows=on)) for on in (True, False)]
    assert flags[0].all()
    assert (flags[1] == 0).sum() == 1


def _flags(env: LiberoEnv) -> np.ndarray:
    env.reset(0, 0)
    return env._world.sim._render_context_offscreen.scn.flags


def furniture(env: LiberoEnv, index: int) -> float:
    env.reset(0, index)
    return env._world.sim.furniture


def test_a_trial_has_a_scene_of_its_own_whatever_came_before(package: Path) -> None:
    env = build()
    places = [furniture(env, index) for index in range(5)]
    assert len(set(places)) == 5
    assert [furniture(env, index) for index in (3, 0)] == [places[3], places[0]]
    assert furniture(build(scene_seed=10), 0) == places[3], "the seed and the index are added"


def test_a_sequence_is_that_of_a_loop_that_seeds_once(package: Path) -> None:
    """As openpi's evaluation does it: seed, then a reset for each trial; here in any order."""
    world = build()._world
    world.seed(7)
    expected = [world.reset() and world.sim.furniture for _ in range(6)]
    env = build(scenes="sequence")
    order = [3, 0, 5, 5, 1, 4, 2]
    assert [furniture(env, index) for index in order] == [expected[index] for index in order]
    assert furniture(build(scenes="sequence"), 5) == expected[5]


def test_one_scene_for_all_trials_is_an_option(package: Path) -> None:
    env = build(scenes="same")
    assert furniture(env, 0) == furniture(env, 3) == furniture(build(), 0)


def test_actions_are_clipped_as_libero_clips_them(package: Path, tmp_path: Path) -> None:
    """A gripper at -1.0004 is no failure: the records are those of the action at its bound."""
    runs = [
        run(
            tmp_path / str(k),
            agents=[{"name": "ahead", "policy": f"{LOOKER}:Ahead", "options": {"kwargs": {"by": by, "gripper": grip}}}],
            tasks=[{"suite": "libero", "options": {"benchmark": "spatial", "task": 0, **SMALL}, "wait_steps": 0}],
        )
        for k, (by, grip) in enumerate([(1.0, -1.0), (1.3, -1.0004)])
    ]
    within, beyond = (by_key(one) for one in runs)
    assert all(result.success for result in beyond.values())
    assert [result.clipped_steps for result in beyond.values()] == [result.steps_total for result in beyond.values()]
    assert {r.steps_total for r in within.values()} == {r.steps_total for r in beyond.values()}
    assert digests(runs[0]) == digests(runs[1])


def test_the_scene_seed_places_furniture_and_numpys_generator_is_left_alone(package: Path) -> None:
    np.random.seed(3)  # noqa: NPY002 - somebody's
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(3)  # noqa: NPY002
    places = []
    for seed in (None, 7, 8):
        env = build(scene_seed=seed)
        env.reset(0, 0)
        places.append(env._world.sim.furniture)
    assert places[0] == places[1] != places[2]
    assert np.random.random() == expected  # noqa: NPY002


def test_a_parallel_run_equals_a_serial_one_that_was_interrupted(package: Path, tmp_path: Path) -> None:
    serial = run(tmp_path / "serial", n_trials=1)
    resume(serial.path, ["n_trials=3"])
    parallel = run(tmp_path / "parallel", num_parallel=4, workers=2)
    assert digests(serial) == digests(parallel)
    assert len(set(digests(serial).values())) > 3


def test_the_import_asks_nothing_and_keeps_the_users_config(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_libero(None)
    written = Path(os.environ[CONFIG_VARIABLE]) / "config.yaml"
    assert f"init_states: {package / 'init_files'}" in written.read_text()
    own = package.parent / "own"
    own.mkdir()
    (own / "config.yaml").write_text(f"assets: {own}\nbddl_files: x\ninit_states: y\n")
    monkeypatch.setenv(CONFIG_VARIABLE, str(own))
    with pytest.raises(InputError, match=f"{own} has no scenes, stable_hope_objects"):
        import_libero(None)
    assert os.environ[CONFIG_VARIABLE] == str(own)


def test_what_the_package_has_downloaded_is_found(package: Path) -> None:
    """hf-libero keeps its assets in a folder of the user's, not beside its code."""
    downloaded = Path(os.environ["HOME"]) / ".cache" / "libero" / "assets"
    downloaded.parent.mkdir(parents=True)
    (package / "assets").rename(downloaded)
    import_libero(None)
    assert find_assets(package, None) == downloaded


def test_missing_assets_are_named(package: Path, tmp_path: Path) -> None:
    (package / "assets" / "textures").rmdir()
    downloads = Path(os.environ["HOME"]) / ".cache" / "libero" / "assets"
    expected = (
        f"LIBERO's assets are missing: {package / 'assets'} has no textures, there is no folder {downloads}; "
        ".* set assets_folder"
    )
    with pytest.raises(InputError, match=expected):
        import_libero(None)
    with pytest.raises(InputError, match=f"there is no folder {tmp_path / 'nowhere'}; expected the folders scenes"):
        import_libero(str(tmp_path / "nowhere"))
    for name in ASSETS:
        (tmp_path / "mine" / name).mkdir(parents=True)
    assert find_assets(package, str(tmp_path / "mine")) == tmp_path / "mine"


def test_missing_files_of_a_task_are_named(package: Path) -> None:
    with pytest.raises(InputError, match=r"the description of .*put_thing_5.* are expected at .*put_thing_5.*\.bddl"):
        build(task=5)
    (package / "bddl_files" / "libero_spatial" / "put_thing_0_on_the_plate.bddl").write_text("absent")
    with pytest.raises(InputError, match=r"needs a file that is not there: .*soup\.xml.*assets_folder"):
        build()


def test_without_the_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'the libero suite needs the package "hf-libero"; .*proctor\[libero\]'):
        package_folder()


def test_the_briefing_tells_the_instruction(package: Path) -> None:
    briefing = LiberoSuite().briefing(LiberoOptions(benchmark="object", task=1))
    assert briefing.instruction == "put thing 1 on the plate"


class Harmful:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        (Harmful(), r"is not read: it names (posix|os)\.system, which could run code"),
        ("tensor", r"is not read: it names torch\._utils\._rebuild_tensor_v2"),
        ({"states": 1}, r"holds dict; expected initial states as numbers \(count, width\)"),
        (np.zeros((2, 3), np.int64), r"holds int64 \(2, 3\)"),
        (np.zeros(3), r"holds float64 \(3,\)"),
        (np.array([[0.0], [np.nan]]), r"initial state 1 is not finite"),
    ],
)
def test_initial_states_are_read_without_running_anything(tmp_path: Path, saved: Any, message: str) -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    torch.save(torch.zeros(2, 3) if isinstance(saved, str) else saved, tmp_path / "task.pruned_init")
    with pytest.raises(InputError, match=message):
        read_states(tmp_path / "task.pruned_init")


def test_what_torch_did_not_save_is_no_state_file(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(pickle.dumps(np.zeros((2, 3))))
    with pytest.raises(
        InputError, match=r"cannot be read as arrays and plain containers, saved by torch: it is damaged, or holds"
    ):
        read_states(plain)
    with zipfile.ZipFile(tmp_path / "empty", "w") as archive:
        archive.writestr("archive/version", "3")
    with pytest.raises(InputError, match="holds 0 pickles; expected one"):
        read_states(tmp_path / "empty")


def test_states_come_as_they_were_saved(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    torch.save(initial_states(), tmp_path / "states")
    np.testing.assert_array_equal(read_states(tmp_path / "states"), initial_states())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": 1}, "benchmark: missing"),
        ({"benchmark": "kitchen"}, "expected one of spatial, object, goal, 10, 90"),
        ({"benchmark": "goal", "task": 10}, "task: found 10; libero_goal has the tasks 0 to 9"),
        ({"benchmark": "goal", "task": [0, 11]}, "task: found 11; libero_goal has the tasks 0 to 9"),
        ({"benchmark": "goal", "task": []}, "expected an integer"),
        ({"benchmark": "goal", "protocol": "open_pi"}, 'did you mean "openpi"?'),
        ({"benchmark": "goal", "cameras": []}, "at least 1 entry"),
    ],
)
def test_wrong_options_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        config_from_dict({"agents": [{"policy": "random"}], "tasks": [{"suite": "libero", "options": given}]})
    assert message in str(error.value)


def test_rotations_as_axis_and_angle() -> None:
    assert axis_angle(np.array([0.0, 0.0, 0.0, 1.0])).tolist() == [0, 0, 0]
    quarter = np.array([0.0, np.sin(np.pi / 4), 0.0, np.cos(np.pi / 4)])
    np.testing.assert_allclose(axis_angle(quarter), [0, np.pi / 2, 0])
    np.testing.assert_allclose(np.linalg.norm(axis_angle(-quarter)), 3 * np.pi / 2)
