"""Train the networks that the quickstart examines, and write them as ONNX.

    python examples/train_quickstart.py

One small network per task, trained with PPO on one core in a few minutes. Two files come out, each with all
tasks in it (see `stacked_graph`): `checkpoints/network.onnx`, the trained networks, and
`checkpoints/network_early.onnx`, the same after a tenth of the training. What they reach is printed, over
episodes that the quickstart does not use.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnx
import torch
from agents.network import TaskNetwork
from onnx import TensorProto, helper, numpy_helper
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from proctor.plan.trial import Trial
from proctor.policies.protocol import Batch, SpaceInfo

HERE = Path(__file__).parent
EARLY_SHARE = 0.1
EVALUATION_SEED = 1_000_000

Layer = tuple[np.ndarray, np.ndarray]
"""Weights `(inputs, outputs)` and biases `(outputs,)`."""


@dataclass(frozen=True)
class Recipe:
    """How one task is trained: PPO's settings, on `env` copies of it, for `steps` steps in all."""

    env: str
    copies: int
    steps: int
    ppo: dict[str, Any] = field(default_factory=dict)


RECIPES = {
    "cartpole": Recipe(
        "CartPole-v1",
        copies=8,
        steps=60_000,
        ppo={"n_steps": 64, "batch_size": 256, "gae_lambda": 0.8, "gamma": 0.98, "learning_rate": 1e-3},
    ),
    "pendulum": Recipe(
        "Pendulum-v1",
        copies=4,
        steps=150_000,
        ppo={"n_steps": 1024, "gamma": 0.9, "learning_rate": 1e-3, "use_sde": True, "sde_sample_freq": 4},
    ),
    "acrobot": Recipe(
        "Acrobot-v1", copies=16, steps=120_000, ppo={"n_steps": 256, "gae_lambda": 0.94, "n_epochs": 4}
    ),
    "reacher": Recipe(
        "Reacher-v5",
        copies=8,
        steps=400_000,
        ppo={
            "n_steps": 256,
            "batch_size": 256,
            "gae_lambda": 0.9,
            "gamma": 0.95,
            "learning_rate": lambda left: 1e-3 * left,
            "policy_kwargs": {"log_std_init": -1.0},
        },
    ),
}


def train(recipe: Recipe, seed: int) -> tuple[list[Layer], list[Layer]]:
    """The policy network's layers after a tenth of the training, and after all of it."""
    envs = DummyVecEnv([lambda: gymnasium.make(recipe.env)] * recipe.copies)
    normalised = VecNormalize(envs, gamma=recipe.ppo.get("gamma", 0.99))
    model = PPO("MlpPolicy", normalised, seed=seed, device="cpu", **recipe.ppo)
    early_steps = int(EARLY_SHARE * recipe.steps)
    model.learn(early_steps)
    early = layers(model, normalised)
    model.learn(recipe.steps - early_steps, reset_num_timesteps=False)
    envs.close()
    return early, layers(model, normalised)


def layers(model: PPO, normalised: VecNormalize) -> list[Layer]:
    """The layers of the policy network, with the normalisation of observations folded into the first."""
    linear = [
        m
        for m in (*model.policy.mlp_extractor.policy_net, model.policy.action_net)
        if isinstance(m, torch.nn.Linear)
    ]
    weights = [
        (m.weight.detach().numpy().T.astype(np.float64), m.bias.detach().numpy().astype(np.float64))
        for m in linear
    ]
    statistics = normalised.obs_rms
    assert not isinstance(statistics, dict)
    scale = 1.0 / np.sqrt(statistics.var + normalised.epsilon)
    first_weight, first_bias = weights[0]
    weights[0] = (first_weight * scale[:, None], first_bias - (statistics.mean * scale) @ first_weight)
    return weights


def stack(networks: list[list[Layer]]) -> list[Layer]:
    """Networks of equal depth as layers with a leading task axis, zero-padded to the widest one."""
    stacked = []
    for same_depth in zip(*networks, strict=True):
        inputs, outputs = (max(weight.shape[axis] for weight, _ in same_depth) for axis in (0, 1))
        weight = np.zeros((len(networks), inputs, outputs), np.float32)
        bias = np.zeros((len(networks), 1, outputs), np.float32)
        for task, (w, b) in enumerate(same_depth):
            weight[task, : w.shape[0], : w.shape[1]] = w
            bias[task, 0, : len(b)] = b
        stacked.append((weight, bias))
    return stacked


def stacked_graph(stacked: list[Layer], tasks: list[str]) -> onnx.ModelProto:
    """An ONNX graph `observation (rows, widest), task (rows) -> output (rows, widest)`: each row picks the
    weights of its task. The task names are in the file's metadata, in the order of the index."""
    constants = {"one": np.array([1])}
    nodes = [helper.make_node("Unsqueeze", ["observation", "one"], ["x0"])]
    for i, (weight, bias) in enumerate(stacked):
        constants |= {f"weight{i}": weight, f"bias{i}": bias}
        last = i == len(stacked) - 1
        nodes += [
            helper.make_node("Gather", [f"weight{i}", "task"], [f"w{i}"]),
            helper.make_node("Gather", [f"bias{i}", "task"], [f"b{i}"]),
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]),
            helper.make_node("Add", [f"y{i}", f"b{i}"], [f"z{i}"]),
            helper.make_node("Squeeze", [f"z{i}", "one"], ["output"])
            if last
            else helper.make_node("Tanh", [f"z{i}"], [f"x{i + 1}"]),
        ]
    graph = helper.make_graph(
        nodes,
        "stacked",
        [
            helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["rows", stacked[0][0].shape[1]]),
            helper.make_tensor_value_info("task", TensorProto.INT64, ["rows"]),
        ],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["rows", stacked[-1][0].shape[2]])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {"tasks": ",".join(tasks)})
    onnx.checker.check_model(model)
    return model


def returns(checkpoint: Path, task: str, episodes: int = 20) -> np.ndarray:
    """Returns of the written network, one per episode."""
    env = gymnasium.make(RECIPES[task].env)
    policy = TaskNetwork(str(checkpoint), SpaceInfo(action={task: env.action_space}))
    totals = np.zeros(episodes)
    for episode in range(episodes):
        trial = Trial("network", task, episode, EVALUATION_SEED + episode)
        observation, _ = env.reset(seed=trial.seed)
        done = False
        while not done:
            action = policy.act(Batch(observation[None], None, [trial.policy_rng()], [trial]))[0]
            observation, reward, terminated, truncated, _ = env.step(action)
            totals[episode] += float(reward)
            done = terminated or truncated
    env.close()
    return totals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "checkpoints")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    tasks = list(RECIPES)
    trained = {task: train(recipe, arguments.seed) for task, recipe in RECIPES.items()}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for which, name in enumerate(("network_early.onnx", "network.onnx")):
        path = arguments.out / name
        onnx.save(stacked_graph(stack([trained[task][which] for task in tasks]), tasks), path)
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
        for task in tasks:
            totals = returns(path, task)
            print(
                f"  {task:<10} return {totals.mean():8.1f} +- {totals.std():.1f} over {len(totals)} episodes"
            )


if __name__ == "__main__":
    main()
