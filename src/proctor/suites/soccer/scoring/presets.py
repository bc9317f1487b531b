"""Official tables of weights, by name.

A table lists its terms in the order in which the environment's `compute_reward` gives them, `steps` last: the order in
which the official function adds, so that a score is the same to the last bit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.errors import InputError
from proctor.registry import did_you_mean

_PENALTY_KICK = {
    "robot_distance_ball": 0.25,
    "ball_vel_twd_goal": 1.5,
    "offside": -3.0,
    "ball_hits": -0.2,
    "robot_fallen": -1.5,
    "goal_scored": 2.5,
    "ball_blocked": -0.5,
    "steps": -1.0,
}

PRESETS: Mapping[str, Mapping[str, float]] = {
    "sai/goalie_penalty_kick": _PENALTY_KICK,
    "sai/obstacle_penalty_kick": _PENALTY_KICK,
    "sai/kick_to_target": {"offside": -1.0, "success": 2.0, "distance": 0.5, "steps": -0.3},
}

FAMILIES = ("sai",)
"""Names that stand for several presets, of which the name of a task picks one."""

WORDS: Mapping[str, str] = {
    "robot_fallen": "fell",
    "offside": "put the ball out of the field",
    "ball_blocked": "had the ball blocked",
    "ball_hits": "hit the ball again",
    "goal_scored": "scored a goal",
    "success": "hit the target",
}
"""What an agent did where a term is not 0; terms that are not here go by their names."""


def preset_table(name: str, task: str) -> tuple[str, Mapping[str, float]]:
    """The preset that `name` means for a task, by its full name, and its weights. A family (`sai`) picks the preset
    whose name is in that of the task: `LowerT1GoaliePenaltyKick-v0` is `sai/goalie_penalty_kick`."""
    if name in PRESETS:
        return name, PRESETS[name]
    check_preset(name)
    for full, table in PRESETS.items():
        family, _, short = full.partition("/")
        if family == name and _letters(short) in _letters(task):
            return full, table
    of_family = [full for full in PRESETS if full.startswith(f"{name}/")]
    raise InputError(
        f'the preset "{name}" has nothing for the task "{task}", whose name holds none of '
        f"{', '.join(full.partition('/')[2] for full in of_family)}; name the preset by task, such as "
        f"preset: {{{task}: {of_family[0]}}}, or give weights: {{TERM: NUMBER}}"
    )


def check_preset(name: str) -> None:
    """Refuse a name that is neither a preset nor a family."""
    known = [*PRESETS, *FAMILIES]
    if name not in known:
        meant = did_you_mean(name, known)
        raise InputError(f'unknown preset "{name}"{meant} (known: {", ".join(known)})')


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
