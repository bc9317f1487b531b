"""Train the networks that the quickstart examines, and write them as ONNX.

    python examples/train_quickstart.py

One small network per task, trained with PPO on one core in a few minutes. Two files come out with all
tasks in it (see `stacked_model`): `checkpoints/network.onnx`, the trained networks, and
`checkpoints/network_early.onnx`, the same after a tenth of the training. `checkpoints/cartpole.onnx` is the
network for one task alone, as the `onnx` loader takes it. What they reach is printed, over episodes that the
quickstart does not use.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
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
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from proctor import Batch, SpaceInfo, Trial

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
    "acrobot": Recipe("Acrobot-v1", copies=16, steps=120_000, ppo={"n_steps": 256, "gae_lambda": 0.94, "n_epochs": 4}),
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
    model.set_logger(Logger(folder=None, output_formats=[]))  # SB3's own would leave a folder in /tmp
    early_steps = int(EARLY_SHARE * recipe.steps)
    model.learn(early_steps)
    early = layers(model, normalised)
    model.learn(recipe.steps - early_steps, reset_num_timesteps=False)
    envs.close()
    return early, layers(model, normalised)


def layers(model: PPO, normalised: VecNormalize) -> list[Layer]:
    """The layers of the policy network, with the normalisation of observations folded into the first."""
    linear = [
        m for m in (*model.policy.mlp_extractor.policy_net, model.policy.action_net) if isinstance(m, torch.nn.Linear)
    ]
    weights = [
        (m.weight.detach().numpy().T.astype(np.float64), m.bias.detach().numpy().astype(np.float64)) for m in linear
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


def stacked_model(stacked: list[Layer], tasks: list[str]) -> onnx.ModelProto:
    """An ONNX model `observation (rows, widest), task (rows) -> output (rows, widest)`: each row picks the
    weights of its task. The task names are in the file's metadata, in the order of the index."""
    constants = {"one": np.array([1])}
    nodes = [helper.make_node("Unsqueeze", ["observation", "one"], ["x0"])]
    for i, (weight, bias) in enumerate(stacked):
        constants |= {f"weight{i}": weight, f"bias{i}": bias}
        nodes += [
            helper.make_node("Gather", [f"weight{i}", "task"], [f"w{i}"]),
            helper.make_node("Gather", [f"bias{i}", "task"], [f"b{i}"]),
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]),
            helper.make_node("Add", [f"y{i}", f"b{i}"], [f"z{i}"]),
            helper.make_node("Tanh", [f"z{i}"], [f"x{i + 1}"]),
        ]
    nodes[-1] = helper.make_node("Squeeze", [f"z{len(stacked) - 1}", "one"], ["output"])
    task = helper.make_tensor_value_info("task", TensorProto.INT64, ["rows"])
    model = make_model(nodes, constants, (stacked[0][0].shape[1], stacked[-1][0].shape[2]), [task])
    helper.set_model_props(model, {"tasks": ",".join(tasks)})
    return model


def plain_model(network: list[Layer]) -> onnx.ModelProto:
    """One network as an ONNX model `observation (rows, inputs) -> output (rows, outputs)`."""
    constants, nodes, value = {}, [], "observation"
    for i, (weight, bias) in enumerate(network):
        constants |= {f"weight{i}": weight.astype(np.float32), f"bias{i}": bias.astype(np.float32)}
        nodes += [
            helper.make_node("Gemm", [value, f"weight{i}", f"bias{i}"], [f"z{i}"]),
            helper.make_node("Tanh", [f"z{i}"], [f"x{i}"]),
        ]
        value = f"x{i}"
    nodes[-1] = helper.make_node("Identity", [f"z{len(network) - 1}"], ["output"])
    return make_model(nodes, constants, (network[0][0].shape[0], network[-1][0].shape[1]))


def make_model(
    nodes: list[onnx.NodeProto],
    constants: dict[str, np.ndarray],
    widths: tuple[int, int],
    further_inputs: Sequence[onnx.ValueInfoProto] = (),
) -> onnx.ModelProto:
    """A checked model from `observation (rows, widths[0])` to `output (rows, widths[1])`, for any rows."""
    observation, output = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", width])
        for name, width in zip(("observation", "output"), widths, strict=True)
    )
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "network", [observation, *further_inputs], [output], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
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
    onnx.save(plain_model(trained["cartpole"][1]), arguments.out / "cartpole.onnx")
    for which, name in enumerate(("network_early.onnx", "network.onnx")):
        path = arguments.out / name
        onnx.save(stacked_model(stack([trained[task][which] for task in tasks]), tasks), path)
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
        for task in tasks:
            totals = returns(path, task)
            print(f"  {task:<10} return {totals.mean():8.1f} +- {totals.std():.1f} over {len(totals)} episodes")


if __name__ == "__main__":
    main()
