"""Goal embeddings: does a model that turns text into goals imagine the right picture?"""

from proctor.goals.instructions import Instruction
from proctor.goals.protocol import GoalModel
from proctor.metrics.goals.embeddings import Embeddings

__all__ = ["Embeddings", "GoalModel", "Instruction"]
