"""From results back into training: how hard each motion was becomes how often it is practised.

`sampling_weights` is the pure rule; `Curriculum` takes the metrics of an evaluation and hands weights to a motion
library and to a buffer of expert trajectories.
"""

from __future__ import annotations

from proctor.training.curriculum.feedback import Curriculum, CurriculumUpdate, SamplesMotions, SamplesTrajectories
from proctor.training.curriculum.weights import CurriculumCfg, sampling_weights

__all__ = [
    "Curriculum",
    "CurriculumCfg",
    "CurriculumUpdate",
    "SamplesMotions",
    "SamplesTrajectories",
    "sampling_weights",
]
