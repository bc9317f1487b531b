"""What observations go through on their way to a model: the order and the layout it was trained on, and a preprocessor.

The preprocessor is a function of the user's that makes the model's observation of the environment's. It is called once
for each row, `(observation, info) -> array`, with copies that it may change: contestants' classes do. `info` is what
the environment says beside its observation, where the task hands it to policies (`proctor.spaces`). It must keep
nothing from one call to the next: rows of many trials come through the same object.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.options import PolicyOptions, PreprocessorCfg
from proctor.policies.protocol import by_task
from proctor.policies.tree import tree_map
from proctor.registry import call_target, import_object, signature_of
from proctor.spaces import INFO, OBSERVATION, is_handed
from proctor_host.trials import Trial


class Ordering:
    """A dict observation as the one array that a model was trained on: its entries, flattened, in the model's order.
    Entries by name; a dot leads into a nested dict (`privileged.tip`)."""

    def __init__(self, names: Sequence[str], observation: dict[str, Any]):
        self._paths = [name.split(".") for name in names]
        self._sizes = {
            task: sum(self._size(path, space, task) for path in self._paths) for task, space in observation.items()
        }

    def __call__(self, observation: Any) -> np.ndarray:
        """`(rows, n)`, float32."""
        parts = [functools.reduce(operator.getitem, path, observation) for path in self._paths]
        return np.concatenate([np.asarray(p, np.float32).reshape(len(p), -1) for p in parts], axis=1)

    def space(self, task: str) -> Any:
        """The space of one row."""
        from gymnasium import spaces

        return spaces.Box(-np.inf, np.inf, (self._sizes[task],), np.float32)

    def _size(self, path: list[str], space: Any, task: str) -> int:
        from gymnasium import spaces

        for name in path:
            if not isinstance(space, spaces.Dict) or name not in space.spaces:
                known = f"it has {', '.join(space.spaces)}" if isinstance(space, spaces.Dict) else f"it is {space}"
                raise InputError(
                    f'observation_order: the observation of task "{task}" has no "{".".join(path)}" ({known})'
                )
            space = space.spaces[name]
        if not isinstance(space, spaces.Box):
            raise InputError(
                f'observation_order: "{".".join(path)}" of task "{task}" is {space}; expected an array of numbers'
            )
        return math.prod(space.shape)


AXES = 3
"""Of an image."""


class Layout:
    """How every array of an observation is moved into the layout and the kind of number that a model wants: images with
    their channels first or last, integers as they are, as floats, or as floats in 0 to 1."""

    def __init__(self, options: PolicyOptions):
        self.wanted, self.integers = options.image_layout, options.integers

    def __call__(self, observation: Any) -> Any:
        return tree_map(self._moved, observation)

    def space(self, space: Any) -> Any:
        """The space of moved observations. Raises InputError where it cannot be told which axis counts channels."""
        from gymnasium import spaces

        if isinstance(space, spaces.Dict):
            return spaces.Dict([(key, self.space(sub)) for key, sub in space.spaces.items()])
        if isinstance(space, spaces.Tuple):
            return spaces.Tuple([self.space(sub) for sub in space.spaces])
        if not isinstance(space, spaces.Box):
            return space
        low, high = (self._moved(bound[None])[0] for bound in (space.low, space.high))
        return spaces.Box(low, high, dtype=low.dtype.type)

    def _moved(self, rows: np.ndarray) -> np.ndarray:
        if self.wanted != "as_is" and rows.ndim == AXES + 1:
            first = channels_first(rows.shape[1:])
            if first and self.wanted == "channels_last":
                rows = np.moveaxis(rows, 1, -1)
            elif not first and self.wanted == "channels_first":
                rows = np.moveaxis(rows, -1, 1)
        if self.integers == "keep" or rows.dtype.kind not in "iu":
            return np.ascontiguousarray(rows)
        floats = rows.astype(np.float32)
        return floats / np.float32(np.iinfo(rows.dtype).max) if self.integers == "unit" else floats


def channels_first(shape: tuple[int, ...]) -> bool:
    """Whether the first of three axes counts channels, or the last: the smaller of the two, which is also smaller than
    the middle one."""
    first, middle, last = shape
    if first != last and min(first, last) < middle:
        return first < last
    raise InputError(
        f"image_layout: in an observation of shape {shape} it cannot be told which axis counts channels; move it in a "
        "preprocessor"
    )


METHOD = "modify_state"
"""What contestants of the soccer competition call it."""


class Preprocessor:
    """The function of one agent, and the shapes that it gives for each task. `target`: the class or function itself,
    where whoever loads the agent has it already; else it is imported."""

    def __init__(self, cfg: PreprocessorCfg, observation: Mapping[str, Any], base: Path | None, target: Any = None):
        self._name = cfg.target
        self._function, self._squeeze = _function(cfg, import_object(cfg.target, base) if target is None else target)
        self._takes_info = _takes_info(self._function, self._name)
        self._spaces = {task: self._space(cfg, task, space) for task, space in observation.items()}

    def space(self, task: str) -> Any:
        """The space of what it gives for an observation of this task."""
        return self._spaces[task]

    def __call__(self, observation: Any, trials: Sequence[Trial]) -> np.ndarray:
        """`(rows, ...)`."""
        count = len(trials)
        return by_task(
            trials,
            lambda task, rows: np.stack([self._row(observation, row, task) for row in np.arange(count)[rows]]),
        )

    def _row(self, observation: Any, row: int, task: str) -> np.ndarray:
        expected = self._spaces[task]
        given = self._ask(tree_map(lambda array: np.array(array[row]), observation))
        if given.shape != expected.shape:
            raise ValueError(f"the preprocessor {self._name} gave an array {given.shape}; expected {expected.shape}")
        return given.astype(expected.dtype, copy=False)

    def _ask(self, observation: Any) -> np.ndarray:
        """What it gives for one observation. The first axis of `modify_state`, a batch of one, is taken off."""
        handed = isinstance(observation, dict) and set(observation) == {OBSERVATION, INFO}
        seen, info = (observation[OBSERVATION], observation[INFO]) if handed else (observation, {})
        given = np.asarray(self._function(seen, info) if self._takes_info else self._function(seen))
        if given.dtype.kind not in "fiub":
            raise TypeError(f"the preprocessor {self._name} gave {given.dtype} values; expected an array of numbers")
        return given[0] if self._squeeze and given.ndim > 1 and given.shape[0] == 1 else given

    def _space(self, cfg: PreprocessorCfg, task: str, space: Any) -> Any:
        from gymnasium import spaces

        if self._takes_info and not is_handed(space):
            raise InputError(
                f'the preprocessor {self._name} takes (observation, info), but task "{task}" hands policies no info. '
                "In the suites gymnasium and soccer, set the task's option info: true; else write it as a function of "
                "the observation alone"
            )
        if cfg.shape is not None:
            return spaces.Box(-np.inf, np.inf, tuple(cfg.shape), np.float32)
        try:
            with np.errstate(all="ignore"):
                given = self._ask(_zeros(space, self._name))
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f'the preprocessor {self._name} raised {error!r} for an observation of zeros of task "{task}", '
                "which it was given to learn the shape of what it gives; mend it, or say the shape: "
                f"preprocessor: {{target: {self._name}, shape: [...]}}"
            ) from None
        if given.dtype.kind == "f":
            return spaces.Box(-np.inf, np.inf, given.shape, np.float32)
        limits = np.iinfo(np.uint8 if given.dtype.kind == "b" else given.dtype)
        return spaces.Box(int(limits.min), int(limits.max), given.shape, limits.dtype.type)


def _function(cfg: PreprocessorCfg, target: Any) -> tuple[Callable[..., Any], bool]:
    """What is called for a row, and whether it answers with a batch of one."""
    if not isinstance(target, type):
        if not callable(target):
            raise InputError(
                f"the preprocessor {cfg.target} is a {type(target).__name__}; expected a class or function"
            )
        kwargs = dict(cfg.kwargs)
        return (lambda *given: target(*given, **kwargs)) if kwargs else target, False
    made = call_target(target, cfg.target, {}, cfg.kwargs)
    method = getattr(made, METHOD, None)
    if callable(method):
        return method, True
    if not callable(made):
        raise InputError(
            f"the preprocessor {cfg.target} has neither {METHOD}(observation, info) nor __call__(observation, info)"
        )
    return made, False


def _takes_info(function: Any, name: str) -> bool:
    """Whether it is called with two arguments."""
    signature = signature_of(function, name)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = [p for p in signature.parameters.values() if p.kind in kinds]
    needed = [p.name for p in places if p.default is inspect.Parameter.empty]
    open_ended = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in signature.parameters.values())
    if len(needed) > 2 or (not places and not open_ended):
        found = ", ".join(needed) or "nothing"
        raise InputError(f"the preprocessor {name} takes {found}; expected (observation, info) or (observation)")
    return open_ended or len(needed) == 2 or (len(places) > 1 and places[1].name == INFO)


def _zeros(space: Any, name: str) -> Any:
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return {key: _zeros(sub, name) for key, sub in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_zeros(sub, name) for sub in space.spaces)
    if space.shape is None or space.dtype is None or np.dtype(space.dtype).kind not in "fiub":
        raise InputError(f"the preprocessor {name} needs observations made of arrays; found {space}")
    return np.zeros(space.shape, space.dtype)
