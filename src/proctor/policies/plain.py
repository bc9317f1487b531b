"""Whatever answers an observation with an action, as a policy: a function, a model, an object with a method.

`as_policy` takes:

- a function of one observation, or of a batch of rows. It is of a batch where the caller says so, where its first
  parameter is called `observations` or `batch`, or where that is annotated with `Batch`, which it is then given. It may
  also name `rng` (the trial's generator; `rngs` for a batch) and `trial` (`trials`);
- an object with `select_action`, `predict` or `act`, called as such a function;
- a torch module, called with a tensor of rows, and a Stable-Baselines3 model;
- a class of such objects, or a function without arguments that makes one: every trial gets its own, so it may remember.

One object answers for many trials at once, in any order, so it must not remember anything of them. An object with a
`reset` says that it does: it is refused, and its class is asked for.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.policies.arrays import is_module, to_host
from proctor.policies.protocol import Actions, AnyPolicy, Batch, Policy, SpaceInfo, StagedPolicy, State
from proctor.policies.tree import tree_map
from proctor.registry import signature_of
from proctor_host.errors import InputError
from proctor_host.trials import Trial

METHODS = ("select_action", "predict", "act")
"""What an object may be asked by, the first that it has."""
OF_A_BATCH = ("observations", "batch", "X")
"""Names of a first parameter that takes rows; the last is what scikit-learn calls them."""
EXTRAS = ("rng", "trial", "rngs", "trials")


def as_policy(
    found: Any, *, batched: bool | None = None, method: str | None = None, spaces: SpaceInfo | None = None
) -> AnyPolicy:
    """The policy that `found` is. `batched`: whether it takes rows (None: as its signature says, else one observation);
    `method`: by which of its methods it is asked; `spaces`: what a model's scores are decoded for. Raises InputError
    for what cannot answer, and for an object that remembers."""
    if isinstance(found, (Policy, StagedPolicy)):
        return found
    if isinstance(found, type) or _makes_one(found, method):
        return _of_maker(found, batched, method, spaces)
    if (model := _of_model(found, method, spaces)) is not None:
        return model
    if _remembers(found):
        raise InputError(
            f"{_name(found)} has a reset(), so it remembers, but one object is asked for many trials at once. Give its "
            f"class, or a function without arguments that makes one (lambda: {type(found).__name__}(...)): then every "
            "trial has its own"
        )
    return of_function(_asked_by(found, method), batched)


def of_function(function: Callable[..., Any], batched: bool | None = None) -> Policy:
    """The policy of a function of one observation or of a batch."""
    call = Call.of(function, batched)
    return BatchFunction(call) if call.batched else RowFunction(call)


@dataclass(frozen=True)
class Call:
    """How a function is asked: `batched`, with rows; `whole`, with the `Batch` itself; `extras`, what it names beside
    the observation; `fixed`, what is always said; `first_of_tuple`: a pair that it gives is an action and a state."""

    function: Callable[..., Any]
    batched: bool
    whole: bool
    extras: tuple[str, ...]
    fixed: dict[str, Any]
    first_of_tuple: bool

    @classmethod
    def of(cls, function: Callable[..., Any], batched: bool | None) -> Call:
        """By the function's signature. Raises InputError where it wants what nobody has."""
        parameters = _parameters(function)
        first, extras = _first(function, parameters), tuple(name for name in parameters if name in EXTRAS)
        note = first.annotation
        whole = note is Batch or (isinstance(note, str) and note.rpartition(".")[2] == "Batch")
        others = [p for p in parameters.values() if p is not first and p.name not in EXTRAS]
        unknown = [p.name for p in others if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        if unknown:
            raise InputError(
                f"{_name(function)} wants {', '.join(unknown)} beside the observation; expected a function of one "
                "observation, or of a batch, that may also name rng and trial. Bind the rest with functools.partial"
            )
        settled = "deterministic" in parameters
        said = whole or first.name in OF_A_BATCH if batched is None else batched
        predicts = settled or getattr(function, "__name__", "") == "predict"
        return cls(function, said, whole, extras, {"deterministic": True} if settled else {}, predicts)

    def __call__(self, observation: Any, rng: Any, trial: Any) -> Any:
        given = {"rng": rng, "rngs": rng, "trial": trial, "trials": trial}
        extras = {name: given[name] for name in self.extras}
        answer = self.function(observation, **extras, **self.fixed)
        if isinstance(answer, tuple) and len(answer) == 2 and (answer[1] is None or self.first_of_tuple):
            if answer[1] is not None:
                raise TypeError(
                    f"{_name(self.function)} returned a state beside the action, which nobody would give back to it; "
                    "expected an action alone, or (action, None). Keep the state in an object and give its class, so "
                    "that every trial has its own, or write a proctor.Policy"
                )
            answer = answer[0]
        if answer is None:
            raise TypeError(f"{_name(self.function)} returned None; expected an action")
        return answer


class RowFunction(Policy):
    """A function of one observation: called for each row, with a copy of what belongs to it."""

    row_by_row = True

    def __init__(self, call: Call):
        self.call = call

    def act(self, batch: Batch) -> np.ndarray:
        drawing = "rng" in self.call.extras
        return np.stack(
            [
                to_host(self.call(row_of(batch.observation, i), batch.rngs[i] if drawing else None, trial))
                for i, trial in enumerate(batch.trials)
            ]
        )


class BatchFunction(Policy):
    """A function of rows: called once for a batch."""

    def __init__(self, call: Call):
        self.call = call

    def act(self, batch: Batch) -> np.ndarray | Actions:
        observation = batch if self.call.whole else batch.observation
        answer = self.call(observation, batch.rngs, batch.trials)
        return answer if isinstance(answer, Actions) else to_host(answer)


class PerTrial(Policy):
    """An object for every trial, made by `make`. A forward asks copies and gives them back as the trials' next state:
    it can be asked again, or in vain, as the state of any other policy."""

    row_by_row = True

    def __init__(self, make: Callable[[], Any], method: str | None):
        self.make, self.method = make, method

    def reset(self, trials: Sequence[Trial]) -> State:
        made = np.empty(len(trials), object)
        for row in range(len(trials)):
            one = self.make()
            if callable(start := getattr(one, "reset", None)):
                start()
            made[row] = one
        return made

    def act(self, batch: Batch) -> Actions:
        after, answers = np.empty(len(batch), object), []
        for row, trial in enumerate(batch.trials):
            after[row] = own = copy.deepcopy(batch.state[row])
            call = Call.of(_asked_by(own, self.method), False)
            rng = batch.rngs[row] if "rng" in call.extras else None
            answers.append(to_host(call(row_of(batch.observation, row), rng, trial)))
        return Actions(np.stack(answers), after)


class Borrowed(Policy):
    """The policy of a model that is the caller's, who gets it back as it was: in training, if it was in training."""

    def __init__(self, model: Any, train: Callable[[bool], Any], make: Callable[[], Policy]):
        was = bool(model.training)
        self.inner, self._give_back = make(), lambda: train(was)

    def reset(self, trials: Sequence[Trial]) -> State:
        return self.inner.reset(trials)

    def act(self, batch: Batch) -> np.ndarray | Actions:
        return self.inner.act(batch)

    def close(self) -> None:
        self._give_back()


def row_of(observation: Any, row: int) -> Any:
    """One row of a batch's observation, as a copy that may be kept."""
    return observation[row] if isinstance(observation, list) else tree_map(lambda leaf: leaf[row].copy(), observation)


def _of_model(found: Any, method: str | None, spaces: SpaceInfo | None) -> Policy | None:
    """The policy of a Stable-Baselines3 model or of a torch module that remembers nothing; None for anything else."""
    if method is None and (model := _sb3(found)) is not None:
        from proctor.policies.from_sb3 import policy_of

        return Borrowed(model, model.set_training_mode, lambda: policy_of(model))
    return _of_module(found, method, spaces or SpaceInfo()) if is_module(found) and not _remembers(found) else None


def _of_maker(make: Callable[[], Any], batched: bool | None, method: str | None, spaces: SpaceInfo | None) -> AnyPolicy:
    """A class, or a function without arguments: the Policy or model that it makes, or an object for every trial."""
    try:
        made = make()
    except TypeError as error:
        raise InputError(
            f"{_name(make)} cannot be made without arguments ({error}). Give a function that makes one: "
            f"lambda: {_name(make)}(...)"
        ) from None
    if isinstance(made, (Policy, StagedPolicy)):
        return made
    if (model := _of_model(made, method, spaces)) is not None:
        return model
    if batched:
        raise InputError(f"{_name(make)} makes an object for every trial, which has one observation; found batched")
    Call.of(_asked_by(made, method), False)
    return PerTrial(make, method)


def _of_module(module: Any, method: str | None, spaces: SpaceInfo) -> Policy:
    """A torch module where it is, in evaluation mode meanwhile."""
    from proctor.policies.from_torch import TorchOptions, TorchPolicy
    from proctor.policies.outputs import ActionHead

    weight = next((p for p in module.parameters() if p.is_floating_point()), None)
    device = "cpu" if weight is None else weight.device
    given = {} if weight is None else {"dtype": str(weight.dtype).rpartition(".")[2]}
    options = TorchOptions.model_validate({**given, "recurrent": callable(getattr(module, "initial_state", None))})

    def make() -> Policy:
        policy = TorchPolicy(module, options, ActionHead(spaces, options.discrete), device)
        if method is not None:
            policy.module = _asked_by(module, method)
        return policy

    return Borrowed(module, module.train, make)


def _sb3(found: Any) -> Any:
    """The policy of a Stable-Baselines3 model, or such a policy itself; None for anything else."""
    if "stable_baselines3" not in sys.modules:
        return None
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy

    model = found.policy if isinstance(found, BaseAlgorithm) else found
    return model if isinstance(model, BasePolicy) else None


def _makes_one(found: Any, method: str | None) -> bool:
    """Whether this is a function without arguments, which makes an object for every trial."""
    if not callable(found) or is_module(found) or _methods(found) or (method and hasattr(found, method)):
        return False
    positional = [
        p for p in _parameters(found).values() if p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD
    ]
    return not positional


def _remembers(found: Any) -> bool:
    return callable(getattr(found, "reset", None))


def _methods(found: Any) -> list[str]:
    return [name for name in METHODS if callable(getattr(found, name, None))]


def _asked_by(found: Any, method: str | None) -> Callable[..., Any]:
    """What is called of an object."""
    if method is not None:
        if not callable(asked := getattr(found, method, None)):
            raise InputError(f"{_name(found)} has no method {method}()")
        return asked
    if methods := _methods(found):
        return getattr(found, methods[0])
    if not callable(found):
        raise InputError(
            f"found a {type(found).__name__} as a policy; expected a function of an observation, a model, or an object "
            f"with {', '.join(METHODS)}"
        )
    return found


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    return dict(signature_of(function, _name(function)).parameters)


def _first(function: Any, parameters: dict[str, inspect.Parameter]) -> inspect.Parameter:
    """The parameter that the observation is given as."""
    first = next((p for p in parameters.values() if p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD), None)
    if first is None or first.name in EXTRAS:
        raise InputError(f"{_name(function)} does not take an observation; expected it as the first argument")
    return first


def _name(found: Any) -> str:
    inner = found.func if isinstance(found, functools.partial) else found
    return getattr(inner, "__qualname__", None) or type(inner).__name__
