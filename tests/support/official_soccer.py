"""The competition's scoring, called by hand in a plain loop on sai-mujoco alone; and episodes that end early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np

from proctor.suites.soccer.env import SoccerEnv
from proctor.suites.soccer.options import SoccerOptions
from proctor.suites.soccer.suite import SoccerSuite

KICK = {
    "robot_distance_ball": 0.25,
    "ball_vel_twd_goal": 1.5,
    "goal_scored": 2.5,
    "offside": -3.0,
    "ball_hits": -0.2,
    "robot_fallen": -1.5,
    "ball_blocked": -0.5,
    "steps": -1.0,
}
TARGET = {"offside": -1.0, "success": 2.0, "distance": 0.5, "steps": -0.3}
WEIGHTS = {
    "LowerT1GoaliePenaltyKick-v0": KICK,
    "LowerT1ObstaclePenaltyKick-v0": KICK,
    "LowerT1KickToTarget-v0": TARGET,
}

Start = Callable[[Any], None]
"""Changes a world that has just been reset; it gets the unwrapped environment."""


@dataclass(frozen=True)
class Played:
    score: float
    terminated: bool
    truncated: bool
    steps: int


def official(task: str, seed: int, actions: Sequence[np.ndarray], limit: int, start: Start | None = None) -> Played:
    """One episode, as far as these actions lead."""
    import sai_mujoco  # noqa: F401 - registers the ids

    env = gymnasium.make(task, max_episode_steps=limit, disable_env_checker=True)
    env.reset(seed=seed)
    if start is not None:
        start(env.unwrapped)
    score, state, terminated, truncated, steps = 0.0, {}, False, False, 0
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        state["terminated"], state["truncated"] = terminated, truncated
        paid, state = pay(env.unwrapped, state, WEIGHTS[task])
        score, steps = score + paid, steps + 1
        if terminated or truncated:
            break
    env.close()
    return Played(score, bool(terminated), bool(truncated), steps)


def pay(env: Any, state: dict[str, Any], weights: dict[str, float]) -> tuple[float, dict[str, Any]]:
    """Nothing before the last step; there the weighted terms, in the order in which the environment gives them."""
    state["timestep"] = (state.get("timestep") or 0) + 1
    raw = env.compute_reward()
    raw.update({"steps": np.float64(1.0)})
    if not (state.get("terminated", False) or state.get("truncated", False)):
        return 0.0, state
    total = 0.0
    for name, value in raw.items():
        if name in weights:
            number = (1.0 if value else 0.0) if isinstance(value, bool) else float(value)
            total += number * weights[name]
    return total, state


OWN_FUNCTION = """
def evaluation_fn(env, eval_state):
    weights = {weights}
    eval_state["timestep"] = eval_state.get("timestep", 0) + 1
    raw = env.compute_reward()
    raw.update({{"steps": np.float64(1.0)}})
    if not (eval_state["terminated"] or eval_state["truncated"]):
        return (0.0, eval_state)
    return (sum(float(value) * weights[name] for name, value in raw.items() if name in weights), eval_state)
"""
"""The same as a contestant's file, which is given `np`."""


def own_function(task: str) -> str:
    return OWN_FUNCTION.format(weights=WEIGHTS[task])


def ball_out(base: Any) -> None:
    """Beside the field: the first step ends the episode."""
    _put_ball(base, [0.0, 8.0, 0.1])


def ball_in(base: Any) -> None:
    """Where it should go: the first step ends the episode, with success."""
    site = {"ObstaclePenaltyKick_v0": "goalarea_site", "KickToTarget_v0": "target0"}.get(type(base).__name__)
    goal = base.sim.data.get_site_xpos(site or "goal_post_south")
    _put_ball(base, goal + ([0.0, 0.0, 0.0] if site else [-0.5, 1.0, 0.1]))


def ball_shot(base: Any) -> None:
    """On its way, hard."""
    joint = base.sim.data.get_joint_qvel("env:ball")
    joint[:3] = [-15.0, 8.0, 1.0]
    base.sim.data.set_joint_qvel("env:ball", joint)


def ball_at_feet(base: Any) -> None:
    """Before its left foot, which it touches."""
    _put_ball(base, base.sim.data.get_site_xpos("robot_0:left_foot") + np.array([-0.12, 0.0, 0.0]))


def _put_ball(base: Any, place: Any) -> None:
    joint = base.sim.data.get_joint_qpos("env:ball")
    joint[:3] = place
    base.sim.data.set_joint_qpos("env:ball", joint)
    base.sim.forward()


STARTS: dict[str, Start] = {"out": ball_out, "in": ball_in, "shot": ball_shot}


class StartedEnv(SoccerEnv):
    """An environment whose episodes begin otherwise."""

    def reset(self, seed: int, index: int) -> np.ndarray:
        observation = super().reset(seed, index)
        STARTS[self.options.start](self.base)  # type: ignore[attr-defined]
        return observation


class StartedOptions(SoccerOptions):
    start: str


class StartedSuite(SoccerSuite):
    Options = StartedOptions

    def make(self, options: StartedOptions, *, render: bool, worlds: int) -> StartedEnv:
        return StartedEnv(options, render=render)
