"""The form of an agent benchmark: one anatomy, agents that bring their tools.

    name: arch
    agents:
      - {name: a, tool: angled_standard, checkpoint: a.pt}
    n_trials: 10
    anatomy: {type: aortic_arch, arch_type: I, target_branches: [lcca]}

A config with `anatomy` and no `tasks` is this form. It is written out as one task.
"""

from __future__ import annotations

import importlib.util
from typing import Any, ClassVar

from proctor.config.forms import ConfigForm
from proctor.config.models import EvalConfig
from proctor.config.problems import Path, Problems, did_you_mean, shown

SUITES = {"sofa": "steve", "embedded": "endovascular"}
"""The suite of each simulator."""
SOFA_PACKAGES = ("eve", "Sofa")
MAX_EPISODE_STEPS = 1000
OWN_KEYS = ("anatomy", "options", "policy_device", "simulator", "use_non_mp_sim")
"""Keys that this form has and an examination has not."""

_OPTIONS: Path = ("tasks", 0, "options")


class BenchmarkForm(ConfigForm):
    """One anatomy, and agents that bring their tools."""

    name: ClassVar[str] = "endovascular"

    def recognises(self, data: dict[str, Any]) -> bool:
        return "anatomy" in data

    def translate(self, data: dict[str, Any], problems: Problems) -> dict[str, Any]:
        """The examination of one task that the benchmark describes."""
        if "tasks" in data:
            problems.add(("anatomy",), "found beside tasks", "give anatomy (it makes one task), or tasks, not both")
            return {key: value for key, value in data.items() if key != "anatomy"}
        for key in sorted(data.keys() - EvalConfig.model_fields.keys() - {*OWN_KEYS}):
            if hint := did_you_mean(key, OWN_KEYS):
                problems.add_unusable((key,), f"unknown key; expected one of {', '.join(OWN_KEYS)}", hint)
        problems.moved[("tasks", 0, "name")] = problems.moved[_OPTIONS] = ("options",)
        problems.moved[*_OPTIONS, "anatomy"] = ("anatomy",)
        return {
            "max_episode_steps": MAX_EPISODE_STEPS,
            **{key: value for key, value in data.items() if key not in OWN_KEYS},
            **({"scoring": _scoring(data["scoring"], problems)} if isinstance(data.get("scoring"), dict) else {}),
            "agents": _agents(data, problems),
            "tasks": [_task(data, problems)],
        }


def sofa_is_there() -> bool:
    """Whether stEVE and SOFA can be imported."""
    return all(importlib.util.find_spec(package) is not None for package in SOFA_PACKAGES)


def _task(data: dict[str, Any], problems: Problems) -> dict[str, Any]:
    suite = _suite(data, problems)
    options = data.get("options", {})
    if not isinstance(options, dict):
        problems.add(("options",), f"found {shown(options)}; expected a mapping of the simulator's options")
        options = {}
    options = {**options, "anatomy": data["anatomy"]}
    if suite == SUITES["sofa"] and "use_non_mp_sim" in data:
        problems.moved[*_OPTIONS, "use_non_mp_sim"] = ("use_non_mp_sim",)
        options["use_non_mp_sim"] = data["use_non_mp_sim"]
    elif not isinstance(data.get("use_non_mp_sim", True), bool):
        problems.add(("use_non_mp_sim",), f"found {shown(data['use_non_mp_sim'])}; expected true or false")
    return {"suite": suite, "options": options}


def _suite(data: dict[str, Any], problems: Problems) -> str:
    simulator = data.get("simulator", "auto")
    if isinstance(simulator, str) and simulator in SUITES:
        return SUITES[simulator]
    if simulator != "auto":
        hint = did_you_mean(str(simulator), ["auto", *SUITES])
        problems.add(("simulator",), f"found {shown(simulator)}; expected one of auto, {', '.join(SUITES)}", hint)
    return SUITES["sofa" if simulator == "auto" and sofa_is_there() else "embedded"]


def _scoring(scoring: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The scoring with its weights and scales among the options. The form takes those of both scorings; what the chosen
    one does not read has no effect."""
    from proctor.suites.endovascular.scoring import DefaultV1Options, DefaultV2Options, RankingV1Options

    known = {
        "default_v1": DefaultV1Options.model_fields,
        "default_v2": DefaultV2Options.model_fields,
        "ranking_v1": RankingV1Options.model_fields,
    }
    mode = scoring.get("mode", "default_v1")
    flat = [key for key in scoring if any(key in fields for fields in known.values())]
    if mode not in known or not flat or not isinstance(scoring.get("options", {}), dict):
        return scoring
    options = {key: scoring[key] for key in flat if key in known[mode]}
    for key in options:
        problems.moved["scoring", "options", key] = ("scoring", key)
    rest = {key: value for key, value in scoring.items() if key not in flat}
    return {**rest, "options": {**options, **scoring.get("options", {})}}


def _agents(data: dict[str, Any], problems: Problems) -> Any:
    """The agents, on `policy_device` where they name no device of their own, with `tool` among their task options."""
    agents = data.get("agents")
    if not isinstance(agents, list):
        return agents
    return [_agent(agent, i, data, problems) if isinstance(agent, dict) else agent for i, agent in enumerate(agents)]


def _agent(agent: dict[str, Any], i: int, data: dict[str, Any], problems: Problems) -> dict[str, Any]:
    found = {key: value for key, value in agent.items() if key != "tool"}
    if agent.get("tool") is not None:
        problems.moved["agents", i, "task_options", "tool"] = ("agents", i, "tool")
        found["task_options"] = {**agent.get("task_options", {}), "tool": agent["tool"]}
    if "policy_device" in data and "device" not in agent:
        problems.moved["agents", i, "device"] = ("policy_device",)
        found["device"] = data["policy_device"]
    return found
