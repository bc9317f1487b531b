"""Asking a prior for its goals.

Each goal is asked for by itself, with a generator of its own that depends on the task and the draw only: neither the
order of tasks nor who else is asked for changes an answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from proctor.errors import InputError
from proctor.suites.goals.config import GoalsCfg, PriorCfg
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.instructions import Instruction
from proctor.suites.goals.metrics.embeddings import SpaceMismatch
from proctor.suites.goals.models import Surroundings, make_goal_model
from proctor.suites.goals.protocol import GoalModel, goals_of, texts_of
from proctor.suites.goals.visuals import Visuals

DRAW_STREAM, WORDING_STREAM = 3, 4


def ask(prior: PriorCfg, goals: GoalsCfg, instructions: Mapping[str, Instruction], visuals: Visuals | None) -> Answers:
    """What a prior answers for every task. Tasks it cannot answer for are left out, with the reason. Raises InputError
    where it can answer for none, and SpaceMismatch where its space is not that of the success visuals."""
    model = make_goal_model(prior, Surroundings(instructions, visuals))
    if visuals is not None and visuals.space != model.space:
        raise SpaceMismatch(
            f'prior "{prior.name}" answers in the space {model.space}, and the success visuals are of the space '
            f"{visuals.space}: a cosine between two spaces means nothing. Collect visuals with the encoder of this "
            "prior, or leave it out"
        )
    draws: dict[str, np.ndarray] = {}
    wordings: dict[str, np.ndarray] = {}
    missing: dict[str, str] = {}
    for task, instruction in instructions.items():
        try:
            draws[task] = _draws(model, task, instruction, goals)
            wordings[task] = _wordings(model, task, instruction, goals)
        except InputError as error:
            missing[task] = str(error)
    if not draws:
        raise InputError(f'prior "{prior.name}" answers for no task: {next(iter(missing.values()))}')
    texts = texts_of(model, [instructions[task].text for task in draws])
    stacked = np.stack(list(draws.values()))
    return Answers(prior.name, prior.target, model.space, tuple(draws), stacked, wordings, texts, missing)


def _rng(goals: GoalsCfg, stream: int, task: str, number: int) -> np.random.Generator:
    word = int.from_bytes(hashlib.blake2b(task.encode(), digest_size=4).digest(), "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(goals.seed, spawn_key=(stream, word, number))))


def _draws(model: GoalModel, task: str, instruction: Instruction, goals: GoalsCfg) -> np.ndarray:
    asked = [([instruction.text], _rng(goals, DRAW_STREAM, task, number)) for number in range(goals.draws)]
    return np.concatenate([goals_of(model, *one).vectors for one in asked])


def _wordings(model: GoalModel, task: str, instruction: Instruction, goals: GoalsCfg) -> np.ndarray:
    """With the same noise for every wording: what differs is the wording."""
    asked = [([text], _rng(goals, WORDING_STREAM, task, 0)) for text in instruction.wordings]
    return np.concatenate([goals_of(model, *one).vectors for one in asked])
