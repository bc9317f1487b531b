"""Goal models by name: registered ones, and classes or factories of yours by import string.

A target is called with `kwargs`, and with `instructions` (task -> Instruction), `visuals` (Visuals, or None) and
`device` where its signature names them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from proctor.config.models import Frozen
from proctor.errors import InputError
from proctor.policies.from_python import source_file
from proctor.registry import Registry, call_target
from proctor.suites.goals.instructions import Instruction
from proctor.suites.goals.metrics.embeddings import SpaceMismatch
from proctor.suites.goals.protocol import GoalModel
from proctor.suites.goals.visuals import Visuals

GOAL_MODELS: Registry[Any] = Registry(
    "goal model",
    "proctor.goal_models",
    None,
    {
        "ground_truth": "proctor.suites.goals.references:GroundTruth",
        "constant": "proctor.suites.goals.references:Constant",
        "shuffled": "proctor.suites.goals.references:Shuffled",
        "contrastive": "proctor.suites.goals.contrastive:ContrastiveGoals",
        "mineclip": "proctor.suites.goals.mineclip:mineclip_goals",
    },
)


class GoalModelCfg(Frozen):
    """A goal model. YAML may also say the target alone: `goals: my_model.py:Prior`."""

    target: str = Field(min_length=1)
    """A registered goal model, or an import string to a GoalModel class or a factory."""
    kwargs: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """The long form of a short one; anything else as it is."""
        return {"target": value} if isinstance(value, str) else value


@dataclass(frozen=True)
class Surroundings:
    """What a goal model may be told when it is made. `who` it belongs to is for errors."""

    instructions: Mapping[str, Instruction] = field(default_factory=dict)
    visuals: Visuals | None = None
    device: str = "cpu"
    base: Path | None = None
    who: str = "the goal model"


def make_goal_model(cfg: GoalModelCfg, around: Surroundings) -> GoalModel:
    """The model that a config names. Raises InputError for what the user can mend, SpaceMismatch where its space is not
    that of the success visuals."""
    target = GOAL_MODELS.find(cfg.target, around.base)
    if not callable(target):
        raise InputError(f"{cfg.target} is a {type(target).__name__}; expected a GoalModel class or a factory")
    given = {
        "instructions": around.instructions,
        "visuals": around.visuals,
        "device": around.device,
        "make": lambda inner: make_goal_model(GoalModelCfg.model_validate(inner), around),
    }
    made = call_target(target, cfg.target, given, cfg.kwargs)
    if not isinstance(made, GoalModel):
        raise InputError(
            f"{cfg.target} gave a {type(made).__name__}; expected a GoalModel (subclass proctor.suites.goals.GoalModel)"
        )
    if around.visuals is not None and around.visuals.space != made.space:
        raise SpaceMismatch(
            f"{around.who} answers in the space {made.space}, and the success visuals are of the space "
            f"{around.visuals.space}: a cosine between two spaces means nothing. Collect visuals with the encoder of "
            "this model, or leave one of the two out"
        )
    return made


def source_of(cfg: GoalModelCfg, base: Path | None) -> Path | None:
    """The file that the target is written in; None where there is none (a compiled module)."""
    target = cfg.target if ":" in cfg.target else GOAL_MODELS.part(cfg.target).target
    return next(iter(source_file(target, base).values()), None)


def encoder_hash(cfg: GoalModelCfg, model: GoalModel, base: Path | None) -> str:
    """SHA-256 of what decides an encoder's answers: its source, its arguments, the files they name, its space, window
    and frame size, and what it says of its weights (`fingerprint`)."""
    digest = hashlib.sha256()
    said = [model.space, model.window, list(model.frame_size), model.fingerprint, cfg.target.rpartition(":")[2]]
    digest.update(json.dumps(said).encode())
    source = source_of(cfg, base)
    for value in (str(source or ""), *_texts(cfg.kwargs)):
        path = Path(value) if base is None else base / value
        digest.update(path.read_bytes() if value and os.path.isfile(path) else value.encode())
    return digest.hexdigest()


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [text for key in sorted(value) for text in (str(key), *_texts(value[key]))]
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return [str(value)]
