"""What a caller brings, written as a config: policies and environments, of which some are objects in memory.

Everything that a config can say is said in the config. What it cannot, an object, is called `NAME@HASH` there and lent
to this process (`proctor.memory`).
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.config.forms import task_from_id
from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.memory import PREFIX, key_of
from proctor.policies.protocol import Policy, StagedPolicy
from proctor.registry import LOADERS

FURTHER_TASK_KEYS = ("max_episode_steps",)


@dataclass
class Given:
    """Agents and tasks as a config has them, and the objects that they name."""

    agents: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[Any] = field(default_factory=list)
    objects: dict[str, Any] = field(default_factory=dict)
    local: list[str] = field(default_factory=list)
    """Environments that only this process can make."""

    def add_policies(self, policy: Any, options: Mapping[str, Any]) -> None:
        """`options` are those of every object's agent."""
        for name, one in _named(policy, _is_agent, "policy"):
            self.agents.append(self._agent(name, one, options))
        _refuse_twice([agent["name"] for agent in self.agents if "name" in agent], "policies")

    def add_environments(self, env: Any, success: Mapping[str, Any] | None) -> None:
        """`success` says what success is on tasks of Gymnasium that do not say it themselves."""
        for name, one in _named(env, lambda found: "suite" in found, "environment"):
            task = self._task(name, one)
            if success is not None and task.get("suite") == "gymnasium":
                task["options"] = {"success": success, **task.get("options", {})}
            self.tasks.append(task if name is None else {**task, "name": name})

    def _agent(self, name: str | None, policy: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(policy, Mapping):
            return dict(policy) if name is None else {**policy, "name": name}
        if isinstance(policy, str):
            key = "policy" if ":" in policy or policy in LOADERS else "checkpoint"
            return {key: policy} if name is None else {key: policy, "name": name}
        called = _name(policy, "policy") if name is None else name
        key = key_of(called, policy)
        self.objects[key] = policy
        return {"name": called, "policy": "memory", "options": {"object": key, **options}}

    def _task(self, name: str | None, env: Any) -> dict[str, Any]:
        if isinstance(env, Mapping):
            return dict(env)
        if isinstance(env, str):
            return task_from_id(env)
        if isinstance(getattr(env, "id", None), str) and hasattr(env, "entry_point"):
            return {"suite": "gymnasium", "options": {"id": env.id, "kwargs": dict(env.kwargs)}}
        if hasattr(env, "step") and not isinstance(env, type):
            known = getattr(getattr(env, "spec", None), "id", None)
            shown = f'"{known}"' if known else "lambda: MyEnv(...)"
            raise InputError(
                f"found an environment, a {type(env).__name__}; expected what makes one, such as {shown}: trials run "
                "at once, each in its own"
            )
        if not callable(env):
            raise InputError(
                f"found a {type(env).__name__} as an environment; expected an id of Gymnasium, a function that makes "
                "one, or a task as in a config"
            )
        return task_from_id(importable(env) or self._held(env))

    def _held(self, make: Any) -> str:
        name = _name(make, "environment")
        _refuse_shared(make, name)
        key = key_of(name, make)
        self.objects[key] = make
        self.local.append(name)
        return f"{PREFIX}:{key}"


def _refuse_shared(make: Any, name: str) -> None:
    """Raise InputError for a function that gives out an environment which it holds, such as `lambda: env`."""
    code, names = getattr(make, "__code__", None), getattr(make, "__globals__", {})
    cells = [cell.cell_contents for cell in getattr(make, "__closure__", None) or ()]
    held = [*cells, *(names[word] for word in getattr(code, "co_names", ()) if word in names)]
    if any(hasattr(one, "step") and hasattr(one, "reset") and not isinstance(one, type) for one in held):
        made = make()
        if any(made is one for one in held):
            raise InputError(
                f"{name} gives the same environment each time; expected a new one, such as lambda: MyEnv(...): trials "
                "run at once, each in its own"
            )
        made.close()


def importable(found: Any) -> str | None:
    """The import string of a function or class, where another process can find it by that; None for a lambda, for what
    is defined within a function, and for what the running script defines."""
    module, name = getattr(found, "__module__", None), getattr(found, "__qualname__", "<")
    if not module or module == "__main__" or "<" in name:
        return None
    try:
        known: Any = importlib.import_module(module)
        for part in name.split("."):
            known = getattr(known, part)
    except (ImportError, AttributeError):
        return None
    return f"{module}:{name}" if known is found and name.isidentifier() else None


def _named(given: Any, is_one: Callable[[Mapping[str, Any]], bool], what: str) -> Iterable[tuple[str | None, Any]]:
    """(name, one) for each; None where nobody has given it a name."""
    if isinstance(given, Mapping) and not is_one(given):
        if not given:
            raise InputError(f"found an empty dict; expected at least one {what}, by name")
        return [(str(name), one) for name, one in given.items()]
    several = given if isinstance(given, list | tuple) else [given]
    if not several:
        raise InputError(f"found an empty list; expected at least one {what}")
    return [(None, one) for one in several]


def _is_agent(found: Mapping[str, Any]) -> bool:
    """Whether a dict is an agent as in a config, and not agents by name."""
    named = any(isinstance(found.get(key), str) for key in ("policy", "checkpoint"))
    return named and all(key in AgentCfg.model_fields for key in found)


def _refuse_twice(names: list[str], what: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f'two {what} are named "{twice[0]}"; give them names of their own: {{"a": ..., "b": ...}}')


def _name(found: Any, nameless: str) -> str:
    """What to call an object: the name of a function, else that of its class; `nameless` for a lambda."""
    inner = found.func if isinstance(found, functools.partial) else found
    name = getattr(inner, "__name__", None) or type(inner).__name__
    if isinstance(inner, Policy | StagedPolicy):
        name = type(inner).__name__
    return nameless if name == "<lambda>" else re.sub(r"[^\w.-]+", "", str(name)) or nameless
