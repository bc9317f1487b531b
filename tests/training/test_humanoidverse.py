from __future__ import annotations

import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import humanoidverse_double as double  # noqa: E402

from proctor import DictLogger, TrackingEvaluation, TrackingEvaluationCfg  # noqa: E402
from proctor.errors import InputError  # noqa: E402
from proctor.training.curriculum import Curriculum  # noqa: E402
from proctor.training.humanoidverse import (  # noqa: E402
    HumanoidVerseBuffer,
    HumanoidVerseEnvironment,
    HumanoidVerseMotions,
)
from proctor.training.lent import Starts  # noqa: E402


def motion(frames, phase=0.0):
    t = np.arange(frames) * 0.1
    joints = np.stack([0.3 * np.sin(t + phase), 0.2 * np.cos(t), 0.1 * t], axis=1)
    return np.concatenate([np.tile([0.0, 0.0, 0.8], (frames, 1)), joints], axis=1)


MOTIONS = {"walk": motion(13), "squat": motion(31, 1.0), "kick": motion(8, 2.0), "wave": motion(6), "bow": motion(26)}
# A motion of n samples is n - 1 intervals long, which are as many frames; but HumanoidVerse counts them in float32,
# where 0.6 s at 0.02 s are a little more than 30.
FRAMES = {"walk": 12, "squat": 31, "kick": 7, "wave": 5, "bow": 25}


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
        assert values["frames_compared"] == FRAMES[name]
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
        ("backward_map", sum(FRAMES.values()) - len(MOTIONS))
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
    """Everything that training goes on from, but the worlds themselves."""
    inner = {key: value for key, value in vars(env._env).items() if key not in ("simulator", "_motion_lib")}
    inner.pop("episode_length_buf"), inner.pop("pushed")
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),  # noqa: NPY002
        "torch": torch.get_rng_state().numpy().tobytes(),
        "threads": torch.get_num_threads(),
        "modes": [module.training for module in model.modules()],
        "environment": {key: plain(value) for key, value in inner.items()},
        "library": {key: plain(value) for key, value in vars(env._env._motion_lib).items()},
        "parameters": [p.detach().clone().tolist() for p in model.parameters()],
        "gradients": [p.grad for p in model.parameters()],
    }


def plain(value):
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, torch.Tensor | np.ndarray) else value


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
    before = snapshot(env, model)
    assert len(before["library"]["_motion_lengths"]) == 2, "as many motions as worlds are loaded, of 5"
    if kind is Breaks:
        with pytest.raises(RuntimeError, match="the model broke"):
            evaluate(env, model)
    else:
        evaluate(env, model)
    assert snapshot(env, model) == before


def test_a_library_that_holds_all_motions_stays_so(big):
    before = snapshot(big, double.Tracker())
    assert before["library"]["all_motions_loaded"]
    evaluate(big)
    assert snapshot(big, double.Tracker()) == before


def test_pushes_go_on_while_it_evaluates_as_in_the_original(env):
    evaluate(env)
    assert env._env.pushed > 0
    assert env._env.is_evaluating is False


def test_motions_can_be_asked_for_while_the_library_holds_a_part_of_them(env):
    source = HumanoidVerseMotions(env)
    held = env._env._motion_lib._curr_motion_ids.tolist()
    assert source.lengths.tolist() == list(FRAMES.values())
    np.testing.assert_allclose(source.track(3).joint_pos, MOTIONS["wave"][:5, 3:], atol=1e-6)
    assert env._env._motion_lib._curr_motion_ids.tolist() == held


def test_a_world_that_resets_itself_is_cut_there_and_the_cut_is_reported(env, monkeypatch):
    monkeypatch.setattr("proctor.training.humanoidverse.environment.UNLIMITED_STEPS", 10)
    metrics, log = evaluate(env)
    assert metrics["kick"]["frames_cut"] == 0
    assert metrics["squat"]["frames_cut"] == FRAMES["squat"] - 11
    assert metrics["squat"]["distance"] == pytest.approx(0.0, abs=1e-5)
    assert log["frames_cut"] > 0


def test_weights_go_to_the_library_by_id(env):
    source = HumanoidVerseMotions(env)
    metrics = {name: {"emd": 0.5} for name in MOTIONS} | {"kick": {"emd": 2.0}}
    Curriculum().update(metrics, source)
    np.testing.assert_allclose(env._env._motion_lib._sampling_prob, np.array([2, 2, 16, 2, 2]) / 24)


HARD = {name: {"emd": 0.5} for name in MOTIONS} | {"kick": {"emd": 2.0}}


def test_the_expert_buffer_takes_priorities_as_it_is(env):
    """It takes tensors alone, in an order of its own, and has no `names`."""
    buffer = double.TrajectoryDictBuffer([2, 0, 1, 4, 3], ["kick", "walk", "squat", "bow", "wave"])
    Curriculum().update(HARD, HumanoidVerseMotions(env), buffer)
    torch.testing.assert_close(buffer.priorities, torch.tensor([16.0, 2.0, 2.0, 2.0, 2.0]) / 24)


def test_an_expert_buffer_without_names_has_those_of_the_motions_it_numbers(env):
    buffer = double.TrajectoryDictBuffer([3, 2, 1, 0, 4])
    Curriculum().update(HARD, HumanoidVerseMotions(env), buffer)
    torch.testing.assert_close(buffer.priorities, torch.tensor([2.0, 16.0, 2.0, 2.0, 2.0]) / 24)


def test_an_expert_buffer_without_any_names_is_refused():
    with pytest.raises(InputError, match="5 trajectories and 0 names; give one for each: HumanoidVerseBuffer"):
        Curriculum().update(HARD, buffer=double.TrajectoryDictBuffer([0, 1, 2, 3, 4]))
    with pytest.raises(InputError, match="has motion 7, but the library 5 motions"):
        HumanoidVerseBuffer(double.TrajectoryDictBuffer([7]), library_names=list(MOTIONS))


def test_nothing_is_changed_where_the_buffer_refuses(env):
    class Refuses(double.TrajectoryDictBuffer):
        def update_priorities(self, priorities, idxs):
            super().update_priorities(priorities, idxs)
            raise RuntimeError("the buffer is being sampled")

    library, buffer = env._env._motion_lib, Refuses([0, 1, 2, 3, 4], list(MOTIONS))
    before = [value.clone() for value in (library._sampling_prob, library._sampling_batch_prob, buffer.priorities)]
    with pytest.raises(RuntimeError, match="being sampled"):
        Curriculum().update(HARD, HumanoidVerseMotions(env), buffer)
    after = (library._sampling_prob, library._sampling_batch_prob, buffer.priorities)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


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
    np.testing.assert_allclose(env._env.simulator.dof_state[0].numpy(), [[0.1, 7], [0.2, 8], [0.3, 9]], atol=1e-6)


LYING = (0.5, 0.5, 0.5, 0.5)


@pytest.fixture(params=["IsaacSim", "IsaacGym", "MuJoCo"])
def lying(request):
    """A reference that lies on its side, under each simulator's convention."""
    yield double.build(1 if request.param == "MuJoCo" else 5, MOTIONS, simulator=request.param, root_rot=LYING)
    double.close()


def test_robots_start_in_the_references_orientation_whatever_the_simulator_takes(lying):
    metrics, _ = evaluate(lying)
    for values in metrics.values():
        assert values["root_rot_error_rad"] == pytest.approx(0.0, abs=1e-3)
        assert values["mpjpe_xpos"] == pytest.approx(0.0, abs=1e-2)
        assert values["root_pos_error_m"] == pytest.approx(0.0, abs=1e-5), "worlds stand on a grid; its places are not"


@pytest.mark.parametrize("simulator", ["IsaacSim", "IsaacGym"])
def test_a_start_in_another_orientation_than_the_references_is_refused(simulator):
    wrong = {"IsaacSim": "xyzw", "IsaacGym": "wxyz"}[simulator]
    env = double.build(2, MOTIONS, simulator=simulator, root_rot=(0.0, 0.7071068, 0.0, 0.7071068))
    try:
        with pytest.raises(InputError) as error:
            evaluate(HumanoidVerseEnvironment(env, written=wrong))
    finally:
        double.close()
    assert "starts motion" in str(error.value)
    assert "gravity in the root's frame is [-1.0, 0.0, 0.0], the reference's is [1.0, 0.0, 0.0]" in str(error.value)
    assert 'HumanoidVerseEnvironment(env, written="wxyz" or "xyzw")' in str(error.value)


@pytest.fixture
def alone():
    yield double.build(1, MOTIONS, simulator="MuJoCo")
    double.close()


def test_names_of_bodies_that_the_simulator_does_not_have_are_left_out(alone):
    """HumanoidVerse's MuJoCo class hands out the list that the environment appends a head to."""
    assert alone._env.simulator.body_names[-1] == double.HEAD
    assert HumanoidVerseEnvironment(alone).body_names == double.BODIES
    assert HumanoidVerseMotions(alone).body_names == ("pelvis", "torso_link", "shin")
    assert evaluate(alone)[1]["emd"] == pytest.approx(0.0, abs=1e-5)


def test_an_episode_in_mujoco_is_a_function_of_its_motion_alone(alone):
    """Its class turns the new angular velocity by the orientation that the last episode ended in; `legacy` leaves that
    to the original's comparison."""

    def turning(legacy):
        lent = HumanoidVerseEnvironment(alone, legacy=legacy)
        alone._env.simulator.data.qpos[3:7] = [0.5, 0.5, 0.5, 0.5]
        qpos = np.array([[0.0, 0.0, 0.8, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
        qvel = np.array([[0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.0, 0.0, 0.0]])
        lent.reset(Starts(np.array([0]), np.array([0]), qpos, qvel, np.array([0])))
        return alone._env.simulator.data.qvel[3:6].copy()

    np.testing.assert_allclose(turning(None), [0.1, 0.2, 0.3], atol=1e-6)
    assert abs(turning("bfm_zero") - [0.1, 0.2, 0.3]).max() > 0.05


def test_legacy_runs_motions_in_their_order_and_computes_contexts_one_by_one(alone):
    """A network rounds a row otherwise in a batch of another size, and what a simulator keeps depends on the order."""
    model = double.Tracker()
    evaluate(alone, model, legacy="bfm_zero")
    calls = [call for call in model.calls if call[0] == "backward_map"]
    assert calls == [("backward_map", frames - 1) for frames in FRAMES.values()]


def test_bodies_without_names_are_refused(env):
    env._env.simulator.body_names = ["pelvis", "torso_link"]
    with pytest.raises(InputError, match="has 4 bodies but names 2"):
        HumanoidVerseEnvironment(env)


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
