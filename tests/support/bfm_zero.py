"""BFM-Zero's own code, where a checkout of it is at hand: its environment on a CPU (HumanoidVerse's MuJoCo simulator),
its model class with random weights, its evaluation, its expert buffer.

`PROCTOR_BFM_ZERO` names the checkout; pytest must run in an interpreter that has its packages (docs/contributing.md).
open3d, which only reads meshes for pictures, is replaced by nothing. One environment is all that a process may have."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

NEEDED = ("torch", "hydra", "joblib", "loguru", "easydict", "lxml", "stl", "h5py", "ot", "tensordict", "safetensors")
GROUPS = ("state", "privileged_state", "last_action", "history_actor")
FPS = 60


def require() -> Path:
    """The checkout, ready to be imported; skips the module, with the reason, where something is missing."""
    place = os.environ.get("PROCTOR_BFM_ZERO")
    if not place:
        pytest.skip("PROCTOR_BFM_ZERO names no checkout of LeCAR-Lab/BFM-Zero", allow_module_level=True)
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        pytest.skip(f"BFM-Zero needs {', '.join(missing)}, which this interpreter lacks", allow_module_level=True)
    sys.path.insert(0, place)
    meshes: Any = ModuleType("open3d")
    meshes.io = SimpleNamespace(read_triangle_mesh=lambda path: None)
    sys.modules["open3d"] = meshes
    return Path(place)


def scene(place: Path) -> Path:
    return place / "humanoidverse/data/robots/g1/scene_29dof_freebase_mujoco.xml"


def save_library(place: Path, clips: list[Path], frames: int, target: Path) -> Path:
    """Clips (CSV: root position, root quaternion xyzw, 29 joints, 60 frames a second), their first frames, as a motion
    library of HumanoidVerse: rotation vectors of the root and of every joint about its axis, saved with joblib."""
    import joblib
    import mujoco
    from scipy.spatial.transform import Rotation

    axes = mujoco.MjModel.from_xml_path(str(scene(place))).jnt_axis[1:30]
    library = {}
    for clip in clips:
        rows = np.loadtxt(clip, delimiter=",")[:frames].astype(np.float32)
        turns = Rotation.from_quat(rows[:, 3:7]).as_rotvec()
        library[clip.stem] = {
            "root_trans_offset": rows[:, :3],
            "root_rot": rows[:, 3:7],
            "dof": rows[:, 7:],
            "pose_aa": np.concatenate([turns[:, None], rows[:, 7:, None] * axes], axis=1).astype(np.float32),
            "fps": FPS,
        }
    joblib.dump(library, target)
    return target


def build(library: Path) -> Any:
    """The environment with noise, pushes and all randomisation that its training has."""
    from humanoidverse.agents.envs.humanoidverse_isaac import HumanoidVerseIsaacConfig

    overrides = (
        "simulator=mujoco", "robot=g1/g1_29dof_hard_waist", "robot.control.action_scale=0.25",
        "robot.control.action_clip_value=5.0", "robot.control.normalize_action_to=5.0",
        "domain_rand.push_interval_s=[1,2]",
    )  # fmt: skip
    cfg = HumanoidVerseIsaacConfig(
        device="cpu",
        lafan_tail_path=str(library),
        include_history_actor=True,
        root_height_obs=True,
        hydra_overrides=list(overrides),
    )
    return cfg.build(1)[0]


def model(env: Any) -> Any:
    """BFM-Zero's model class with its layout of inputs, small and with random weights."""
    import torch
    from humanoidverse.agents import nn_filters, nn_models, normalizers
    from humanoidverse.agents.fb_cpr_aux import model as classes

    def sees(*groups: str) -> Any:
        return nn_filters.DictInputFilterConfig(key=list(groups))

    small = {"hidden_dim": 32, "hidden_layers": 2}
    forward = nn_models.ForwardArchiConfig(**small, input_filter=sees(*GROUPS))
    archi = classes.FBcprAuxModelArchiConfig(
        z_dim=16,
        f=forward,
        critic=forward,
        aux_critic=forward,
        b=nn_models.BackwardArchiConfig(**small, input_filter=sees("state", "privileged_state")),
        actor=nn_models.ActorArchiConfig(**small, input_filter=sees("state", "last_action", "history_actor")),
        discriminator=nn_models.DiscriminatorArchiConfig(**small, input_filter=sees("state", "privileged_state")),
    )
    by_batch = {group: normalizers.BatchNormNormalizerConfig() for group in GROUPS}
    normal = normalizers.ObsNormalizerConfig(normalizers=by_batch, allow_mismatching_keys=True)
    torch.manual_seed(0)
    cfg = classes.FBcprAuxModelConfig(device="cpu", archi=archi, obs_normalizer=normal)
    return cfg.build(env.single_observation_space, env.single_action_space.shape[0])


def begin(env: Any) -> None:
    """The state from which two evaluations can be compared: the simulator's memory, counters and all generators."""
    import random

    import mujoco
    import torch

    inner = env._env
    mujoco.mj_resetData(inner.simulator.model, inner.simulator.data)
    for counter in (inner.push_robot_counter, inner.push_robot_recovery_counter):
        counter[:] = 0
    inner.push_interval_s[:] = 1
    random.seed(0), np.random.seed(0), torch.manual_seed(0)  # noqa: NPY002 - HumanoidVerse draws from these
