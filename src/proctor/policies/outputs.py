"""From a model's raw output to actions: argmax for discrete actions, shared by the loaders."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from proctor.errors import InputError
from proctor.policies.protocol import SpaceInfo, by_task
from proctor_host.trials import Trial

Mode = Literal["auto", "argmax", "none"]


class ActionHead:
    """Turns outputs `(rows, ...)` into actions of each row's task. In mode `auto`, floats whose last axis has
    one value per choice are scores, of which the first best is taken; everything else passes through."""

    def __init__(self, spaces: SpaceInfo, mode: Mode):
        self.spaces, self.mode = spaces.action, mode

    def __call__(self, output: np.ndarray, trials: Sequence[Trial]) -> np.ndarray:
        if self.mode == "none" or not self.spaces:
            return output
        return by_task(trials, lambda task, rows: self._decode(self.spaces[task], output[rows]))

    def on_device(self, output: Any, trials: Sequence[Trial]) -> Any:
        """The same for a tensor whose rows are all of one task, where it lies."""
        from gymnasium import spaces

        space = self.spaces.get(trials[0].task)
        if self.mode == "none" or space is None or isinstance(space, spaces.Box):
            return output
        scores = output.is_floating_point() and output.ndim >= 2
        if isinstance(space, spaces.Discrete):
            if self.mode == "argmax" or (scores and output.shape[-1] == space.n):
                return output.argmax(-1) + int(space.start)
            return output[:, 0] if output.ndim == 2 and output.shape[1] == 1 else output
        if isinstance(space, spaces.MultiDiscrete) and scores and space.nvec.ndim == 1:
            if not output.shape[-1] == space.nvec.sum() > len(space.nvec):
                return output
            parts = output.split(space.nvec.tolist(), dim=-1)
            starts = output.new_tensor(space.start, dtype=parts[0].argmax(-1).dtype)
            return starts + sys.modules["torch"].stack([part.argmax(-1) for part in parts], dim=-1)
        return output

    def _decode(self, space: Any, output: np.ndarray) -> np.ndarray:
        from gymnasium import spaces

        scores = output.dtype.kind == "f" and output.ndim >= 2
        if isinstance(space, spaces.Discrete):
            if self.mode == "argmax" or (scores and output.shape[-1] == space.n):
                return output.argmax(-1) + space.start
            return output[:, 0] if output.ndim == 2 and output.shape[1] == 1 else output
        if isinstance(space, spaces.MultiDiscrete) and scores and space.nvec.ndim == 1:
            if not output.shape[-1] == space.nvec.sum() > len(space.nvec):
                return output
            parts = np.split(output, np.cumsum(space.nvec)[:-1], axis=-1)
            return np.stack([part.argmax(-1) for part in parts], axis=-1) + space.start
        return output


def check_output_shape(shape: Sequence[Any], floats: bool, spaces: SpaceInfo, where: str) -> None:
    """Raise InputError if a model's declared output (rows first; non-integers are unknown) cannot be an
    action, a chunk of actions, or scores of every task."""
    trailing = [d if isinstance(d, int) else None for d in shape[1:]]
    for task, space in spaces.action.items():
        whole, parts = _accepted(space, floats)
        if not any(_fits(trailing, w) for w in whole) and not any(_fits(trailing[1:], p) for p in parts):
            shown = "".join(", ?" if d is None else f", {d}" for d in trailing)
            raise InputError(f'{where} gives (rows{shown}), but task "{task}" has the action space {space}')


def _accepted(space: Any, floats: bool) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Shapes of one action or its scores, and those that may also come as a chunk."""
    from gymnasium import spaces

    action = tuple(space.shape or ())
    if isinstance(space, spaces.Discrete):
        scores = (int(space.n),)
        return [action, (1,), scores], [scores] if floats else [action, scores]
    if isinstance(space, spaces.MultiDiscrete) and space.nvec.ndim == 1:
        both = [action, (int(space.nvec.sum()),)]
        return both, both
    return [action], [action]


def _fits(declared: Sequence[int | None], wanted: tuple[int, ...]) -> bool:
    return len(declared) == len(wanted) and all(d in (None, w) for d, w in zip(declared, wanted, strict=True))
