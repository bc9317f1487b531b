"""What an import string of an agent leads to, as a policy: a Policy class or factory; or a function of an observation,
a class of objects that answer one, or such an object (`proctor.policies.plain`). The engine's interpreter and policy
hosts make it here, so that a target means the same in both. Needs numpy alone."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from proctor.policies.plain import EXTRAS, METHODS, OF_A_BATCH, as_policy, of_function
from proctor.policies.protocol import AnyPolicy, Policy, StagedPolicy
from proctor.registry import call_target, signature_of
from proctor_host.errors import InputError

OBSERVED = (*OF_A_BATCH, "observation", "obs", "ob", "o", "state", "s", "x")
"""Names of a first argument that is an observation, or rows of them."""
ARRAYS = ("ndarray", "Tensor", "Batch", "Mapping", "dict", "Any", "NDArray", "ArrayLike")
"""What an observation may be annotated with."""


def policy_of(target: Any, agent: Any, options: Any, given: Mapping[str, Any]) -> AnyPolicy:
    """The policy of `target`, which `options.target` names. It is called with `options.kwargs`, and with those of
    `given` (`checkpoint`, `device`, `spaces`) that its signature names; `agent` has a name and perhaps a checkpoint.
    Raises InputError for what cannot be a policy, and for what would be ignored."""
    name = options.target
    if not _is_code(target):
        return _of_object(target, agent, options, given)
    parameters = signature_of(target, name).parameters
    if agent.checkpoint is not None and "checkpoint" not in parameters:
        raise InputError(
            f'agent "{agent.name}" has a checkpoint, but {name} takes none; give it a parameter `checkpoint`'
        )
    if not isinstance(target, type) and _answers(target, options, given):
        bound = {**{key: value for key, value in given.items() if key in parameters}, **options.kwargs}
        return of_function(functools.partial(target, **bound) if bound else target, options.batched)
    made = call_target(target, name, given, options.kwargs)
    if isinstance(made, (Policy, StagedPolicy)):
        return made
    if not _can_answer(made):
        raise InputError(
            f"{name} gave a {type(made).__name__}; expected a Policy or StagedPolicy (subclass proctor.Policy), or "
            f"an object that answers an observation: a function, or one with {', '.join(METHODS)}"
        )
    make = functools.partial(call_target, target, name, given, options.kwargs)
    return as_policy(lambda: make(), batched=options.batched, spaces=given.get("spaces"))


def _of_object(found: Any, agent: Any, options: Any, given: Mapping[str, Any]) -> AnyPolicy:
    """The policy of something that the file has already made."""
    if not _can_answer(found):
        raise InputError(
            f"{options.target} is a {type(found).__name__}; expected a Policy class, a factory, or a function of "
            "an observation"
        )
    unused = [key for key, value in (("kwargs", options.kwargs), ("checkpoint", agent.checkpoint)) if value]
    if unused:
        raise InputError(
            f'agent "{agent.name}": {options.target} is made already (a {type(found).__name__}), so '
            f"{' and '.join(unused)} would be ignored; name its class, or a function that makes it"
        )
    return as_policy(found, batched=options.batched, spaces=given.get("spaces"))


def _can_answer(found: Any) -> bool:
    return callable(found) or any(callable(getattr(found, method, None)) for method in METHODS)


def _is_code(target: Any) -> bool:
    """Whether it is a class or a function, and not something that one of them has made."""
    return isinstance(target, (type, functools.partial)) or inspect.isroutine(target)


def _answers(function: Any, options: Any, given: Mapping[str, Any]) -> bool:
    """Whether a function takes an observation and answers with an action; else it makes a policy. What nobody gives it,
    its first argument, is the observation, if its name, its annotation or `batched` says so. Raises InputError where
    they do not."""
    signature = signature_of(function, options.target)
    known = {*given, *options.kwargs, *EXTRAS}
    wanted = [
        p for p in signature.parameters.values()
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name not in known
    ]  # fmt: skip
    if len(wanted) != 1 or wanted[0].kind is inspect.Parameter.KEYWORD_ONLY:
        return False
    first, gives = wanted[0], _said(signature.return_annotation)
    if gives.endswith("Policy"):
        return False
    if options.batched is not None or gives or first.name in OBSERVED or _said(first.annotation) in ARRAYS:
        return True
    raise InputError(
        f"{options.target} takes {first.name}, which nobody gives it. If it makes a policy, set options.kwargs: "
        f"{{{first.name}: ...}}; if {first.name} is what it observes, say so with options.batched: false (one "
        "observation) or true (rows of them)"
    )


def _said(annotation: Any) -> str:
    """The last part of an annotation's name; empty where there is none."""
    if annotation is inspect.Signature.empty:
        return ""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return name.partition("[")[0].rpartition(".")[2]
