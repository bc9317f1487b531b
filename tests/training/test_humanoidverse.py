from __future__ import annotations

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import humanoidverse_double as double  # noqa: E402

from proctor import DictLogger, TrackingEvaluation, TrackingEvaluationCfg  # noqa: E402
from proctor.errors import InputError  # noqa: E402
from proctor.training.curriculum import Curriculum  # noqa: E402
from proctor.training.humanoidverse import HumanoidVerseEnvironment, HumanoidVerseMotions  # noqa: E402
from proctor.training.lent import Starts  # noqa: E402


def motion(frames, phase=0.0):
    t = np.arange(frames) * 0.1
    joints = np.stack([0.3 * np.sin(t + phase), 0.2 * np.cos(t), 0.1 * t], axis=1)
    return np.concatenate([np.tile([0.0, 0.0, 0.8], (frames, 1)), joints], axis=1)


# A motion of n samples is n - 1 intervals long, which are as many frames.
MOTIONS = {"walk": motion(13), "squat": motion(31, 1.0), "kick": motion(8, 2.0), "wave": motion(6), "bow": motion(26)}


@pytest.fixture
def env():
    yield double.build(2, MOTIONS)
    double.close()


@pytest.fixture
def big():
    yield double.build(8, MOTIONS, strength=torch.linspace(1.0, 0.3, 8))
    double.close()


def evaluate(env, agent=None, timestep=0, **keys):
    cfg = TrackingEvaluationCfg(name_in_logs="isaac", max_workers=1, **keys)
    return TrackingEvaluation(cfg).run(timestep=timestep, agent_or_model=agent or double.Tracker(), env=env)


def test_a_perfect_tracker_has_no_error_in_any_frame_of_any_motion(env):
    metrics, log = evaluate(env)
    assert list(metrics) == list(MOTIONS)
    for name, values in metrics.items():
        assert values["frames_compared"] == len(MOTIONS[name]) - 1
        assert values["frames_cut"] == 0
        assert values["emd"] == pytest.approx(0.0, abs=1e-5)
        assert values["mpjpe_xpos"] == pytest.approx(0.0, abs=1e-3)
        assert values["obs_state_distance"] == pytest.approx(0.0, abs=1e-5)
        assert values["root_rot_error_rad"] == pytest.approx(0.0, abs=1e-5)
    assert log["emd"] == pytest.approx(0.0, abs=1e-5)
    assert log["success_phc_linf_xpos"] == 1.0


def test_a_frame_that_is_one_step_late_shows(env):
    """The context of a step is of the frame that the step leads to."""

    class Late(double.Tracker):
        def backward_map(self, obs):
            z = super().backward_map(obs)
            return torch.roll(z, 1, 0)

    assert evaluate(env, Late())[0]["squat"]["distance"] > 0.01


def test_contexts_of_all_motions_come_from_one_call(env):
    model = double.Tracker()
    evaluate(env, model)
    assert [call for call in model.calls if call[0] == "backward_map"] == [
        ("backward_map", sum(len(m) - 2 for m in MOTIONS.values()))
    ]


def test_waves_give_what_one_wave_gives(env):
    few, _ = evaluate(env)
    double.close()
    many, _ = evaluate(double.build(5, MOTIONS))
    for name in MOTIONS:
        assert few[name]["distance"] == pytest.approx(many[name]["distance"], abs=1e-6)


def test_worlds_are_reshuffled_by_seed_and_step_and_recorded(big):
    def worlds(**keys):
        return [values["worlds"] for values in evaluate(big, **keys)[0].values()]

    assert worlds() == worlds()
    assert worlds() != worlds(timestep=1)
    assert worlds() != worlds(seed=1)
    assert all(len(w) == 1 for w in worlds())


def test_results_from_all_worlds(big):
    metrics, _ = evaluate(big, include_results_from_all_envs=True)
    used = sorted(world for values in metrics.values() for world in values["worlds"])
    assert used == list(range(8))


def test_an_agent_may_hold_its_model(env):
    class Agent:
        def __init__(self):
            self._model = double.Tracker()
            self.asked = 0

        def act(self, obs, z, mean=True):
            self.asked += 1
            return self._model.act(obs, z, mean=mean)

    agent = Agent()
    _, log = evaluate(env, agent)
    assert log["emd"] == pytest.approx(0.0, abs=1e-5)
    assert agent.asked > 0


def snapshot(env, model):
    library = env._env._motion_lib
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),  # noqa: NPY002
        "torch": torch.get_rng_state().numpy().tobytes(),
        "modes": [module.training for module in model.modules()],
        "evaluating": env._env.is_evaluating,
        "limit": env._env.max_episode_length,
        "weights": library._sampling_prob.tolist(),
        "batch": library._sampling_batch_prob.tolist(),
        "ids": library._curr_motion_ids.tolist(),
        "parameters": [p.detach().clone().tolist() for p in model.parameters()],
        "gradients": [p.grad for p in model.parameters()],
    }


class Breaks(double.Tracker):
    def act(self, obs, z, mean=True):
        random.random(), torch.rand(3), np.random.rand()  # noqa: NPY002
        if self.calls.count(("act", len(z))) == 3:
            raise RuntimeError("the model broke")
        return super().act(obs, z, mean)


@pytest.mark.parametrize("kind", [double.Tracker, Breaks])
def test_training_is_as_it_was_also_after_an_exception(env, kind):
    model = kind()
    model.train()
    model.dropout.eval()
    env._env._motion_lib.update_sampling_weight_by_id([5.0, 1.0, 1.0, 1.0, 2.0], [0, 1, 2, 3, 4])
    env._env._motion_lib.all_motions_loaded = False
    before = snapshot(env, model)
    if kind is Breaks:
        with pytest.raises(RuntimeError, match="the model broke"):
            evaluate(env, model)
    else:
        evaluate(env, model)
    assert snapshot(env, model) == before
    assert "load_motions_for_training" in env._env._motion_lib.calls[1:]


def test_a_world_that_resets_itself_is_cut_there_and_the_cut_is_reported(env, monkeypatch):
    monkeypatch.setattr("proctor.training.humanoidverse._UNLIMITED_STEPS", 10)
    metrics, log = evaluate(env)
    assert metrics["kick"]["frames_cut"] == 0
    assert metrics["squat"]["frames_cut"] == 30 - 11
    assert metrics["squat"]["distance"] == pytest.approx(0.0, abs=1e-5)
    assert log["frames_cut"] > 0


def test_weights_go_to_the_library_by_id(env):
    source = HumanoidVerseMotions(env)
    metrics = {name: {"emd": 0.5} for name in MOTIONS} | {"kick": {"emd": 2.0}}
    Curriculum().update(metrics, source)
    np.testing.assert_allclose(env._env._motion_lib._sampling_prob, np.array([2, 2, 16, 2, 2]) / 24)


def test_wrists_and_bodies_that_are_not_simulated_are_not_compared(env):
    assert HumanoidVerseMotions(env).body_names == ("pelvis", "torso_link", "shin")
    assert HumanoidVerseMotions(env, tracked=["shin"]).track(0).body_pos.shape == (12, 1, 3)


def test_states_are_sent_in_the_simulators_conventions(env):
    """Half a turn about x: angular velocity of the root's own frame becomes the world's."""
    lent = HumanoidVerseEnvironment(env)
    qpos = np.array([[1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.3]] * 2)
    qvel = np.array([[4.0, 5.0, 6.0, 0.1, 0.2, 0.3, 7.0, 8.0, 9.0]] * 2)
    lent.reset(Starts(np.array([1, 0]), np.zeros(2, int), qpos, qvel, np.zeros(2, int)))
    root = env._env.simulator.robot_root_states[0].numpy()
    np.testing.assert_allclose(root, [1, 2, 3, 1, 0, 0, 0, 4, 5, 6, 0.1, -0.2, -0.3], atol=1e-6)
    np.testing.assert_allclose(env._env.simulator.dof_state[:3].numpy(), [[0.1, 7], [0.2, 8], [0.3, 9]], atol=1e-6)


def test_velocity_multiplier_and_own_backward_observation(env):
    plain, double_speed = HumanoidVerseMotions(env), HumanoidVerseMotions(env, velocity_multiplier=2.0)
    assert double_speed.observations()["state"][0, -1] == 2 * plain.observations()["state"][0, -1] == 1.0
    own = HumanoidVerseMotions(env, backward_observation=lambda inner, m: {"x": np.full((4, 2), float(m))})
    assert own.observations()["x"].shape == (5 * 3, 2)


def test_the_privileged_observation_has_the_documented_layout(env):
    bodies = len(double.BODIES) + 1
    privileged = HumanoidVerseMotions(env).observations()["privileged_state"]
    assert privileged.shape[1] == 1 + 3 * (bodies - 1) + 12 * bodies
    assert privileged[0, 0] == pytest.approx(0.8)
    env._env.config.obs.root_height_obs = False
    assert HumanoidVerseMotions(env).observations()["privileged_state"].shape[1] == privileged.shape[1] - 1


def test_log_keys(env):
    logger = DictLogger()
    cfg = TrackingEvaluationCfg(name_in_logs="isaac", max_workers=1, targets={"emd": 0.75, "proximity": 0.5})
    metrics, log = TrackingEvaluation(cfg).run(
        timestep=7, agent_or_model=double.Tracker(), logger=logger, env=env, replay_buffer=None
    )
    assert logger.history[7]["eval/isaac/emd"] == log["emd"]
    assert logger.history[7]["eval/isaac/emd#std"] == log["emd#std"]
    assert logger.history[7]["eval/isaac/passed"] == 1.0
    assert metrics["walk"]["passed"] is True
    assert "eval/isaac/motion_id" not in logger.history[7]


def test_two_motions_of_one_name_are_refused(env):
    env._env._motion_lib._motion_data_keys[1] = "walk"
    with pytest.raises(InputError, match="has walk more than once; rename one of each"):
        HumanoidVerseMotions(env)


def test_an_unknown_anchor_is_named(env):
    with pytest.raises(InputError, match='has no body "chest"'):
        HumanoidVerseEnvironment(env, anchor="chest")
