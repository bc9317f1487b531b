"""The result file of vla-eval: `tasks`, each with its `episodes`.

vla-eval counts an episode that broke as a failure. Here the reason decides, as it does in a run: what the environment
or the connection broke is unscored, what the model raised is the policy's. The number of an episode says how it began,
for every model alike, so trials are paired by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from proctor.runs.outcomes.lerobot import NO_MODEL
from proctor.runs.outcomes.rows import Outcomes, Raw, listed, mapped, numbers, text
from proctor_host.episode import Outcome

KIND = "vla-eval"
BROKEN = {
    "model_act": Outcome.POLICY_ERROR,
    "timeout": Outcome.TIMEOUT,
    "server_unreachable": Outcome.WORKER_LOST,
    "connection_closed": Outcome.WORKER_LOST,
}
"""`failure_reason` -> outcome; any other is the environment's."""


def is_vla_eval(data: Any) -> bool:
    return isinstance(data, Mapping) and {"benchmark", "harness_version", "tasks"} <= data.keys()


def read_vla_eval(data: Mapping[str, Any], agent: str | None, default: str) -> Outcomes:
    """The episodes. `agent` is what the user calls the model, `default` what it is called otherwise."""
    name = agent or default
    raws = list(_raws(data, name))
    notes = [] if agent else [NO_MODEL.format(agent=name).replace("policy", "model")]
    broken = Counter(raw.error.partition(":")[0] for raw in raws if raw.error)
    if broken:
        told = ", ".join(f"{count} by {reason}" for reason, count in sorted(broken.items()))
        notes.append(
            f"{sum(broken.values())} episodes broke ({told}): vla-eval's own rate counts each as a failure; here only "
            "those that the model broke"
        )
    if data.get("partial"):
        notes.append("vla-eval says that the evaluation is partial: episodes are missing")
    notes.append("seeds are the numbers of the episodes, which say how each began" + _own_seed(data))
    return Outcomes(KIND, raws, tuple(notes))


def _own_seed(data: Mapping[str, Any]) -> str:
    return "" if data.get("seed") is None else f"; the evaluation's own seed was {data['seed']}"


def _raws(data: Mapping[str, Any], agent: str) -> Iterator[Raw]:
    for place, entry in enumerate(listed(data["tasks"], "tasks")):
        task = mapped(entry, f"tasks[{place}]")
        name = f"{data['benchmark']}/{task.get('task', place)}"
        for number, one in enumerate(listed(task.get("episodes"), f"tasks[{place}].episodes")):
            where = f"tasks[{place}].episodes[{number}]"
            episode = mapped(one, where)
            yield Raw(where, {"agent": agent, "task": name, **_cells(episode, where)}, _error(episode))


def _cells(episode: Mapping[str, Any], where: str) -> dict[str, str | None]:
    metrics = dict(mapped(episode.get("metrics"), f"{where}.metrics"))
    success = text(metrics.pop("success", None))
    seconds = {"elapsed_s": episode.get("elapsed_sec")}
    cells = {"seed": text(episode.get("episode_id")), "steps": text(episode.get("steps"))}
    cells |= {**numbers(metrics), **numbers(seconds)}
    reason = episode.get("failure_reason")
    if not reason:
        return {**cells, "success": success}
    return {**cells, "outcome": BROKEN.get(str(reason), Outcome.ENV_ERROR).value}


def _error(episode: Mapping[str, Any]) -> str | None:
    """The reason, and the last line of what is told of it."""
    if not episode.get("failure_reason"):
        return None
    detail = str(episode.get("failure_detail") or "").strip().splitlines()
    return f"{episode['failure_reason']}: {detail[-1] if detail else 'as imported'}"
