"""BFM-Zero's own environment, model, evaluation and expert buffer. docs/contributing.md says how to run this."""

from __future__ import annotations

import types

import bfm_zero
import joblib_files
import numpy as np
import pytest
from shared_data import shared_data

from proctor import TrackingEvaluation, TrackingEvaluationCfg, config_from_dict, run_evaluation
from proctor.suites.tracking.layout import ActorHistory, HumanoidVerseLayout
from proctor.suites.tracking.motions import load_motions
from proctor.suites.tracking.observations import reference_observations, state_observation
from proctor.suites.tracking.robot import load_robot
from proctor.training.curriculum import Curriculum
from proctor.training.humanoidverse import HumanoidVerseEnvironment, HumanoidVerseMotions

PLACE = bfm_zero.require()
pytestmark = pytest.mark.filterwarnings("ignore")
CLIPS, FRAMES = 5, 61


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    clips = sorted(shared_data("g1_moves").glob("*.csv"))[:CLIPS]
    return bfm_zero.save_library(PLACE, clips, FRAMES, tmp_path_factory.mktemp("library") / "clips.pkl")


@pytest.fixture(scope="module")
def env(library):
    return bfm_zero.build(library)


@pytest.fixture(scope="module")
def model(env):
    return bfm_zero.model(env)


def evaluate(env, model, **keys):
    cfg = TrackingEvaluationCfg(max_workers=1, **keys)
    return TrackingEvaluation(cfg).run(timestep=0, agent_or_model=model, env=env)


def plain(value):
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return np.asarray(value).tolist() if hasattr(value, "tolist") else value


def of_training(env):
    """What training samples from, and what it counts."""
    inner = env._env
    library = {key: value for key, value in vars(inner._motion_lib).items() if key != "mesh_parsers"}
    counted = ("max_episode_length", "is_evaluating", "common_step_counter", "reward_penalty_scale", "motion_ids",
               "push_robot_counter", "push_interval_s", "average_episode_length")  # fmt: skip
    return plain({**library, **{name: getattr(inner, name) for name in counted}})


def test_the_library_that_joblib_saved_is_read_as_data(library):
    """The same motions, by their rotation vectors too; and the double of joblib's files has joblib's bytes."""
    import joblib

    saved = joblib.load(library)
    assert joblib_files.dumps(saved) == library.read_bytes()
    poses = {name: {k: one[k] for k in ("root_trans_offset", "pose_aa", "fps")} for name, one in saved.items()}
    joblib.dump(poses, bare := library.with_name("poses.pkl"))
    whole, by_pose = (load_motions([path], load_robot("builtin:g1"), joint_tolerance=9.0) for path in (library, bare))
    assert whole.names == by_pose.names == tuple(saved)
    np.testing.assert_allclose(whole.frames.qpos, by_pose.frames.qpos, atol=1e-6)


def test_the_library_is_exactly_as_before_also_a_part_of_it(env, model):
    """One world: training holds one of the five motions. This runs first, since the original loads all for good."""
    before = of_training(env)
    assert len(before["_motion_lengths"]) == 1
    metrics, _ = evaluate(env, model)
    assert len(metrics) == CLIPS
    assert of_training(env) == before


def test_the_bodies_are_those_that_the_simulator_has(env):
    simulator = env._env.simulator
    assert len(simulator.body_names) == simulator._rigid_body_pos.shape[1] + 1, "the defect that we allow for"
    assert HumanoidVerseEnvironment(env).body_names == tuple(simulator.body_names[:-1])
    assert len(HumanoidVerseMotions(env).body_names) == 24


def test_every_metric_is_the_originals(env, model):
    """With noise, pushes and randomisation, on the same draws: the rollouts are equal, and the numbers differ by the
    float32 in which the original computes its metrics."""
    from humanoidverse.agents.evaluations.humanoidverse_isaac import HumanoidVerseIsaacTrackingEvaluationConfig

    original = HumanoidVerseIsaacTrackingEvaluationConfig().build()
    bfm_zero.begin(env)
    expected, _ = original.run(timestep=0, agent_or_model=model, logger=None, env=env)
    bfm_zero.begin(env)
    found, _ = evaluate(env, model, legacy="bfm_zero")
    assert list(found) == list(expected)
    for motion, values in expected.items():
        numbers = {key: value for key, value in values.items() if isinstance(value, float)}
        assert len(numbers) == 9
        for key, value in numbers.items():
            assert found[motion][key] == pytest.approx(value, rel=1e-4), (motion, key)


def test_an_evaluation_is_repeated_to_the_bit(env, model):
    """The original is not: its simulator keeps something of the episode before."""
    bfm_zero.begin(env)
    first, _ = evaluate(env, model)
    env.step(np.zeros((1, 29), np.float32))
    bfm_zero.begin(env)
    env._env.simulator.data.qpos[3:7] = [0.5, 0.5, 0.5, 0.5]
    assert evaluate(env, model)[0] == first


def test_the_expert_buffer_gets_the_originals_priorities(env):
    from humanoidverse.agents.envs.humanoidverse_isaac import load_expert_trajectories_from_motion_lib

    agent = types.SimpleNamespace(model=types.SimpleNamespace(seq_length=8))
    buffer = load_expert_trajectories_from_motion_lib(env._env, agent)
    metrics = {name: {"emd": emd} for name, emd in zip(buffer.file_names, (0.1, 0.5, 1.0, 1.5, 9.0), strict=True)}
    Curriculum().update(metrics, HumanoidVerseMotions(env), buffer)
    expected = np.array([2.0, 2.0, 4.0, 8.0, 16.0]) / 32.0
    np.testing.assert_allclose(buffer.priorities, expected, rtol=1e-6)
    np.testing.assert_allclose(env._env._motion_lib._sampling_prob, expected, rtol=1e-6)


GROUPS = ["state", "privileged_state", "last_action", "history_actor", "motion", "frame"]
TASK = {"robot": "builtin:g1_bfm_zero", "layout": "humanoidverse", "observations": GROUPS, "joint_tolerance": 9.0}


def test_the_layout_is_humanoidverses(env):
    """Its environment, without noise: from its positions, velocities and actions, our layout makes what it shows. The
    first step is left out: HumanoidVerse puts its worlds back to their start after it, and shows some of each."""
    inner, robot, layout = env._env, load_robot("builtin:g1_bfm_zero"), HumanoidVerseLayout()
    noise = dict(inner.config.obs.noise_scales)
    inner.config.obs.noise_scales.update(dict.fromkeys(noise, 0.0))
    inner.config.domain_rand.randomize_default_dof_pos = False
    inner.default_dof_pos_offset[:] = 0.0
    try:
        env.reset()
        history, rng = ActorHistory(layout, 1, 29), np.random.default_rng(0)
        for step in range(7):
            action = rng.uniform(-1.5, 1.5, (1, 29)).astype(np.float32)
            seen, _, _, _, info = env.step(action)
            np.testing.assert_array_equal(seen["history_actor"], history.seen(slice(None)))
            np.testing.assert_allclose(seen["last_action"], layout.shown_action(action), atol=1e-6)
            if step > 0:
                ours = layout.shown(state_observation(robot, info["qpos"], info["qvel"]))
                np.testing.assert_allclose(seen["state"], ours, atol=2e-5)
            history.push(slice(None), seen["state"], seen["last_action"])
    finally:
        inner.config.obs.noise_scales.update(noise)
        inner.config.domain_rand.randomize_default_dof_pos = True
    np.testing.assert_allclose(robot.description.default_pose, inner.default_dof_pos[0], atol=1e-6)
    np.testing.assert_allclose(robot.description.stiffness, inner.p_gains, rtol=1e-6)
    np.testing.assert_allclose(robot.description.damping, inner.d_gains, rtol=1e-6)
    np.testing.assert_allclose(robot.description.effort_limit, inner.torque_limits, rtol=1e-6)


def test_a_references_observation_is_humanoidverses(env, library):
    """The same frames by our kinematics; velocities apart, which HumanoidVerse smooths. The waist of its G1 is another
    revision's, which moves two bodies of ours and the head by a centimetre."""
    from humanoidverse.agents.evaluations.humanoidverse_isaac import get_backward_observation

    robot = load_robot("builtin:g1_bfm_zero")
    motions = load_motions([library], robot, joint_tolerance=9.0)
    still = reference_observations(robot, motions.reference(0), velocity_multiplier=0.0, layout=HumanoidVerseLayout())
    env._env._motion_lib.load_all_motions()
    theirs, _ = get_backward_observation(env._env, 0, include_last_action=True, velocity_multiplier=0.0)
    for group in ("state", "privileged_state"):
        np.testing.assert_allclose(still[group], theirs[group], atol=0.011, err_msg=group)


def test_a_checkpoint_folder_runs_in_tracking(model, library, tmp_path):
    (tmp_path / "results" / "checkpoint").mkdir(parents=True)
    model.save(str(tmp_path / "results" / "checkpoint" / "model"))
    config = {
        "agents": [{"name": "bfm", "policy": "tracking/bfm_zero", "checkpoint": str(tmp_path / "results")}],
        "tasks": [{"suite": "tracking", "n_trials": CLIPS, "options": {**TASK, "motions": str(library)}}],
        "workers": {"kind": "inline"},
        "output_root": str(tmp_path / "runs"),
    }
    run = run_evaluation(config_from_dict(config, base=tmp_path))
    assert {result.outcome.value for result in run.results()} <= {"success", "failure", "truncated"}
    assert len(list(run.results())) == CLIPS


def test_the_model_class_is_evaluated_in_worlds_of_our_own(model, library):
    cfg = TrackingEvaluationCfg(motions=[str(library)], max_workers=1, **TASK)
    metrics, log = TrackingEvaluation(cfg).run(timestep=0, agent_or_model=model)
    assert len(metrics) == CLIPS
    assert np.isfinite(log["emd"])
