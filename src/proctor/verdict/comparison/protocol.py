"""Whether runs examined their agents in the same way: what must be equal for a comparison, and what for pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.config.models import EvalConfig, ScoringCfg
from proctor.plan.resume import differences
from proctor.record.environment import DECISIVE
from proctor.registry import SCORINGS
from proctor.scoring import make_scoring

FREE_OF_TASK = frozenset({"n_trials"})
"""How many trials there are does not change any of them."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A run, as far as comparing it goes. `versions` of what a trial may depend on."""

    label: str
    cfg: EvalConfig
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Unlike:
    """One thing in which two runs differ."""

    what: str
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.what}: {self.first} against {self.second}"


def unlike_tasks(first: Examined, second: Examined) -> list[Unlike]:
    """What differs in how trials of the tasks of both went: options, step limits, success rule, and so on."""
    found = []
    for name in common_tasks([first, second]):
        a, b = (_task(run.cfg, name) for run in (first, second))
        found += [Unlike(f"task {name}, {key}", _short(x), _short(y)) for key, x, y in differences(a, b)]
    return found


def unlike_scoring(first: Examined, second: Examined) -> list[Unlike]:
    """What differs in the numbers that scores depend on; an option that says what holds anyway is no difference."""
    a, b = (_settings(run.cfg.scoring) for run in (first, second))
    return [Unlike(f"scoring.{key}", _short(x), _short(y)) for key, x, y in differences(a, b)]


def unlike_versions(first: Examined, second: Examined) -> list[Unlike]:
    """Packages that both runs name, in versions that are not equal."""
    known = [name for name in DECISIVE if name in first.versions and name in second.versions]
    pairs = [(name, first.versions[name], second.versions[name]) for name in known]
    return [Unlike(*pair) for pair in pairs if pair[1] != pair[2]]


def common_tasks(runs: list[Examined]) -> list[str]:
    """In the order of the first run."""
    return [t.name for t in runs[0].cfg.tasks if all(t.name in {u.name for u in r.cfg.tasks} for r in runs)]


def _task(cfg: EvalConfig, name: str) -> dict[str, Any]:
    """A task with what the run decides for it."""
    task = cfg.task(name)
    data = {key: value for key, value in task.model_dump(mode="json").items() if key not in FREE_OF_TASK}
    return {**data, "max_episode_steps": task.max_episode_steps or cfg.max_episode_steps}


def _settings(scoring: ScoringCfg) -> dict[str, Any]:
    """With the defaults of a registered scoring; one of the user's own is not imported for this."""
    return make_scoring(scoring).settings() if scoring.mode in SCORINGS.names() else scoring.model_dump(mode="json")


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
