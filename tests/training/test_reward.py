"""Reward evaluation: z from a replay buffer, all episodes counted, training left as it was."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import built_in_robot, needs_frames

from proctor import ConfigError, DictLogger
from proctor.errors import InputError
from proctor.suites.tracking.tasks import task_reward
from proctor.training import reward_inference
from proctor.training.reward import RewardEvaluation, RewardEvaluationCfg
from proctor.training.reward_inference import draw_samples, infer_latents, sample_weights

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

ROBOT = built_in_robot()
JOINTS = ROBOT.description.joint_names
SHORT: dict[str, Any] = {"max_episode_length_s": 0.2, "num_episodes": 3, "num_inference_samples": 200}
ARMS = ("raisearms-h-h", "raisearms-l-l")


def arms_up() -> np.ndarray:
    """Joint angles (J,) of the default pose with both arms up."""
    pose = ROBOT.description.default_pose.copy()
    for side in ("left", "right"):
        pose[JOINTS.index(f"{side}_shoulder_pitch_joint")] = -3.0
        pose[JOINTS.index(f"{side}_elbow_joint")] = 1.57
    return pose


class PoseModel:
    """Its latent is a pose: the joint angles of a state, seen from the default pose, and it acts by taking that
    pose."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.size = float(np.linalg.norm(arms_up() - ROBOT.description.default_pose))

    def backward_map(self, obs: Any) -> Any:
        self.rows.append(len(obs["state"]))
        return obs["state"][:, : len(JOINTS)]

    def project_z(self, z: Any) -> Any:
        return z.shape[-1] ** 0.5 * z / np.maximum(np.linalg.norm(z, axis=-1, keepdims=True), 1e-12)

    def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
        assert mean
        assert len(obs["state"]) == len(z)
        return z / len(JOINTS) ** 0.5 * self.size / ROBOT.description.action_scale


class StillModel(PoseModel):
    """Infers, and holds the default pose whatever it is asked for."""

    def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
        return 0 * z


def buffer(rows: int = 300, seed: int = 0) -> dict[str, Any]:
    """Standing robots, half of them with raised arms."""
    rng = np.random.default_rng(seed)
    qpos = np.tile(ROBOT.default_qpos, (rows, 1))
    qpos[::2, 7:] = arms_up()
    qpos[:, 7:] += rng.normal(0, 0.02, (rows, len(JOINTS)))
    qvel = rng.normal(0, 0.02, (rows, ROBOT.model.nv))
    state = np.concatenate([qpos[:, 7:] - ROBOT.description.default_pose, qvel], axis=1)
    action = rng.normal(0, 1.0, (rows, len(JOINTS)))
    return {"action": action, "next": {"observation": {"state": state}, "qpos": qpos, "qvel": qvel}}


def run(model: Any = None, replay_buffer: Any = None, timestep: int = 7, **keys: Any) -> Any:
    evaluation = RewardEvaluation(RewardEvaluationCfg(**{"tasks": ARMS, **SHORT, **keys}))
    try:
        return evaluation.run(
            timestep=timestep, agent_or_model=model or PoseModel(), replay_buffer=replay_buffer or buffer()
        )
    finally:
        evaluation.close()


def rewards_of_samples(n: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rewards (2, n) and what a model makes of the states (n, 5)."""
    rng = np.random.default_rng(seed)
    return rng.random((2, n)), rng.normal(size=(n, 5))


class Maps:
    """A model whose latent of a state is the state."""

    def backward_map(self, obs: Any) -> Any:
        return obs

    def project_z(self, z: Any) -> Any:
        return z.shape[-1] ** 0.5 * z / np.linalg.norm(z, axis=-1, keepdims=True)


def by_hand(rewards: np.ndarray, states: np.ndarray, method: str) -> np.ndarray:
    total = np.zeros(states.shape[1])
    normal = sum(np.exp(10 * r) for r in rewards)
    for r, state in zip(rewards, states, strict=True):
        weight = np.exp(10 * r) / normal if method == "reward_wr" else 1.0
        total += weight * r * state
    return np.sqrt(len(total)) * total / np.linalg.norm(total)


@pytest.mark.parametrize("method", ["reward", "reward_wr"])
def test_z_is_the_sum_that_a_loop_computes(method: Any) -> None:
    rewards, states = rewards_of_samples()
    found = infer_latents(Maps(), states, sample_weights(rewards, method))
    assert np.allclose(found, [by_hand(r, states, method) for r in rewards], rtol=1e-12)


@pytest.mark.parametrize("method", ["reward", "reward_wr"])
def test_order_and_blocks_of_samples_change_nothing(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rewards, states = rewards_of_samples()
    whole = infer_latents(Maps(), states, sample_weights(rewards, method))
    order = np.random.default_rng(1).permutation(len(states))
    mixed = infer_latents(Maps(), states[order], sample_weights(rewards[:, order], method))
    monkeypatch.setattr(reward_inference, "ROWS_AT_ONCE", 7)
    blocks = infer_latents(Maps(), states, sample_weights(rewards, method))
    assert np.allclose(mixed, whole, rtol=1e-12)
    assert np.allclose(blocks, whole, rtol=1e-12)


def test_the_scale_of_a_reward_does_not_matter_and_every_sample_twice_is_the_same() -> None:
    rewards, states = rewards_of_samples()
    whole = infer_latents(Maps(), states, sample_weights(rewards, "reward"))
    assert np.allclose(infer_latents(Maps(), states, sample_weights(0.01 * rewards, "reward")), whole, rtol=1e-12)
    for method in ("reward", "reward_wr"):
        once = infer_latents(Maps(), states, sample_weights(rewards, method))
        again = infer_latents(Maps(), np.tile(states, (2, 1)), sample_weights(np.tile(rewards, 2), method))
        assert np.allclose(again, once, rtol=1e-12)


def test_weights_sum_to_one_or_are_nothing() -> None:
    weights = sample_weights(np.array([[0.0, 1.0, 3.0], [0.0, 0.0, 0.0]]), "reward")
    assert weights[0].tolist() == [0.0, 0.25, 0.75]
    assert np.isnan(weights[1]).all()
    assert np.allclose(sample_weights(np.array([0.2, 0.4, 1.0]), "reward_wr").sum(), 1.0)


class TorchMaps(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(5, 5, bias=False)
        self.frozen = torch.nn.Dropout(0.5).eval()
        self.seen: set[str] = set()

    def backward_map(self, obs: Any) -> Any:
        self.seen.add(f"{obs.dtype} {self.training}")
        return self.layer(obs)

    def project_z(self, z: Any) -> Any:
        return z.shape[-1] ** 0.5 * torch.nn.functional.normalize(z, dim=-1)


def test_torch_models_get_tensors_of_their_own_and_no_gradients() -> None:
    rewards, states = rewards_of_samples()
    model = TorchMaps()
    weights = sample_weights(rewards, "reward")
    found = infer_latents(model, states, weights)
    assert not found.requires_grad
    mapped = states @ model.layer.weight.detach().numpy().T.astype(np.float64)
    assert np.allclose(found.numpy(), infer_latents(Maps(), mapped, weights), rtol=1e-4, atol=1e-5)
    assert {seen.split()[0] for seen in model.seen} == {"torch.float32"}


def test_the_model_takes_the_pose_that_earns_the_reward() -> None:
    """The latent of raised arms is inferred from the samples that have them: acting on it raises the arms."""
    metrics, log = run(max_episode_length_s=0.6)
    still, _ = run(StillModel(), max_episode_length_s=0.6)
    assert metrics["raisearms-h-h"]["reward"] > 0.01
    assert still["raisearms-h-h"]["reward"] < 1e-4
    assert still["raisearms-l-l"]["reward"] > 0.5
    assert log["raisearms-h-h/reward"] == metrics["raisearms-h-h"]["reward"]


def test_every_episode_counts() -> None:
    metrics, log = run(num_episodes=5)
    for numbers in metrics.values():
        episodes = numbers["episode_rewards"]
        assert (numbers["n_episodes"], len(episodes), len(set(episodes))) == (5, 5, 5)
        assert numbers["reward"] == pytest.approx(np.mean(episodes))
        assert numbers["return"] == pytest.approx(10 * np.mean(episodes)), "0.2 s are 10 steps"
    means = [numbers["reward"] for numbers in metrics.values()]
    assert log["reward"] == pytest.approx(np.mean(means))
    assert log["reward#std"] == pytest.approx(np.std(means))
    assert log["n_episodes"] == 10.0
    for name in ARMS:
        assert log[f"{name}/reward#std"] == pytest.approx(np.std(metrics[name]["episode_rewards"]))


def test_the_number_of_worlds_threads_and_other_tasks_changes_nothing() -> None:
    together, _ = run()
    assert run(num_envs=1, max_workers=1)[0] == together
    assert run(num_envs=4)[0] == together
    assert run(tasks=ARMS[:1])[0] == {ARMS[0]: together[ARMS[0]]}


def test_seed_and_time_step_decide() -> None:
    first, _ = run()
    assert run()[0] == first
    assert run(seed=1)[0] != first
    assert run(timestep=8, num_inference_samples=20)[0] != run(num_inference_samples=20)[0], "other samples, other z"


def test_an_agent_acts_itself_and_its_model_infers() -> None:
    class Agent:
        def __init__(self) -> None:
            self._model, self.calls = PoseModel(), 0

        def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
            self.calls += 1
            return self._model.act(obs, z, mean)

    agent = Agent()
    assert run(agent)[0] == run()[0]
    assert agent.calls == 10
    assert agent._model.rows == [200], "one call for the samples of all tasks"


def test_logs_have_the_name_of_the_evaluation() -> None:
    logger = DictLogger()
    cfg = RewardEvaluationCfg(tasks="crouch-0.4", name_in_logs="rewards", **SHORT)
    _, log = RewardEvaluation(cfg).run(
        timestep=3, agent_or_model=PoseModel(), replay_buffer={"train": buffer()}, logger=logger, env=object()
    )
    assert logger.history[3] == {f"eval/rewards/{key}": value for key, value in log.items()}
    assert {"reward", "reward#std", "crouch-0.4/reward", "n_broken"} <= log.keys()


class TorchPose(torch.nn.Module):
    """The pose model as a module, which breaks when it is told to."""

    def __init__(self, fails: bool = False):
        super().__init__()
        self.weight, self.fails = torch.nn.Parameter(torch.zeros(1)), fails
        self.frozen = torch.nn.Dropout().eval()

    def backward_map(self, obs: Any) -> Any:
        random.random(), np.random.rand(), torch.rand(1)  # noqa: NPY002
        assert not self.training
        return obs["state"][:, : len(JOINTS)]

    def project_z(self, z: Any) -> Any:
        return torch.nn.functional.normalize(z, dim=-1)

    def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
        if self.fails:
            raise RuntimeError("the agent broke")
        return 0 * z


@pytest.mark.parametrize("fails", [False, True])
def test_training_is_as_it_was(fails: bool) -> None:
    model = TorchPose(fails).train()
    model.frozen.eval()
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    if fails:
        with pytest.raises(RuntimeError, match="the agent broke"):
            run(model)
    else:
        run(model)
    after = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert after == before
    assert (model.training, model.frozen.training) == (True, False)


class TorchBuffer:
    """A buffer that draws from torch's global generator, as most do."""

    def __init__(self) -> None:
        data = buffer()
        self.data: Any = {
            "action": torch.as_tensor(data["action"]),
            "next": {
                "observation": {k: torch.as_tensor(data["next"][k]) for k in ("qpos", "qvel")}
                | {"state": torch.as_tensor(data["next"]["observation"]["state"])}
            },
        }

    def sample(self, n: int, /) -> Any:
        rows = torch.randint(len(self.data["action"]), (n,))
        observation = {key: value[rows] for key, value in self.data["next"]["observation"].items()}
        return {"action": self.data["action"][rows], "next": {"observation": observation}}


def test_buffers_that_draw_from_global_generators_give_the_same_again() -> None:
    one, two = TorchPose(), TorchPose()
    first = run(one, {"train": TorchBuffer()})[0]
    torch.rand(5)
    assert run(two, {"train": TorchBuffer()})[0] == first


def test_a_mapping_is_sampled_without_replacement() -> None:
    data = buffer(30)
    few = draw_samples(data, 10, np.random.default_rng(0))
    all_of_it = draw_samples(data, 100, np.random.default_rng(0))
    assert len(np.unique(few.qpos, axis=0)) == 10
    assert np.array_equal(all_of_it.qpos, data["next"]["qpos"])
    rows = [int(np.flatnonzero((data["next"]["qpos"] == q).all(axis=1))[0]) for q in few.qpos]
    assert np.array_equal(few.action, data["action"][rows])
    assert np.array_equal(few.observation["state"], data["next"]["observation"]["state"][rows])


def test_actions_that_are_not_finite_earn_nothing_and_harm_no_other_episode() -> None:
    class Breaks(StillModel):
        steps = 0

        def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
            actions, self.steps = super().act(obs, z, mean), self.steps + 1
            if self.steps > 4:
                actions[4] = np.nan
            return actions

    sound, _ = run(StillModel())
    broken, log = run(Breaks())
    assert broken[ARMS[0]] == sound[ARMS[0]]
    hurt, whole = (numbers[ARMS[1]]["episode_rewards"] for numbers in (broken, sound))
    assert hurt[0] == whole[0]
    assert hurt[2] == whole[2]
    assert hurt[1] < 0.5 * whole[1]
    assert (broken[ARMS[1]]["n_broken"], broken[ARMS[1]]["n_episodes"], log["n_broken"]) == (1, 3, 1.0)


def test_a_task_that_no_sample_earns_anything_in_has_no_number() -> None:
    fallen = buffer()
    fallen["next"]["qpos"][:, 3:7] = (0, 1, 0, 0)
    metrics, log = run(replay_buffer=fallen, tasks=("move-ego-0-0", "rotate-x-0-0"), num_episodes=1)
    assert np.isnan(metrics["move-ego-0-0"]["reward"])
    assert metrics["move-ego-0-0"]["n_episodes"] == 0
    assert "move-ego-0-0/reward" not in log
    assert (log["reward#n"], log["reward#missing"]) == (1.0, 1.0)
    assert log["reward"] == metrics["rotate-x-0-0"]["reward"] > 0


def test_the_relabelled_reward_is_that_of_the_task() -> None:
    """z of `reward` is the reward-weighted mean of what the model sees."""
    data, captured = buffer(40), {}

    class Keeps(PoseModel):
        def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
            captured["z"] = z[0]
            return 0 * z

    run(Keeps(), data, tasks=ARMS[:1], inference="reward", num_episodes=1)
    earned = task_reward(ARMS[0], ROBOT)(data["next"]["qpos"], data["next"]["qvel"], data["action"])
    summed = earned @ data["next"]["observation"]["state"][:, : len(JOINTS)]
    assert np.allclose(captured["z"], np.sqrt(len(JOINTS)) * summed / np.linalg.norm(summed), rtol=1e-9)


def test_episodes_may_start_in_motions() -> None:
    standing, _ = run(num_episodes=1)
    moving, _ = run(num_episodes=1, motions="procedural:squat")
    assert moving != standing


def test_videos_are_of_the_first_episode_of_every_task(tmp_path: Path) -> None:
    pytest.importorskip("av", reason="the extra `video` is not installed")
    needs_frames()
    run(generate_videos=True, videos_dir=str(tmp_path), video_name_prefix="me", max_episode_length_s=0.06)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"me_7_{name}.mp4" for name in ARMS]


def test_a_replay_buffer_is_required() -> None:
    assert RewardEvaluationCfg.requires_replay_buffer()
    evaluation = RewardEvaluation(RewardEvaluationCfg(**SHORT))
    with pytest.raises(InputError, match="infers z from a replay buffer; pass replay_buffer="):
        evaluation.run(timestep=0, agent_or_model=PoseModel())
    with pytest.raises(InputError, match="cannot infer z with a object: expected a model with backward_map"):
        evaluation.run(timestep=0, agent_or_model=object(), replay_buffer=buffer())


def without(*path: str) -> dict[str, Any]:
    data = buffer(4)
    place = data
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return data


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (object(), "replay_buffer is a object; expected an object with sample"),
        (without("action"), r"has no action \(found next\)"),
        (without("next"), r"has no next \(found action\)"),
        (without("next", "observation"), r"has no next.observation \(found qpos, qvel\)"),
        (without("next", "qpos"), r"has no next.qpos \(found next: observation, qvel\); a reward is a function of"),
        ({**buffer(4), "action": np.zeros((0, 29))}, "the replay buffer is empty"),
        ({**buffer(4), "action": np.zeros((4, 23))}, r"the buffer's action has shape \(4, 23\); expected \(4, 29\)"),
    ],
)
def test_what_a_buffer_lacks_is_named(data: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        run(replay_buffer=data)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"tasks": ["jmp-1"]}, "the nearest form is jump-{height}"),
        ({"tasks": []}, "tasks: found an empty list; expected at least 1 entry"),
        ({"tasks": ["jump-1", "jump-1.0"]}, "jump-1 is named twice"),
        ({"n_episodes_per_motion": 2}, "keys of a tracking evaluation, which rewards do not use"),
        ({"max_episode_length_s": None}, "a reward task has no end of its own"),
        ({"num_episode": 3}, "num_episode: unknown key; expected one of "),
        ({"num_episode": 3}, 'did you mean "num_episodes"?'),
        ({"inference": "max"}, 'inference: found "max"; expected one of reward, reward_wr'),
    ],
)
def test_wrong_options_are_named(keys: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=r"^RewardEvaluationCfg: 1 problem") as error:
        RewardEvaluationCfg(**keys)
    assert text in str(error.value)
    assert "pydantic" not in str(error.value)


def test_a_model_of_the_wrong_shape_is_named() -> None:
    class Flat(PoseModel):
        def backward_map(self, obs: Any) -> Any:
            return np.zeros(3)

    class Wide(PoseModel):
        def act(self, obs: Any, z: Any, mean: bool = True) -> Any:
            return np.zeros((len(z), 23))

    class Lost(PoseModel):
        def backward_map(self, obs: Any) -> Any:
            return np.full((len(obs["state"]), 4), np.nan)

    with pytest.raises(InputError, match=r"backward_map gave \(3,\) for 200 states; expected \(200, d\)"):
        run(Flat())
    with pytest.raises(InputError, match=r"act gave actions of shape \(6, 23\); expected \(6, 29\)"):
        run(Wide())
    with pytest.raises(InputError, match="the inferred z is not finite"):
        run(Lost())
