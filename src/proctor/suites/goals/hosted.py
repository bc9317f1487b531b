"""A goal model in another interpreter. This runs there, in a policy host, with the packages of its runtime: numpy, and
what the model imports. `proctor.suites.goals.elsewhere` is the other end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from proctor.registry import import_object
from proctor.suites.goals.protocol import GoalModel, goals_of, make_model, pictures_of, texts_of
from proctor_host.child import offer
from proctor_host.policies import Answering, generator, state_of

OFFERED = {
    "GoalModel": "proctor.suites.goals.protocol",
    "Embeddings": "proctor.suites.goals.metrics.embeddings",
    "Instruction": "proctor.suites.goals.instructions",
}
"""What `proctor.suites.goals` has for a goal model in a runtime."""


def make(agent: Any, options: Any, spaces: Any) -> ServedGoals:
    """The goal model of `options`: `target`, `kwargs` and `device`."""
    offer("proctor.suites.goals", OFFERED)
    target = import_object(options.target)
    return ServedGoals(make_model(target, options.target, {"device": options.device}, dict(options.kwargs)))


def load(agent: Any, options: Any, spaces: Any) -> Any:
    """A whole agent of the `goal` loader, with its goal model, in a runtime that has pydantic and gymnasium."""
    from proctor.policies import hosted

    offer("proctor.suites.goals", OFFERED)
    return hosted.load(agent, options, spaces)


class ServedGoals(Answering):
    """Answers for a goal model. What it raises, and what is wrong with its answers, is said in a sentence."""

    def __init__(self, model: GoalModel):
        self._model = model

    def about(self) -> dict[str, Any]:
        model = self._model
        return {
            "name": type(model).__name__,
            "space": model.space,
            "window": int(model.window),
            "frame_size": [int(side) for side in model.frame_size],
            "text_space": model.text_space,
            "fingerprint": model.fingerprint,
        }

    def answer(self, call: Mapping[str, Any]) -> dict[str, Any]:
        kind = call["call"]
        if kind == "embed_goal":
            rng = generator(call["rng"])
            found = goals_of(self._model, call["texts"], rng)
            return {"vectors": _plain(found.vectors), "rng": state_of(rng)}
        if kind == "encode_frames":
            return {"vectors": _plain(pictures_of(self._model, call["frames"]).vectors)}
        found = texts_of(self._model, call["texts"])
        assert found is not None, "the engine asks for texts only where there is a text encoder"
        return {"vectors": _plain(found.vectors)}


def _plain(vectors: Any) -> np.ndarray:
    return np.ascontiguousarray(vectors)
