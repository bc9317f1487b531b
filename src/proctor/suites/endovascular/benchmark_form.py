"""The short form of a benchmark: one anatomy, several agents with a tool each.

A config with `anatomy` and without `tasks` is this form:

    {name, agents: [{name, tool, checkpoint}], n_trials, base_seed, max_episode_steps, policy_device, use_non_mp_sim,
     output_root, anatomy, simulator, scoring}

`expand` writes it out as agents and one task; what is not of this form is left as it is, so that validation names it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

SIMULATORS = ("auto", "sofa", "embedded")
DEFAULTS = {"n_trials": 10, "base_seed": 123, "max_episode_steps": 1000}
OWN_KEYS = ("anatomy", "simulator", "policy_device", "use_non_mp_sim")
PRIVILEGED_AGENTS = ("proctor.suites.endovascular.agents:Navigator",)


def is_benchmark_form(raw: Mapping[str, Any]) -> bool:
    """Whether a raw config has `anatomy` and no `tasks`."""
    return "anatomy" in raw and "tasks" not in raw


def expand(raw: Mapping[str, Any], find_sofa: Callable[[], bool] | None = None) -> dict[str, Any]:
    """The normal form of a raw config of this form. `simulator: auto` takes SOFA where stEVE and SOFA can be imported
    (`find_sofa` says so), else the embedded one. Raises ValueError for an unknown simulator."""
    simulator = raw.get("simulator", "auto")
    if simulator not in SIMULATORS:
        raise ValueError(f"simulator: found {simulator!r}; expected one of {', '.join(SIMULATORS)}")
    sofa = simulator == "sofa" or (simulator == "auto" and (find_sofa or sofa_is_there)())
    normal = {key: value for key, value in raw.items() if key not in OWN_KEYS}
    normal = {**DEFAULTS, **normal}
    agents = raw.get("agents")
    if isinstance(agents, list):
        normal["agents"] = [_agent(agent, raw.get("policy_device", "cpu")) for agent in agents]
    normal["tasks"] = [_task(raw, sofa)]
    return normal


def sofa_is_there() -> bool:
    """Whether stEVE and SOFA's Python bindings can be found, without importing them."""
    return all(importlib.util.find_spec(name) is not None for name in ("eve", "Sofa", "SofaRuntime"))


def _agent(agent: Any, device: Any) -> Any:
    """An agent with its device; its `tool` stays beside it."""
    return {"device": device, **agent} if isinstance(agent, Mapping) else agent


def _task(raw: Mapping[str, Any], sofa: bool) -> dict[str, Any]:
    options: dict[str, Any] = {"anatomy": raw["anatomy"]}
    if sofa:
        options["in_process"] = raw.get("use_non_mp_sim", True)
        return {"suite": "steve", "options": options}
    agents = raw.get("agents")
    policies = [a.get("policy") for a in agents if isinstance(a, Mapping)] if isinstance(agents, list) else []
    if any(policy in PRIVILEGED_AGENTS for policy in policies):
        options["privileged"] = True
    return {"suite": "endovascular", "options": options}
