"""What an mjlab task tells agents of itself: its robot, and the terms that its observation is made of.

mjlab's exporter writes the same into ONNX files. What it says of the robot is asked of its own function, so a file and
a task mean the same by a name. A task whose actions are not targets of joints, and one without an entity called
`robot`, tells of its terms alone, as mjlab exports no metadata of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proctor.suites.mjlab.building import quiet

OF_JOINTS = ("joint_pos_rel", "joint_vel_rel")
"""Functions of observation terms that have an entry for each joint of an entity."""
OF_ACTIONS, OF_COMMANDS = "last_action", "generated_commands"


def briefing(env: Any, groups: Sequence[str]) -> Mapping[str, Any]:
    """Plain data: `robot`, where mjlab's exporter knows it, and `terms`, where the observation is one array of one
    group."""
    told: dict[str, Any] = {}
    robot = _robot(env)
    if robot is not None:
        told["robot"] = robot
    if len(groups) == 1 and env.observation_manager.group_obs_concatenate[groups[0]]:
        terms = _terms(env, groups[0])
        if terms is not None:
            told["terms"] = terms
    return told


def _robot(env: Any) -> dict[str, Any] | None:
    actions = env.action_manager
    if "robot" not in env.scene.entities or "joint_pos" not in actions.active_terms or len(actions.active_terms) != 1:
        return None
    kind = importlib.import_module("mjlab.envs.mdp.actions").JointPositionAction
    term = actions.get_term("joint_pos")
    if not isinstance(term, kind) or "actor" not in env.observation_manager.active_terms:
        return None
    with quiet():
        said = importlib.import_module("mjlab.rl.exporter_utils").get_base_metadata(env, "")
    return {
        "joint_names": tuple(said["joint_names"]),
        "acted": tuple(term.target_names),
        "default_pose": np.array(said["default_joint_pos"], np.float64),
        "stiffness": np.array(said["joint_stiffness"], np.float64),
        "damping": np.array(said["joint_damping"], np.float64),
        "action_scale": np.broadcast_to(np.array(said["action_scale"], np.float64), (term.action_dim,)).copy(),
        "anchor_body": _anchor(env),
    }


def _anchor(env: Any) -> str | None:
    """The body by which a task that follows a motion measures where its robot is."""
    manager = env.command_manager
    cfgs = [manager.get_term(name).cfg for name in manager.active_terms]
    return next((cfg.anchor_body_name for cfg in cfgs if hasattr(cfg, "anchor_body_name")), None)


def _terms(env: Any, group: str) -> list[dict[str, Any]] | None:
    """None for a group whose terms are more than rows of numbers."""
    manager, found = env.observation_manager, []
    for name, shape in zip(manager.active_terms[group], manager.group_obs_term_dim[group], strict=True):
        cfg = manager.get_term_cfg(group, name)
        if len(shape) != 1:
            return None
        scale = 1.0 if cfg.scale is None else cfg.scale
        found.append(
            {
                "name": name,
                "size": int(shape[0]),
                "scale": np.atleast_1d(np.array(getattr(scale, "tolist", lambda scale=scale: scale)(), np.float64)),
                "history": int(cfg.history_length),
                "clip": None if cfg.clip is None else [float(bound) for bound in cfg.clip],
                "joints": _joints(env, cfg),
                "acted": getattr(cfg.func, "__name__", "") == OF_ACTIONS,
            }
        )
    return found


def _joints(env: Any, cfg: Any) -> list[str] | None:
    """The joints that the entries of a term are of; None where it has none."""
    name = getattr(cfg.func, "__name__", "")
    if name in OF_JOINTS:
        asset = cfg.params.get("asset_cfg")
        entity = env.scene.entities.get("robot" if asset is None else asset.name)
        if entity is None:
            return None
        chosen = slice(None) if asset is None else asset.joint_ids
        return [str(joint) for joint in np.array(entity.joint_names)[chosen]]
    if name == OF_ACTIONS and len(env.action_manager.active_terms) == 1:
        term = env.action_manager.get_term(env.action_manager.active_terms[0])
        return [str(joint) for joint in getattr(term, "target_names", ())] or None
    if name == OF_COMMANDS and _anchor(env) is not None:
        return [str(joint) for joint in env.scene.entities["robot"].joint_names]
    return None
