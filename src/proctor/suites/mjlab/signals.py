"""What is recorded of mjlab's worlds at every step, kept small.

- `reward/NAME`: what each reward term contributed to the step's reward; together they are the reward.
- `termination/NAME`: whether each termination term holds, the time limit among them.
- `command/NAME`: what the policy is told to do.
- `root/height_m`, `root/linear_velocity_m_s`, `root/angular_velocity_rad_s`: of the robot's floating base; the height
  above the origin of its place, the velocities in its own frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from proctor.suites.mjlab.observations import array

Reader = Callable[[], np.ndarray]
"""The values of all worlds now."""


def readers(env: Any, wanted: Iterable[str]) -> dict[str, Reader]:
    """Name -> reader, of what is wanted and the task has."""
    kinds = {"rewards": _rewards, "terminations": _terminations, "commands": _commands, "root": _root}
    found: dict[str, Reader] = {}
    for kind in wanted:
        found.update(kinds[kind](env))
    return found


def _rewards(env: Any) -> Mapping[str, Reader]:
    manager = env.reward_manager
    scale = env.step_dt if env.cfg.scale_rewards_by_dt else 1.0
    return {
        f"reward/{name}": lambda number=number: array(manager._step_reward[:, number] * scale)
        for number, name in enumerate(manager.active_terms)
    }


def _terminations(env: Any) -> Mapping[str, Reader]:
    manager = env.termination_manager
    return {f"termination/{name}": lambda name=name: array(manager.get_term(name)) for name in manager.active_terms}


def _commands(env: Any) -> Mapping[str, Reader]:
    manager = env.command_manager
    return {f"command/{name}": lambda name=name: array(manager.get_command(name)) for name in manager.active_terms}


def _root(env: Any) -> Mapping[str, Reader]:
    floating = [entity for entity in env.scene.entities.values() if not entity.is_fixed_base]
    if "robot" in env.scene.entities and not env.scene.entities["robot"].is_fixed_base:
        floating = [env.scene.entities["robot"]]
    if len(floating) != 1:
        return {}
    data, scene = floating[0].data, env.scene
    return {
        "root/height_m": lambda: array(data.root_link_pos_w[:, 2] - scene.env_origins[:, 2]),
        "root/linear_velocity_m_s": lambda: array(data.root_link_lin_vel_b),
        "root/angular_velocity_rad_s": lambda: array(data.root_link_ang_vel_b),
    }
