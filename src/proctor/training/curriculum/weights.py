"""The rule of the curriculum, on arrays.

p = clamp(difficulty, min_val, max_val) * scale, and then by `mode`: `lin` p, `exp` 2**p, `bin` one over the number of
motions with the same floor(p), so that each bin has the total mass 1 whatever its size.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from proctor.config.models import Frozen


class CurriculumCfg(Frozen):
    """How difficulty becomes weight. Difficulties are of the metric's own unit (rad for `emd`)."""

    metric: str = Field(default="emd", min_length=1)
    """Which number of a motion's metrics is its difficulty; larger is harder."""
    mode: Literal["lin", "exp", "bin"] = "exp"
    min_val: float = Field(default=0.5, ge=0)
    max_val: float = Field(default=2.0, gt=0)
    scale: float = Field(default=2.0, gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> CurriculumCfg:
        if self.min_val > self.max_val:
            raise ValueError(f"min_val is {self.min_val}, above max_val {self.max_val}; swap them")
        if self.mode == "lin" and self.min_val == 0.0:
            raise ValueError(
                "mode lin gives an easy motion the weight min_val * scale; with min_val 0 it is never seen"
            )
        return self


def sampling_weights(difficulty: np.ndarray, cfg: CurriculumCfg | None = None) -> np.ndarray:
    """Weights (n,) of difficulties (n,), positive and finite, not normalised. NaN and infinity count as `max_val`: what
    could not be measured is practised like the hardest, and never spoils its neighbours. No motions, no weights."""
    cfg = cfg or CurriculumCfg()
    values = np.asarray(difficulty, np.float64)
    if values.ndim != 1:
        raise ValueError(f"difficulties have shape {values.shape}; expected one number per motion, (n,)")
    known = np.where(np.isfinite(values), values, cfg.max_val)
    p = np.clip(known, cfg.min_val, cfg.max_val) * cfg.scale
    if cfg.mode == "lin":
        return p
    if cfg.mode == "exp":
        return np.exp2(p)
    _, bins, sizes = np.unique(np.floor(p), return_inverse=True, return_counts=True)
    return 1.0 / sizes[bins]
