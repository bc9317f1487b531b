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

from proctor.config.models import Frozen, RuntimeCfg
from proctor.errors import InputError
from proctor.policies.from_python import source_file
from proctor.registry import Registry
from proctor.runtimes import chosen, locate
from proctor.suites.goals.instructions import Instruction
from proctor.suites.goals.metrics.embeddings import SpaceMismatch
from proctor.suites.goals.protocol import GoalModel, make_model
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

REFERENCES = ("ground_truth", "constant", "shuffled")
"""Goal models that are made of others, or of success visuals."""
RECIPES: Mapping[str, tuple[str, tuple[tuple[str, str], ...]]] = {
    "mineclip": ("steve1", (("torch", "torch"), ("mineclip", "steve1"), ("steve1.data", "steve1"))),
}
"""Goal model -> the recipe of a runtime that has what it needs, and what that is."""


class GoalModelCfg(Frozen):
    """A goal model. YAML may also say the target alone: `goals: my_model.py:Prior`."""

    target: str = Field(min_length=1)
    """A registered goal model, or an import string to a GoalModel class or a factory."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    runtime: RuntimeCfg | None = None
    """Where it lives; None: in this interpreter, or, where that lacks a package that it needs, in the runtime of its
    recipe."""

    @model_validator(mode="after")
    def _is_of_this_machine(self) -> GoalModelCfg:
        if self.runtime is not None and self.runtime.address is not None:
            raise ValueError("found runtime.address; a goal model lives in an interpreter of this machine")
        return self

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
    home = home_of(cfg)
    made = _made_here(cfg, around) if home is None else _made_there(cfg, home, around)
    if around.visuals is not None and around.visuals.space != made.space:
        raise SpaceMismatch(
            f"{around.who} answers in the space {made.space}, and the success visuals are of the space "
            f"{around.visuals.space}: a cosine between two spaces means nothing. Collect visuals with the encoder of "
            "this model, or leave one of the two out"
        )
    return made


def home_of(cfg: GoalModelCfg) -> RuntimeCfg | None:
    """The runtime that a goal model lives in; None: this interpreter."""
    recipe, needs = RECIPES.get(cfg.target, (None, ()))
    return chosen(cfg.runtime, None if "load" in cfg.kwargs else recipe, needs)


def runtime_of(cfg: GoalModelCfg) -> dict[str, Any] | None:
    """What tells the interpreter of a goal model from others (version, packages, hash); None: it lives here."""
    home = home_of(cfg)
    return None if home is None else dict(locate(home).identity)


def _made_here(cfg: GoalModelCfg, around: Surroundings) -> GoalModel:
    given = {
        "instructions": around.instructions,
        "visuals": around.visuals,
        "device": around.device,
        "make": lambda inner: make_goal_model(GoalModelCfg.model_validate(inner), around),
    }
    return make_model(GOAL_MODELS.find(cfg.target, around.base), cfg.target, given, cfg.kwargs)


def _made_there(cfg: GoalModelCfg, home: RuntimeCfg, around: Surroundings) -> GoalModel:
    from proctor.suites.goals.elsewhere import HostedGoals, link_to

    if cfg.target in REFERENCES:
        raise InputError(
            f"{around.who}: {cfg.target} is computed here and has no runtime; give one to the model inside it: "
            "kwargs: {model: {target: ..., runtime: ...}}"
        )
    target = cfg.target if ":" in cfg.target else GOAL_MODELS.part(cfg.target).target
    if around.base is not None and target.partition(":")[0].endswith(".py"):
        target = str(around.base / target)
    return HostedGoals(link_to(home, target, cfg.kwargs, around.device, around.who))


def source_of(cfg: GoalModelCfg, base: Path | None) -> Path | None:
    """The file that the target is written in; None where there is none (a compiled module), or where only its runtime
    has it."""
    if cfg.runtime is not None and ":" in cfg.target and not cfg.target.partition(":")[0].endswith(".py"):
        return None
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
