"""Collecting an episode step by step, cheaply; arrays are made once, at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proctor.record.episode import RESERVED, Episode, Outcome


class EpisodeBuilder:
    """Steps of one trial. `labels` names the observation's leaves; empty: observations are not kept."""

    __slots__ = (
        "_action_dtype",
        "_action_shape",
        "_actions",
        "_constants",
        "_dt_s",
        "_kept",
        "_labels",
        "_rewards",
        "_signals",
        "_success",
    )

    def __init__(
        self, action_shape: tuple[int, ...], action_dtype: Any, dt_s: float | None, labels: Sequence[str] = ()
    ):
        self._action_shape, self._action_dtype, self._dt_s = action_shape, action_dtype, dt_s
        self._labels = labels
        self._actions: list[Any] = []
        self._rewards: list[float] = []
        self._success: list[bool] = []
        self._signals: defaultdict[str, list[Any]] = defaultdict(list)
        self._constants: dict[str, np.ndarray] = {}
        self._kept: list[list[np.ndarray]] = [[] for _ in labels]

    def __len__(self) -> int:
        return len(self._rewards)

    @property
    def ever_succeeded(self) -> bool:
        return any(self._success)

    @property
    def succeeded_last(self) -> bool:
        return bool(self._success) and self._success[-1]

    def observe(self, leaves: Sequence[np.ndarray]) -> None:
        """Keep an observation: the first of the trial, then the one after each step."""
        for kept, leaf in zip(self._kept, leaves, strict=False):
            kept.append(np.array(leaf))

    def keep(self, constants: Mapping[str, Any]) -> None:
        """Keep what the environment says once per trial. Raises ValueError for what cannot be recorded."""
        for name, value in constants.items():
            array = np.array(value)
            if name in RESERVED or array.dtype.hasobject:
                why = "that name is taken" if name in RESERVED else "only numbers and text can be recorded"
                raise ValueError(f'the constant "{name}" ({type(value).__name__}) cannot be kept: {why}')
            self._constants[name] = array

    def add(self, action: Any, reward: float, success: bool, signals: Any) -> int:
        """Keep a step; how many there are now."""
        self._actions.append(action)
        rewards = self._rewards
        rewards.append(reward)
        self._success.append(success)
        if signals:
            columns = self._signals
            for name, value in signals.items():
                columns[name].append(value)
        return len(rewards)

    def arrays(self, terminated: bool, truncated: bool) -> dict[str, np.ndarray]:
        """The record's arrays, see `Episode`. Raises ValueError where a signal cannot be made into an array."""
        n = len(self._rewards)
        flags = np.zeros((2, n), bool)
        if n:
            flags[:, -1] = terminated, truncated
        arrays = {
            "actions": self._stacked_actions(n),
            "rewards": np.array(self._rewards, np.float64),
            "terminals": flags[0],
            "truncations": flags[1],
            "success": np.array(self._success, bool),
            "action_dt_s": np.array(np.nan if self._dt_s is None else self._dt_s, np.float64),
        }
        arrays |= self._constants
        for name, values in self._signals.items():
            if name in self._constants:
                raise ValueError(f'"{name}" is both a signal and a constant of the environment; rename one of them')
            arrays[name] = _stack(name, values, n)
        for label, kept in zip(self._labels, self._kept, strict=True):
            arrays["observations" if label == "observation" else f"observations.{label}"] = np.array(kept)
        return arrays

    def _stacked_actions(self, n: int) -> np.ndarray:
        if n and len(self._action_shape) == 1:
            return np.concatenate(self._actions).astype(self._action_dtype, copy=False).reshape(n, *self._action_shape)
        actions = np.empty((n, *self._action_shape), self._action_dtype)
        for i, action in enumerate(self._actions):
            actions[i] = action
        return actions

    def finish(self, outcome: Outcome, ended: tuple[bool, bool], max_steps: int, task: str) -> Episode:
        return Episode(self.arrays(*ended), outcome, max_steps, task)


def _stack(name: str, values: list[Any], n: int) -> np.ndarray:
    if len(values) != n:
        raise ValueError(
            f'signal "{name}" has {len(values)} values for {n} steps; give it at every step, NaN where unknown'
        )
    try:
        array = np.array(values)
    except ValueError:
        raise ValueError(f'signal "{name}" changes its shape from step to step; it must keep one') from None
    if array.dtype.hasobject:
        raise ValueError(
            f'signal "{name}" has values of type {type(values[0]).__name__}; only numbers and text can be recorded'
        )
    return array
