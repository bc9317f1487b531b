"""Run by an interpreter that has mjlab: what mjlab makes of a motion, of its G1 and of a network without training.

python mjlab_export.py FOLDER MOTION.csv writes `motion.npz`, `scene/` and `policy.onnx` as mjlab's own scripts and its
runner write them, and `observed.npz`: what its environment in play mode, without randomisation, showed the network in
20 steps, what the network gave, and the states.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mjlab.asset_zoo.robots.unitree_g1 as g1
import mjlab.tasks  # noqa: F401 - registers its tasks
import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.rl import RslRlVecEnvWrapper
from mjlab.scripts import csv_to_npz
from mjlab.scripts.export_scene import ExportSceneCfg, export_scene
from mjlab.tasks.registry import load_env_cfg, load_rl_cfg
from mjlab.tasks.tracking.rl import MotionTrackingOnPolicyRunner

TASK, STEPS = "Mjlab-Tracking-Flat-Unitree-G1", 20


class Written(BaseException):
    """The motion is written; what mjlab does next is upload it."""


def write_motion(csv: str, path: Path) -> None:
    def savez(_: str, **arrays: Any) -> None:
        real(path, **arrays)
        raise Written

    real, np.savez = np.savez, savez
    try:
        csv_to_npz.main(csv, "motion", input_fps=50, output_fps=50, device="cpu")
    except Written:
        np.savez = real


def main(folder: Path, csv: str) -> None:
    write_motion(csv, folder / "motion.npz")
    export_scene(ExportSceneCfg("g1", str(folder / "scene")))
    assets = folder / "scene" / "assets"
    if not assets.exists():
        shutil.copytree(Path(g1.__file__).parent / "xmls" / "assets", assets)
    cfg = load_env_cfg(TASK, play=True)
    cfg.commands["motion"].motion_file = str(folder / "motion.npz")
    cfg.commands["motion"].joint_position_range = (0.0, 0.0)
    cfg.scene.num_envs, cfg.events = 1, {}
    cfg.terminations = {name: term for name, term in cfg.terminations.items() if name == "time_out"}
    env = RslRlVecEnvWrapper(ManagerBasedRlEnv(cfg, device="cpu"))
    torch.manual_seed(0)
    runner = MotionTrackingOnPolicyRunner(env, asdict(load_rl_cfg(TASK)), log_dir=str(folder), device="cpu")
    runner.save(str(folder / "model.pt"))
    next(folder.glob("*.onnx")).rename(folder / "policy.onnx")
    np.savez(folder / "observed.npz", **rollout(env, runner.get_inference_policy(device="cpu")))


def rollout(env: Any, policy: Any) -> dict[str, np.ndarray]:
    base, rows = env.unwrapped, {"obs": [], "actions": [], "qpos": []}
    base.reset()
    seen = env.get_observations()
    for _ in range(STEPS):
        with torch.inference_mode():
            actions = policy(seen)
        rows["obs"].append(base.obs_buf["actor"][0].numpy().copy())
        rows["qpos"].append(base.sim.data.qpos[0].numpy().copy())
        rows["actions"].append(actions[0].numpy().copy())
        seen, *_ = env.step(actions.clone())
    return {name: np.stack(values) for name, values in rows.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
