"""Goal embeddings: does a model that turns text into goals imagine the right picture?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily

if TYPE_CHECKING:
    from proctor.suites.goals.contrastive import nets
    from proctor.suites.goals.contrastive.inputs import tiles, word_counts
    from proctor.suites.goals.contrastive.model import Checkpoint, write_checkpoint
    from proctor.suites.goals.instructions import Instruction
    from proctor.suites.goals.metrics.embeddings import Embeddings
    from proctor.suites.goals.metrics.formulas import (
        consistency,
        discriminability,
        goal_accuracy,
        goal_variance,
        quality_gap,
        retrieval,
        semantic_robustness,
    )
    from proctor.suites.goals.protocol import GoalModel

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "Checkpoint", "Embeddings", "GoalModel", "Instruction", "consistency", "discriminability", "goal_accuracy",
    "goal_variance", "nets", "quality_gap", "retrieval", "semantic_robustness", "tiles", "word_counts",
    "write_checkpoint",
]  # fmt: skip
