"""Scripted agents: how far one gets without learning.

    agents:
      - {name: push, policy: endovascular/push_only}
      - {name: navigator, policy: endovascular/navigator}

The navigator sees what no picture shows: the task needs `privileged: true`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.protocol import Actions, Batch, Placement, Policy, SpaceInfo
from proctor_host.trials import Trial

STUCK_STEPS = 12
"""Steps without progress before the navigator backs off."""
PROGRESS_MM = 1.0
ASIDE_MM, ASTRAY_MM, PASSED_MM = 2.0, 20.0, 3.0
HOOK_STEPS, FACING_RAD = 40.0, 0.6
"""At most so many steps to draw the tip back over the mouth of a branch, and how well it faces it meanwhile."""
TURN_GAIN = 2.0
"""Turning speed per angle to go, 1/s."""


class PushOnly(Policy):
    """Pushes with a share of full speed and never turns."""

    placement: Placement = "worker"

    def __init__(self, spaces: SpaceInfo, speed: float = 0.6):
        self._actions = {task: np.array([speed, 0.0], np.float32) * box.high for task, box in spaces.action.items()}

    def act(self, batch: Batch) -> np.ndarray:
        return np.stack([self._actions[trial.task] for trial in batch.trials])


class Navigator(Policy):
    """Turns the tip towards the next point of the centreline and pushes when it points there. Where it has gone past a
    branch it draws the turned tip back over its mouth; where it is stuck it backs off and aims a little beside. `speed`
    is its share of full speed."""

    placement: Placement = "worker"

    def __init__(self, spaces: SpaceInfo, speed: float = 0.8):
        blind = [task for task, space in spaces.observation.items() if "privileged" not in space.spaces]
        if blind:
            raise InputError(
                f'the navigator needs to know where it is, but task "{blind[0]}" does not say: set privileged: true in '
                "the task's options"
            )
        self._limits = {task: speed * box.high.astype(np.float64) for task, box in spaces.action.items()}
        self._turns = {task: float(box.high[1]) for task, box in spaces.action.items()}

    def reset(self, trials: Sequence[Trial]) -> dict[str, np.ndarray]:
        """`best`: least remaining path so far (mm); `mark`: the same since it last backed off; `stuck`: steps without
        progress since; `back`: steps of backing off left; `low`: least path meanwhile; `spin`: turning speed
        meanwhile; `tries`: how often it has backed off since `best`; `bias`: by how much it aims beside (rad)."""
        n = len(trials)
        far = {key: np.full(n, np.inf) for key in ("best", "mark")}
        return {**far, **{key: np.zeros(n) for key in ("stuck", "back", "low", "spin", "tries", "bias")}}

    def act(self, batch: Batch) -> Actions:
        seen: dict[str, np.ndarray] = {
            key: np.asarray(value, np.float64) for key, value in batch.observation["privileged"].items()
        }
        state = {key: value.copy() for key, value in batch.state.items()}
        actions = np.empty((len(batch), 2), np.float32)
        for row, trial in enumerate(batch.trials):
            speed, turning = self._limits[trial.task][0], self._turns[trial.task]
            view = {key: value[row] for key, value in seen.items()}
            mind = {key: value[row] for key, value in state.items()}
            actions[row] = _decide(view, mind, batch.rngs[row], speed, turning)
            for key, value in mind.items():
                state[key][row] = value
        return Actions(actions, state)


def _decide(
    view: dict[str, Any], mind: dict[str, Any], rng: np.random.Generator, speed: float, turning: float
) -> tuple[float, float]:
    """(translation, rotation) for one trial; `mind` is updated in place."""
    remaining = float(view["remaining"][0])
    angle, aside = _bearing(view, "beyond" if mind["tries"] > 0 else "ahead")
    angle = (angle + mind["bias"] + np.pi) % (2 * np.pi) - np.pi
    spin = float(np.clip(TURN_GAIN * angle, -turning, turning)) if aside else 0.0
    if mind["back"] > 0:
        return _back_off(mind, remaining, angle if aside else 0.0, speed), spin if aside else mind["spin"]
    mind["stuck"] += 1
    if remaining < mind["mark"] - PROGRESS_MM:
        mind["mark"], mind["stuck"] = remaining, 0.0
    if remaining < mind["best"] - PROGRESS_MM:
        mind["best"], mind["tries"], mind["bias"] = remaining, 0.0, 0.0
    astray = remaining > mind["mark"] + ASTRAY_MM
    if astray or mind["stuck"] > STUCK_STEPS + 2 * mind["tries"]:
        mind["tries"] += 1
        tries = min(int(mind["tries"]), 6)
        mind["bias"] = float(rng.normal(0.0, 0.2 * tries)) if mind["tries"] > 1 else 0.0
        mind["spin"] = float(rng.uniform(-0.5, 0.5)) * turning
        mind["low"] = np.inf if astray else -np.inf
        mind["back"] = HOOK_STEPS if astray else float(4 + rng.integers(3 + 2 * tries))
    return speed * float(np.clip(np.cos(angle), 0.15, 1.0) if aside else 1.0), spin


def _back_off(mind: dict[str, Any], remaining: float, angle: float, speed: float) -> float:
    """The speed of a step back. A tip that has gone past a branch is turned towards it first, then drawn slowly over
    its mouth, until it has gone past the other way."""
    mind["back"] -= 1
    mind["mark"], mind["stuck"] = remaining, 0.0
    if mind["low"] < 0:
        return -speed
    if abs(angle) > FACING_RAD:
        return 0.0
    mind["low"] = min(mind["low"], remaining)
    if remaining > mind["low"] + PASSED_MM:
        mind["back"] = 0.0
    return -0.6 * speed


def _bearing(view: dict[str, Any], goal: str) -> tuple[float, bool]:
    """The angle by which the handle must turn so that the tip's bend faces that point; whether the point lies aside of
    the shaft's line at all."""
    shaft = view["shaft"]
    have = view["heading"] - (view["heading"] @ shaft) * shaft
    offset = view[goal] - view["shaft_pos"]
    want = offset - (offset @ shaft) * shaft
    angle = float(np.arctan2(shaft @ np.cross(have, want), have @ want))
    return angle, bool(np.linalg.norm(want) > ASIDE_MM and np.linalg.norm(have) > 0.05)
