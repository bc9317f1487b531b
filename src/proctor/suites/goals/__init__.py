"""Goal embeddings: does a model that turns text into goals imagine the right picture?"""

from proctor.suites.goals.instructions import Instruction
from proctor.suites.goals.metrics.embeddings import Embeddings
from proctor.suites.goals.protocol import GoalModel

__all__ = ["Embeddings", "GoalModel", "Instruction"]
