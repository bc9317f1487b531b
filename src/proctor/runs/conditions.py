"""What a trial's bytes depend on beside agent, task and seed, in sentences that a run says itself.

`rows` is the ledger's note of that name: by agent and stage the rows of a forward (`pad_to`) and in how many of the
forwards that were asked again something was found (`rollout.ask.rows`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from proctor.config.models import EvalConfig
from proctor.config.problems import Problems
from proctor.config.validate import validate
from proctor.registry import SUITES
from proctor.report import text

Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]

FOUND = {
    "again": "gave other answers when the same rows were asked for again, with the same generators",
    "company": "gave a row another answer when the rows beside it were others",
    "place": "gave a row another answer in another place of the batch",
    "memory": "gave other answers to the same observations, so what is asked for many trials at once remembers",
}
"""What breaks the promise that a trial is a function of agent, task and seed."""
CURE = "options: {pad_to: 1} asks for every row alone"
CURES = {
    "company": CURE,
    "place": CURE,
    "memory": "give a class, or a function without arguments that makes one, then every trial has its own",
}
"""What helps, where something does."""


def added(known: Rows, more: Rows) -> dict[str, dict[str, dict[str, Any]]]:
    """What two sessions or shards have found, together."""
    joined = {agent: {stage: dict(found) for stage, found in stages.items()} for agent, stages in known.items()}
    for agent, stages in more.items():
        for stage, found in stages.items():
            before = joined.setdefault(agent, {}).setdefault(stage, {"pad_to": found["pad_to"]})
            before |= {key: before.get(key, 0) + n for key, n in found.items() if key != "pad_to"}
    return joined


def cautions(rows: Rows, sessions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What makes a trial's bytes depend on how it was run."""
    if loose := _agents(rows, lambda stage: stage["pad_to"] is None):
        yield (
            f"pad_to is null for {text.listed(loose)}: a trial's bytes may depend on which trials share its forwards, "
            "and another run may give others."
        )
    for key, said in FOUND.items():
        if agents := _agents(rows, lambda stage, key=key: stage.get(key, 0) > 0):
            yield f"{text.listed(agents)} {said}: trials may not come out the same to the byte" + (
                f"; {CURES[key]}." if key in CURES else "."
            )
    yield from _devices(sessions)
    numbers = sorted({session["numeric_threads"] for session in sessions if "numeric_threads" in session})
    if len(numbers) > 1:
        listed = text.listed([str(number) for number in numbers])
        yield f"Parts of this run computed with {listed} numeric threads, which may round differently."


def _devices(sessions: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What worlds on a device make a trial depend on."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for session in sessions:
        for task, said in session.get("placement", {}).get("worlds", {}).items():
            found.setdefault(str(task), []).append(said)
    for task, said in found.items():
        places = list(dict.fromkeys(f"{one.get('worlds')} worlds on {one.get('device')}" for one in said))
        if not all(one.get("exact") for one in said):
            yield inexact(task, places[0])
        if len(places) > 1:
            yield (
                f"{task} had {text.listed(places)} in parts of this run: forwards for all worlds at once round "
                "otherwise with another number of rows, so trials of one part may not come out so in the other."
            )


def inexact(task: str, place: str) -> str:
    """What is to be known of worlds that do not say that they are exact. `place`: how many there are, and where."""
    return (
        f"Trials on {task} ran in {place}, which do not say that they are exact: the same trial may come out with "
        "other last bits in another world, beside other trials, with another number of worlds, or on another kind of "
        "device."
    )


def unsaid(cfg: EvalConfig, silent: Collection[str]) -> Iterator[str]:
    """Where a config says what success is by something that never came. `silent`: tasks of which no trial said whether
    it was a success. Suites that are not registered are not asked: a report runs no code that a run brought along."""
    from proctor.suites import suite_for

    for task in cfg.tasks:
        if task.name not in silent or task.suite not in SUITES:
            continue
        suite = suite_for(task)
        options = validate(suite.Options, task.options, (), Problems(""))
        said = None if options is None else suite.unsaid(options)
        if said is not None:
            yield (
                f"Success on {task.name} goes by {said}, which no step of any trial had: there is no success rate. "
                "Compare the name with what the environment gives, or say success in another way."
            )


def rounding(rows: Rows) -> Iterator[str]:
    """Whose forwards round otherwise than one row alone."""
    for key, said in {"alone": "are rounded otherwise than", "alone_unknown": "may be rounded otherwise than"}.items():
        found: dict[int, list[str]] = {}
        for agent, stages in rows.items():
            sizes = [stage["pad_to"] for stage in stages.values() if stage.get(key, 0) > 0]
            if sizes:
                found.setdefault(max(sizes), []).append(agent)
        for size, agents in found.items():
            yield (
                f"{text.listed(agents)}: rows are computed {size} at a time and {said} one alone, so a script that "
                f"asks for one row may get other last bits; {CURE}."
            )


def _agents(rows: Rows, holds: Any) -> list[str]:
    return [agent for agent, stages in rows.items() if any(holds(stage) for stage in stages.values())]
