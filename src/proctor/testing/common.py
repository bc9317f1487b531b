"""What the conformance suites share: their base, one way to say a failure, and the rules that several have."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, get_args

import numpy as np
from pydantic import BaseModel

from proctor.generators import kept_generators, seed_generators
from proctor.metrics.protocol import Direction, Reducer
from proctor.policies.tree import frozen, leaves_of, tree_map
from proctor_host import spaces
from proctor_host.episode import RESERVED

T = TypeVar("T")


class Conformance(Generic[T]):
    """Base of the suites: `make` makes what is examined, and a law that does not hold raises AssertionError."""

    def make(self) -> T:
        """A fresh part, equal to any other that this makes."""
        raise NotImplementedError(f"{type(self).__name__} must say how what it examines is made: write make()")


@contextlib.contextmanager
def without_error(doing: str, where: str = "") -> Iterator[None]:
    """What is raised within breaks the law; the sentence names what was being done, the error, and where."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{doing} raised {error!r}{where}") from error


def check_part(part: Any, contract: type, *texts: str) -> None:
    """A part is of its kind, and these attributes of it are text that says something."""
    assert isinstance(part, contract), f"make() gave a {type(part).__name__}; expected a {contract.__name__}"
    for name in texts:
        text = getattr(part, name, None)
        assert isinstance(text, str), f"{name} is missing"
        assert text, f"{name} is empty" + ('; a pure number has the unit "1"' if name == "unit" else "")


def check_needs(needs: Any) -> None:
    """What a suite or a loader needs is said in pairs."""
    for pair in needs:
        assert len(pair) == 2, f"needs has {pair!r}; expected pairs of a package and an extra"


def check_meaning(metric: Any, who: str) -> None:
    """A metric, or what a family says of one, has a unit and a known direction and reducer."""
    assert metric.unit, f'{who} has no unit; a pure number has the unit "1"'
    assert metric.direction in get_args(Direction), f"{who} has the direction {metric.direction!r}"
    assert metric.reducer in get_args(Reducer), f"{who} has the reducer {metric.reducer!r}"


def frozen_step(step: Any) -> Any:
    """A step as values that compare equal exactly when the steps are equal to the byte."""
    flags = bool(step.terminated), bool(step.truncated), bool(step.success)
    return frozen(step.observation), frozen(float(step.reward)), flags, frozen(dict(step.signals))


def copy_tree(tree: Any) -> Any:
    """A tree whose arrays the environment may go on using."""
    return tree_map(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, tree)


def kinds(tree: Any) -> dict[str, str]:
    """Dtype and shape of every array of a tree, by its place; a plain number is what numpy makes of it."""
    found = ((path, np.asarray(leaf)) for path, leaf in leaves_of(tree))
    return {path: f"{array.dtype} {array.shape}" for path, array in found}


def check_kinds(found: Any, expected: Any, where: str, other: str) -> None:
    """Two trees have the same entries, each with one dtype and shape."""
    one, two = kinds(found), kinds(expected)
    for path in [*one, *(path for path in two if path not in one)]:
        name = f' "{path}"' if path else ""
        assert path in one, f"{where} has no{name}, which {other} has"
        assert path in two, f"{where} has{name}, which {other} has not"
        assert one[path] == two[path], f"{where}{name} is {one[path]}; {other} has {two[path]}"


def check_step_kinds(step: Any, signals: Any, observation: Any, where: str, other: str) -> None:
    """A step's signals and observation have the dtypes and shapes of others. `where` ends before their names."""
    check_kinds(dict(step.signals), dict(signals), f"{where} signals", other)
    check_kinds(step.observation, observation, f"{where} observation", other)


def global_generators() -> dict[str, Any]:
    """The states of Python's, numpy's and (where imported) torch's global generators, comparable."""
    name, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - looks at the global generator on purpose
    states = {"random": random.getstate(), "numpy.random": (name, np.asarray(keys).tobytes(), *rest)}
    if "torch" in sys.modules:
        states["torch"] = sys.modules["torch"].random.get_rng_state().numpy().tobytes()
    return states


@contextlib.contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Within: the global generators start from `seed`. After: they are as before."""
    with kept_generators():
        seed_generators(seed)
        yield


def check_options_class(model: Any, base: type[BaseModel], example: Mapping[str, Any]) -> None:
    """The class of a part's options: frozen data that refuses unknown keys, and comes back from JSON as it was."""
    assert isinstance(model, type), f"Options is {model!r}; expected a subclass of {base.__name__}"
    assert issubclass(model, base), f"Options is {model.__name__}, no subclass of {base.__name__}"
    assert model.model_config.get("frozen"), f"{model.__name__} is not frozen: options are data that nobody changes"
    forbids = model.model_config.get("extra") == "forbid"
    assert forbids, f"{model.__name__} takes unknown keys: a misspelt option would be ignored"
    options = model.model_validate(dict(example))
    again = model.model_validate_json(options.model_dump_json())
    assert again == options, f"options come back from JSON as {again!r}; expected {options!r}"


def check_observation(observation: Any, space: Any, where: str) -> None:
    """Shape and castable dtype of every array of an observation; values are not checked, since simulators overshoot."""
    space = spaces.described(space)
    if isinstance(space, spaces.Dict):
        assert isinstance(observation, Mapping), f"{where} is a {type(observation).__name__}; its space is a Dict"
        missing = set(space.spaces) ^ set(observation)
        assert not missing, f"{where} and its space differ in the entries {sorted(missing)}"
        for key, sub in space.spaces.items():
            check_observation(observation[key], sub, f"{where}[{key!r}]")
    elif isinstance(space, spaces.Tuple):
        assert len(observation) == len(space.spaces), (
            f"{where} has {len(observation)} entries, its space {len(space.spaces)}"
        )
        for i, sub in enumerate(space.spaces):
            check_observation(observation[i], sub, f"{where}[{i}]")
    elif isinstance(space, spaces.ARRAYS):
        array = np.asarray(observation)
        assert array.shape == (space.shape or ()), f"{where} has shape {array.shape}; its space says {space.shape}"
        castable = np.can_cast(array.dtype, np.dtype(space.dtype), "same_kind")
        assert castable, f"{where} has dtype {array.dtype}, which does not cast to {space.dtype}"
    else:
        assert space.contains(observation), f"{where} is not in its space {space}"


def check_step(step: Any, space: Any, where: str) -> None:
    """A Step has the right kinds of values; signals are numbers under names that the record does not use itself."""
    from proctor.suites.protocol import Step

    assert isinstance(step, Step), f"{where} is a {type(step).__name__}; expected proctor.Step"
    check_observation(step.observation, space, f"{where}.observation")
    assert np.ndim(step.reward) == 0, f"{where}.reward has shape {np.shape(step.reward)}; expected one number"
    assert np.isfinite(float(step.reward)), f"{where}.reward is {step.reward}"
    for name in ("terminated", "truncated", "success"):
        flag = getattr(step, name)
        assert isinstance(flag, bool | np.bool_), f"{where}.{name} is a {type(flag).__name__}; expected a bool"
    assert isinstance(step.signals, Mapping), f"{where}.signals is a {type(step.signals).__name__}; expected a mapping"
    for name, value in step.signals.items():
        assert isinstance(name, str), f"{where}.signals has the name {name!r}; expected a string"
        assert name not in RESERVED, f'{where}.signals has the name "{name}", which the record uses itself'
        kind = np.asarray(value).dtype.kind
        assert kind in "fiub", f'{where}.signals["{name}"] is a {type(value).__name__}; expected numbers'
