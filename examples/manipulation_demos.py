"""Demonstrations of `train_manipulation.py`, and what the two networks are to learn from them.

A demonstration is a path of states with the actions between them, and images of some of its steps. Its key steps, where
the path bends or the gripper changes its mind, become the waypoints.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from proctor import InputError
from proctor.suites.metaworld import NetCfg

BEND_M = 0.012
"""How far a path may be from the straight line between two waypoints."""
NEAR_STEPS = 2
"""A waypoint that is nearer in time than this is as good as reached: the next one is planned."""


@dataclass(frozen=True)
class Demos:
    """D demonstrations with F images. `image` (F, S, S, 3) uint8 of step `frame_step` (F,) of `frame_demo` (F,);
    `task` (D,) counts into `instructions`; `length` (D,) actions each: `actions` (sum, action_dim) one demonstration
    after another, and `states` (sum + D, 4), one more each."""

    image: np.ndarray
    frame_demo: np.ndarray
    frame_step: np.ndarray
    task: np.ndarray
    length: np.ndarray
    states: np.ndarray
    actions: np.ndarray
    instructions: np.ndarray

    def __len__(self) -> int:
        return len(self.length)

    def path(self, demo: int) -> tuple[np.ndarray, np.ndarray]:
        """States (T + 1, 4) and actions (T, action_dim) of a demonstration."""
        before = int(self.length[:demo].sum())
        steps = int(self.length[demo])
        return self.states[before + demo : before + demo + steps + 1], self.actions[before : before + steps]

    def save(self, path: Path) -> None:
        np.savez_compressed(path, **vars(self))


def read_demos(path: Path) -> Demos:
    """What `Demos.save` wrote. Raises InputError for another file, or none."""
    if not os.path.isfile(path):
        raise InputError(f"no file {path}; make it with: python examples/train_manipulation.py collect {path.name}")
    with np.load(path, allow_pickle=False) as found:
        names = [field.name for field in fields(Demos)]
        missing = [name for name in names if name not in found]
        if missing:
            raise InputError(f"{path} has no {', '.join(missing)}: it holds no demonstrations; collect them again")
        return Demos(**{name: found[name] for name in names})


def key_steps(path: np.ndarray, grip: np.ndarray, longest: int, bend_m: float = BEND_M) -> np.ndarray:
    """The steps of a path (T + 1, 3) that waypoints are put at: ascending, the last is T, 0 is never one. Between two
    of them, or 0 and the first, there are at most `longest` steps, the path stays within `bend_m` of a uniform motion
    along the straight line, and the gripper's command `grip` (T,) keeps its sign."""
    turns = 1 + np.flatnonzero(np.diff(np.sign(grip)) != 0)
    borders = [0, *turns.tolist(), len(path) - 1]
    keys: list[int] = []
    for first, last in itertools.pairwise(borders):
        keys += _straight(np.asarray(path, np.float64), first, last, (longest, bend_m))
    return np.array(sorted(set(keys)), np.int64)


def _straight(path: np.ndarray, first: int, last: int, limits: tuple[int, float]) -> list[int]:
    """Ends of straight pieces from `first` to `last`, by halving at the worst place."""
    longest, bend_m = limits
    if last <= first:
        return []
    share = np.arange(last - first + 1)[:, None] / (last - first)
    away = np.linalg.norm(path[first : last + 1] - (path[first] + share * (path[last] - path[first])), axis=1)
    if away.max() <= bend_m:
        pieces = -(-(last - first) // longest)
        return [first + round((last - first) * piece / pieces) for piece in range(1, pieces + 1)]
    middle = first + int(away.argmax())
    return _straight(path, first, middle, limits) + _straight(path, middle, last, limits)


@dataclass(frozen=True)
class Targets:
    """What is learned from each of F images. `state` (F, 4) at the image's step; `waypoints` (F, K, 4) and `durations`
    (F, K) in steps, 0 where the demonstration is over; `chunk` (F, chunk, action_dim) the actions from there on, zero
    beyond the end; `ahead` (F, chunk, 4) the states after each of them, the last one repeated; `left` (F,) the steps
    to the end; `behind` (F, 4) the state at the key step before."""

    state: np.ndarray
    waypoints: np.ndarray
    durations: np.ndarray
    chunk: np.ndarray
    ahead: np.ndarray
    left: np.ndarray
    behind: np.ndarray


def targets_of(demos: Demos, cfg: NetCfg) -> Targets:
    """Targets of every image that has at least one action ahead; `left` is 0 for the others."""
    rows: list[Sequence[np.ndarray]] = [()] * len(demos.frame_demo)
    for demo in range(len(demos)):
        states, actions = demos.path(demo)
        keys = key_steps(states[:, :3], actions[:, -1], cfg.chunk)
        for frame in np.flatnonzero(demos.frame_demo == demo):
            rows[frame] = _frame_targets((states, actions, keys), int(demos.frame_step[frame]), cfg)
    return Targets(*(np.stack(column) for column in zip(*rows, strict=True)))


def _frame_targets(demo: tuple[np.ndarray, ...], step: int, cfg: NetCfg) -> Sequence[np.ndarray]:
    states, actions, keys = demo
    end = len(actions)
    ahead = keys[keys > step]
    if len(ahead) > 1 and ahead[0] - step < NEAR_STEPS and ahead[1] - step <= cfg.chunk:
        ahead = ahead[1:]
    planned = np.minimum(np.concatenate([ahead, np.full(cfg.waypoints, end)])[: cfg.waypoints], end)
    passed = keys[keys <= step]
    chunk = np.zeros((cfg.chunk, cfg.action_dim), np.float32)
    taken = actions[step : step + cfg.chunk]
    chunk[: len(taken)] = taken
    return (
        states[step],
        states[planned],
        np.diff(planned, prepend=step),
        chunk,
        states[np.minimum(step + 1 + np.arange(cfg.chunk), end)],
        np.array(end - step),
        states[passed[-1] if len(passed) else 0],
    )
