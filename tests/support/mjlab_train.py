"""Run by an interpreter that has mjlab: a short training as `python -m mjlab.scripts.train` does it, and what mjlab
itself makes of the policy.

python mjlab_train.py FOLDER TASK ITERATIONS leaves in FOLDER what a run of mjlab has (`model_*.pt`, `params/`, for some
tasks an ONNX file), the other exports of its runner (`policy.onnx`, `policy.pt`), and `played.npz`: an episode of one
world in play mode, from `SEED` on, with rsl_rl's own inference policy.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mjlab.tasks  # noqa: F401 - registers its tasks
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import MjlabOnPolicyRunner, RslRlVecEnvWrapper
from mjlab.tasks.registry import load_env_cfg, load_rl_cfg, load_runner_cls
from mjlab.utils.os import dump_yaml

SEED, STEPS, WORLDS = 5, 60, 4


def main(folder: Path, task: str, iterations: int) -> None:
    agent = load_rl_cfg(task)
    agent.logger, agent.upload_model, agent.num_steps_per_env = "tensorboard", False, 8
    train(folder, task, agent, iterations)
    play(folder, task, agent)


def made(task: str, agent: Any, *, play: bool, worlds: int) -> Any:
    cfg = load_env_cfg(task, play=play)
    cfg.scene.num_envs, cfg.seed = worlds, 0
    cfg.curriculum = {} if play else cfg.curriculum
    return cfg, RslRlVecEnvWrapper(ManagerBasedRlEnv(cfg, device="cpu"), clip_actions=agent.clip_actions)


def runner_of(task: str) -> Any:
    return load_runner_cls(task) or MjlabOnPolicyRunner


def train(folder: Path, task: str, agent: Any, iterations: int) -> None:
    cfg, env = made(task, agent, play=False, worlds=WORLDS)
    dump_yaml(folder / "params" / "env.yaml", asdict(cfg))
    dump_yaml(folder / "params" / "agent.yaml", asdict(agent))
    runner = runner_of(task)(env, asdict(agent), str(folder), "cpu")
    runner.learn(num_learning_iterations=iterations, init_at_random_ep_len=True)
    runner.export_policy_to_onnx(str(folder), "policy.onnx")
    runner.export_policy_to_jit(str(folder), "policy.pt")
    env.close()


def play(folder: Path, task: str, agent: Any) -> None:
    """As `mjlab.scripts.play` steps, in a world that begins from what the generators give after SEED."""
    _, env = made(task, agent, play=True, worlds=1)
    runner = runner_of(task)(env, asdict(agent), device="cpu")
    last = max(folder.glob("model_*.pt"), key=lambda path: int(path.stem.split("_")[1]))
    runner.load(str(last), load_cfg={"actor": True}, strict=True, map_location="cpu")
    policy, base = runner.get_inference_policy(device="cpu"), env.unwrapped
    torch.manual_seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 - mjlab's
    if "startup" in base.event_manager.available_modes:
        base.event_manager.apply(mode="startup", env_ids=torch.tensor([0]))
    base.reset(env_ids=torch.tensor([0]))
    seen, rows = env.get_observations(), {"obs": [], "actions": [], "rewards": [], "dones": []}
    for _ in range(STEPS):
        with torch.no_grad():
            actions = policy(seen)
        rows["obs"].append(seen["actor"][0].numpy().copy())
        rows["actions"].append(actions[0].numpy().copy())
        seen, reward, done, _ = env.step(actions)
        rows["rewards"].append(float(reward[0]))
        rows["dones"].append(bool(done[0]))
        policy.reset(done)
    np.savez(folder / "played.npz", **{name: np.array(values) for name, values in rows.items()})
    env.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3]))
