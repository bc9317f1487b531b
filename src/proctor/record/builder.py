"""Collecting an episode step by step, cheaply; arrays are made once, at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from proctor.record.episode import RESERVED, Episode, Outcome
from proctor.record.sheet import Sheet


class EpisodeBuilder:
    """Steps of one trial. `labels` names the observation's leaves; empty: observations are not kept."""

    __slots__ = (
        "_action_dtype",
        "_action_shape",
        "_before",
        "_constants",
        "_dt_s",
        "_ever",
        "_kept",
        "_labels",
        "_names",
        "_parts",
        "_steps",
    )

    def __init__(
        self, action_shape: tuple[int, ...], action_dtype: Any, dt_s: float | None, labels: Sequence[str] = ()
    ):
        self._action_shape, self._action_dtype, self._dt_s = action_shape, action_dtype, dt_s
        self._labels = labels
        self._steps: list[tuple[Any, float, bool, Sheet | tuple[str, ...], Any]] = []
        """Action, reward, success, names and values of the signals; or the sheet and the row that has them. A step is
        kept as it comes: columns are made of many at once."""
        self._names: Sheet | tuple[str, ...] = ()
        """Of the latest step's signals."""
        self._constants: dict[str, np.ndarray] = {}
        self._parts: list[dict[str, np.ndarray]] = []
        """Earlier steps, as arrays."""
        self._before, self._ever = 0, False
        """Of these: how many steps, and whether one of them was a success."""
        self._kept: list[list[np.ndarray]] = [[] for _ in labels]

    def __len__(self) -> int:
        return self._before + len(self._steps)

    @property
    def ever_succeeded(self) -> bool:
        return self._ever or any(success for _, _, success, _, _ in self._steps)

    @property
    def succeeded_last(self) -> bool:
        if self._steps:
            return self._steps[-1][2]
        return bool(self._parts) and bool(self._parts[-1]["success"][-1])

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

    def add(self, action: Any, reward: float, success: bool, signals: Mapping[str, Any] | None) -> int:
        """Keep a step; how many there are now."""
        names, values = self._names, ()
        if type(names) is Sheet:
            self._seal()
            names = self._names = ()
        if signals:
            values = tuple(signals.values())
            if tuple(signals) != names:
                names = self._names = tuple(signals)
        elif names:
            names = self._names = ()
        steps = self._steps
        steps.append((action, reward, success, names, values))
        return self._before + len(steps)

    def add_row(self, action: Any, reward: float, success: bool, sheet: Sheet, row: np.ndarray) -> int:
        """Keep a step whose signals are in a row, which is not to be changed afterwards; how many there are now."""
        if self._names is not sheet:
            self._seal()
            self._names = sheet
        steps = self._steps
        steps.append((action, reward, success, sheet, row))
        return self._before + len(steps)

    def extend(
        self,
        actions: np.ndarray,
        rewards: np.ndarray,
        success: np.ndarray,
        signals: Mapping[str, np.ndarray],
        observed: Sequence[np.ndarray] = (),
    ) -> None:
        """Keep many steps, a row each. The arrays are not to be changed afterwards."""
        self._seal()
        own = {
            "actions": actions.astype(self._action_dtype, copy=False),
            "rewards": rewards.astype(np.float64),
            "success": success.astype(bool),
        }
        self._part({**own, **signals})
        for kept, leaf in zip(self._kept, observed, strict=False):
            kept.extend(leaf)

    def _part(self, part: dict[str, np.ndarray]) -> None:
        self._parts.append(part)
        self._before += len(part["rewards"])
        self._ever = self._ever or bool(part["success"].any())

    def _seal(self) -> None:
        """Make arrays of the steps that were added one by one."""
        steps, self._steps = self._steps, []
        n = len(steps)
        if n == 0:
            return
        actions, rewards, success, names, values = zip(*steps, strict=True)
        own = {
            "actions": self._stacked_actions(actions),
            "rewards": np.array(rewards, np.float64),
            "success": np.array(success, bool),
        }
        sheet = names[0]
        if isinstance(sheet, Sheet):
            self._part({**own, **sheet.recorded(values)})
        else:
            self._part({**own, **{name: _stack(name, column, n) for name, column in _columns(names, values)}})

    def arrays(self, terminated: bool, truncated: bool) -> dict[str, np.ndarray]:
        """The record's arrays, see `Episode`. Raises ValueError where a signal cannot be made into an array."""
        self._seal()
        n = self._before
        flags = np.zeros((2, n), bool)
        if n:
            flags[:, -1] = terminated, truncated
        steps = _joined(self._parts, n) if n else self._nothing()
        for name in steps:
            if name in self._constants:
                raise ValueError(f'"{name}" is both a signal and a constant of the environment; rename one of them')
        arrays = {
            "actions": steps.pop("actions"),
            "rewards": steps.pop("rewards"),
            "terminals": flags[0],
            "truncations": flags[1],
            "success": steps.pop("success"),
            "action_dt_s": np.array(np.nan if self._dt_s is None else self._dt_s, np.float64),
            **self._constants,
            **steps,
        }
        for label, kept in zip(self._labels, self._kept, strict=True):
            arrays["observations" if label == "observation" else f"observations.{label}"] = np.array(kept)
        return arrays

    def _nothing(self) -> dict[str, np.ndarray]:
        return {"actions": self._stacked_actions(()), "rewards": np.zeros(0), "success": np.zeros(0, bool)}

    def _stacked_actions(self, rows: Sequence[Any]) -> np.ndarray:
        n = len(rows)
        if n and len(self._action_shape) == 1:
            return np.concatenate(rows).astype(self._action_dtype, copy=False).reshape(n, *self._action_shape)
        actions = np.empty((n, *self._action_shape), self._action_dtype)
        for i, action in enumerate(rows):
            actions[i] = action
        return actions

    def finish(self, outcome: Outcome, ended: tuple[bool, bool], max_steps: int, task: str) -> Episode:
        return Episode(self.arrays(*ended), outcome, max_steps, task)


def _joined(parts: Sequence[dict[str, np.ndarray]], n: int) -> dict[str, np.ndarray]:
    if len(parts) == 1:
        return dict(parts[0])
    joined = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        found = [part[name] for part in parts if name in part]
        have = sum(map(len, found))
        if have != n:
            raise ValueError(_patchy(name, have, n))
        if len({array.shape[1:] for array in found}) > 1:
            raise ValueError(_shapeless(name))
        joined[name] = np.concatenate(found)
    return joined


def _patchy(name: str, have: int, n: int) -> str:
    return f'signal "{name}" has {have} values for {n} steps; give it at every step, NaN where unknown'


def _shapeless(name: str) -> str:
    return f'signal "{name}" changes its shape from step to step; it must keep one'


def _columns(
    names: Sequence[tuple[str, ...]], values: Sequence[tuple[Any, ...]]
) -> Iterable[tuple[str, Sequence[Any]]]:
    """The values of each signal, in the order of their steps."""
    if names[0] is names[-1] and all(found is names[0] for found in names):
        return zip(names[0], zip(*values, strict=True), strict=True)
    columns: defaultdict[str, list[Any]] = defaultdict(list)
    for keys, row in zip(names, values, strict=True):
        for name, value in zip(keys, row, strict=True):
            columns[name].append(value)
    return columns.items()


def _stack(name: str, values: Sequence[Any], n: int) -> np.ndarray:
    if len(values) != n:
        raise ValueError(_patchy(name, len(values), n))
    first = values[0]
    if (
        type(first) is np.ndarray
        and first.ndim
        and all([type(v) is np.ndarray and v.shape == first.shape for v in values])
    ):
        array = np.concatenate(values).reshape(n, *first.shape)
    else:
        try:
            array = np.array(values)
        except ValueError:
            raise ValueError(_shapeless(name)) from None
    if array.dtype.hasobject:
        raise ValueError(
            f'signal "{name}" has values of type {type(first).__name__}; only numbers and text can be recorded'
        )
    return array
