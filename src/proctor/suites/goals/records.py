"""The records of an evaluation: what priors answered, and the success visuals as they were. Everything that is
reported follows from them, without a model and without a simulator.

    goals/records.json     the config's section, tasks and their wordings, priors and their spaces
    goals/prior-0.npz      `goals` (t, s, d), `wordings` (w, s, d), `wording_task` (w,), `texts` (t, e)
    goals/visuals/         a copy of the success visuals
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.foreign import read_npz
from proctor.suites.goals.config import GoalsCfg
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.instructions import Instruction
from proctor.suites.goals.metrics.embeddings import Embeddings
from proctor.suites.goals.visuals import (
    Visuals,
    empty_task,
    read_index,
    read_visuals,
    write_index,
    write_visuals,
)
from proctor_host.npz import write_npz

FOLDER, INDEX = "goals", "records.json"
PLAIN = ("name", "target", "space", "tasks", "missing")


@dataclass(frozen=True, eq=False)
class Records:
    """`visuals` is None where there were none, and `no_visuals` then says why."""

    name: str
    goals: GoalsCfg
    instructions: Mapping[str, Instruction]
    answers: Sequence[Answers]
    visuals: Visuals | None
    no_visuals: str = ""

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(self.instructions)

    @property
    def counts(self) -> dict[str, dict[str, Any]]:
        """How much there is of success visuals, by task; empty without any."""
        if self.visuals is None:
            return {}
        none = empty_task(self.visuals.space, 1, "", 0)
        return {task: self.visuals.tasks.get(task, none).counts for task in self.tasks}


def write_records(run: Path, records: Records) -> None:
    """Write everything under `run`; the index comes last."""
    folder = run / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for number, answers in enumerate(records.answers):
        write_npz(folder / f"prior-{number}.npz", _arrays(answers))
    if records.visuals is not None:
        write_visuals(folder / "visuals", records.visuals)
    index = {
        "name": records.name,
        "goals": records.goals.model_dump(mode="json"),
        "instructions": {task: list(words.wordings) for task, words in records.instructions.items()},
        "priors": [_described(answers) for answers in records.answers],
        "visuals": records.visuals is not None,
        "no_visuals": records.no_visuals,
    }
    write_index(folder / INDEX, index)


def _arrays(answers: Answers) -> dict[str, np.ndarray]:
    own = [answers.wordings[task] for task in answers.tasks]
    arrays = {
        "goals": answers.goals,
        "wordings": np.concatenate(own),
        "wording_task": np.repeat(np.arange(len(own)), [len(rows) for rows in own]),
    }
    return arrays if answers.texts is None else {**arrays, "texts": answers.texts.vectors}


def _described(answers: Answers) -> dict[str, Any]:
    """What is no array."""
    text_space = None if answers.texts is None else answers.texts.space
    return {name: getattr(answers, name) for name in PLAIN} | {"text_space": text_space}


def read_records(run: str | Path) -> Records:
    """The records of a folder. Raises InputError where it has none, or they cannot be read."""
    folder = Path(run) / FOLDER

    def make(index: Any) -> Records:
        return Records(
            index["name"],
            GoalsCfg.model_validate(index["goals"]),
            {task: Instruction(words[0], tuple(words[1:])) for task, words in index["instructions"].items()},
            [_answers(folder / f"prior-{number}.npz", entry) for number, entry in enumerate(index["priors"])],
            read_visuals(folder / "visuals") if index["visuals"] else None,
            index["no_visuals"],
        )

    missing = f"{run} has no goal evaluation: no {FOLDER}/{INDEX}; make one with `proctor goals evaluate`"
    return read_index(folder / INDEX, make, "proctor goals evaluate", missing)


def _answers(path: Path, entry: Mapping[str, Any]) -> Answers:
    try:
        arrays = read_npz(path)
        goals, wordings, owner = arrays["goals"], arrays["wordings"], arrays["wording_task"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"the answers of prior {entry['name']} cannot be read: {path}: {error}") from None
    if wordings.ndim != 3:
        raise InputError(f"{path} has one draw for all wordings, as older versions took it; evaluate again")
    tasks = tuple(entry["tasks"])
    texts = Embeddings.of(arrays["texts"], entry["text_space"]) if entry["text_space"] else None
    by_task = {task: wordings[owner == number] for number, task in enumerate(tasks)}
    return Answers(entry["name"], entry["target"], entry["space"], tasks, goals, by_task, texts, entry["missing"])
