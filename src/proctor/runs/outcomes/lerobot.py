"""LeRobot's `eval_info.json`: an episode per entry of `per_episode`, or lists of episodes for each task in `per_task`.

Returns are metrics (`sum_reward`, `max_reward`); success decides. `per_episode` has the seeds that `reset` got, with
which trials are paired; `per_task` has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proctor.errors import InputError
from proctor.runs.outcomes.rows import Outcomes, Raw, listed, mapped, text

KIND = "lerobot"
LISTS = {"sum_rewards": "sum_reward", "max_rewards": "max_reward", "successes": "success"}
NO_MODEL = "the file does not name the policy; it is called {agent} here: say --agent NAME for another name"


def is_lerobot(data: Any) -> bool:
    """Whether JSON is of this kind, whole or in part."""
    if not isinstance(data, Mapping):
        return False
    return bool({"per_episode", "per_task"} & data.keys()) or _only_aggregates(data)


def read_lerobot(data: Mapping[str, Any], agent: str | None, default: str) -> Outcomes:
    """The episodes. `agent` is what the user calls the policy, `default` what it is called otherwise."""
    if _only_aggregates(data):
        raise InputError(
            "it has averages and no episodes; expected per_episode or per_task, as lerobot-eval writes them: without "
            "the episodes there is nothing to count"
        )
    name = agent or default
    raws = list(_tasks(data["per_task"], name) if "per_task" in data else _episodes(data["per_episode"], name))
    notes = [] if agent else [NO_MODEL.format(agent=name)]
    if not any(raw.cells.get("seed") for raw in raws):
        notes.append("the file has no seeds; which trials began alike is not known, so agents are compared unpaired")
    return Outcomes(KIND, raws, tuple(notes))


def _only_aggregates(data: Mapping[str, Any]) -> bool:
    found = [data.get(key) for key in ("aggregated", "overall")] + [data]
    episodes = {"per_episode", "per_task"} & data.keys()
    return not episodes and any(isinstance(part, Mapping) and "pc_success" in part for part in found)


def _episodes(entries: Any, agent: str, task: str | None = None, where: str = "per_episode") -> Iterator[Raw]:
    for place, entry in enumerate(listed(entries, where)):
        found = mapped(entry, f"{where}[{place}]")
        kept = {key: text(found.get(key)) for key in ("seed", "success", "sum_reward", "max_reward")}
        trial = {} if kept["seed"] is not None else {"trial": text(found.get("episode_ix", place))}
        yield Raw(f"{where}[{place}]", {"agent": agent, **({"task": task} if task else {}), **kept, **trial})


def _tasks(entries: Any, agent: str) -> Iterator[Raw]:
    for place, entry in enumerate(listed(entries, "per_task")):
        where = f"per_task[{place}]"
        task = mapped(entry, where)
        metrics = mapped(task.get("metrics"), f"{where}.metrics")
        name = f"{task.get('task_group', 'task')}/{task.get('task_id', place)}"
        if "per_episode" in metrics:
            yield from _episodes(metrics["per_episode"], agent, name, f"{where}.metrics.per_episode")
            continue
        columns = {key: listed(metrics.get(key), f"{where}.metrics.{key}") for key in LISTS if key in metrics}
        lengths = {key: len(values) for key, values in columns.items()}
        if "successes" not in columns or len(set(lengths.values())) > 1:
            told = ", ".join(f"{count} {key}" for key, count in lengths.items()) or "none of them"
            raise InputError(f"{where}.metrics: found {told}; expected as many successes as rewards")
        for trial in range(lengths["successes"]):
            values = {LISTS[key]: text(column[trial]) for key, column in columns.items()}
            yield Raw(f"{where}, episode {trial}", {"agent": agent, "task": name, "trial": str(trial), **values})
