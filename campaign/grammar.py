"""Configs from a grammar: mostly valid, every key of the format, and then mutated as data and as text."""

from __future__ import annotations

import random
from typing import Any

import yaml

from campaign.mutating import mutate_text, mutate_value

KEYS = [
    "name", "agents", "tasks", "n_trials", "base_seed", "max_episode_steps", "num_parallel", "workers",
    "output_root", "record", "scoring", "limits", "stop_when", "loggers", "report", "declare", "anatomy",
    "num_trials_per_task", "num_steps_wait", "policy", "checkpoint", "group", "device", "task_options",
    "options", "suite", "wait_steps", "out_of_range", "success_rule", "stop_on_success", "kind", "count",
    "level", "observations", "video", "mode", "floor", "metrics", "targets", "step_s", "reset_s", "trial_s",
    "act_s", "retries", "max_loaded_agents", "compare", "interval_width", "alpha", "max_trials", "primary",
    "margin", "n", "pad_to", "max_batch", "max_wait_s", "placement", "id", "kwargs", "success", "signals",
    "wrappers", "imports", "vector", "reuse", "latency", "aggregates", "sections", "formats",
]  # fmt: skip


def text(rng: random.Random) -> str:
    """A config as a user might have written it, with zero to three things wrong."""
    value: Any = _config(rng)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        value = mutate_value(rng, value, KEYS)
    found = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        found = mutate_text(rng, found)
    return found


def _config(rng: random.Random) -> dict[str, Any]:
    config: dict[str, Any] = {
        "agents": [_agent(rng, i) for i in range(rng.randint(1, 3))],
        "tasks": [_task(rng, i) for i in range(rng.randint(1, 2))],
        "n_trials": rng.randint(1, 3),
        "max_episode_steps": rng.randint(1, 8),
        "workers": "inline",
    }
    for name, values in OPTIONAL.items():
        if rng.random() < 0.15:
            config[name] = rng.choice(values)
    return config


OPTIONAL: dict[str, list[Any]] = {
    "name": ["night", "a b", "ä"],
    "base_seed": [0, 7, 10**9],
    "num_parallel": [1, 2, 16],
    "record": ["summary", "series", {"level": "series", "observations": True}],
    "scoring": ["success", "return", {"mode": "return", "floor": -1.0}, {"mode": "success", "targets": {"steps": 5}}],
    "limits": [{"step_s": 5.0}, {"act_s": 5.0, "retries": 0}, {"max_loaded_agents": 1}],
    "stop_when": [{"interval_width": 0.5}, {"compare": ["agent0", "agent1"]}],
    "report": [{"aggregates": ["iqm"]}, {}],
    "declare": [{"primary": "success", "n": 3}, {"primary": "score", "alpha": 0.1}],
    "loggers": [[], ["jsonl"]],
    "num_trials_per_task": [2],
    "num_steps_wait": [1],
}


def _agent(rng: random.Random, i: int) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "name": f"agent{i}",
        "policy": rng.choice(["random", "zero", "campaign.simple:Still"]),
    }
    if rng.random() < 0.3:
        options = {"pad_to": rng.choice([1, 4, 16, None]), "max_batch": rng.choice([1, 8]), "placement": "worker"}
        agent["options"] = {name: options[name] for name in rng.sample(list(options), rng.randint(1, 3))}
    if rng.random() < 0.1:
        agent["group"] = "method"
    return agent


def _task(rng: random.Random, i: int) -> Any:
    if rng.random() < 0.2:
        return rng.choice(["CartPole-v1", "Pendulum-v1"])
    options: dict[str, Any] = {"id": rng.choice(["CartPole-v1", "Pendulum-v1"])}
    extra = {
        "success": {"terminated": False}, "kwargs": {}, "wrappers": [], "reuse": False,
        "signals": {"state": "env.state"},
    }  # fmt: skip
    for name, value in extra.items():
        if rng.random() < 0.2:
            options[name] = value
    task: dict[str, Any] = {"suite": "gymnasium", "name": f"task{i}", "options": options}
    for name, values in {
        "wait_steps": [1],
        "out_of_range": ["reject"],
        "success_rule": ["ever"],
        "n_trials": [1],
    }.items():
        if rng.random() < 0.1:
            task[name] = rng.choice(values)
    return task
