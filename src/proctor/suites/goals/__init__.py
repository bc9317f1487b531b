"""Goal embeddings: does a model that turns text into goals imagine the right picture?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor.suites.goals.instructions import Instruction
    from proctor.suites.goals.metrics.embeddings import Embeddings
    from proctor.suites.goals.protocol import GoalModel

_HOME = {"Embeddings": "metrics.embeddings", "GoalModel": "protocol", "Instruction": "instructions"}

__all__ = ["Embeddings", "GoalModel", "Instruction"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
