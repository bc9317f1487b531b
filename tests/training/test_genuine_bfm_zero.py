"""BFM-Zero's own environment, model, evaluation and expert buffer. docs/contributing.md says how to run this."""

from __future__ import annotations

import types

import bfm_zero
import joblib_files
import numpy as np
import pytest
from shared_data import shared_data

from proctor import TrackingEvaluation, TrackingEvaluationCfg
from proctor.suites.tracking.motions import load_motions
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
