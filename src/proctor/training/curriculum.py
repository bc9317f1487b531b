"""From results back into training: how hard each motion was becomes how often it is practised.

The rule, on arrays: p = clamp(difficulty, min_val, max_val) * scale, and then by `mode`: `lin` p, `exp` 2**p, `bin` one
over the number of motions with the same floor(p), so that each bin has the total mass 1 whatever its size.

`Curriculum` takes the metrics of an evaluation and hands weights to a motion library and to a buffer of expert
trajectories. Motions are matched by name. A motion that the evaluation did not measure (an evaluation of a part of the
library) keeps its place: it counts like the hardest, as one whose metric is NaN does, and both are named in the update.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from pydantic import Field, model_validator

from proctor.config.models import Frozen
from proctor.config.validate import Explained
from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.training.humanoidverse.buffer import ExpertBuffer, HumanoidVerseBuffer
from proctor.training.keeping import Keepable

_LOG = logging.getLogger("proctor.training.curriculum")


class CurriculumCfg(Explained, Frozen):
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


class SamplesMotions(Protocol):
    """A motion library: motions by index, each with a weight."""

    @property
    def names(self) -> Sequence[str]: ...

    def update_sampling_weights(self, weights: np.ndarray) -> Any:
        """Take these weights (M,), in the order of `names`."""


class SamplesTrajectories(Protocol):
    """A buffer of expert trajectories: `idxs` are motions in the order of `names`."""

    @property
    def names(self) -> Sequence[str]: ...

    def update_priorities(self, priorities: np.ndarray, idxs: np.ndarray, /) -> Any: ...


@dataclass(frozen=True)
class CurriculumUpdate:
    """What an evaluation did to the sampling: `weights` and the `difficulty` they come from, by motion; `unmeasured`:
    the motions that counted as the hardest because their metric was NaN, infinite or missing."""

    weights: dict[str, float]
    difficulty: dict[str, float]
    unmeasured: tuple[str, ...]

    @property
    def shares(self) -> dict[str, float]:
        """The probability of each motion."""
        total = sum(self.weights.values())
        return {name: weight / total for name, weight in self.weights.items()}


class Curriculum:
    """Turns what an evaluation measured into how often training draws each motion."""

    def __init__(self, cfg: CurriculumCfg | None = None):
        self.cfg = cfg or CurriculumCfg()

    def weights(self, metrics: Mapping[str, Mapping[str, Any]], names: Sequence[str] | None = None) -> CurriculumUpdate:
        """Weights for the motions `names` (default: those of `metrics`) from metrics by motion. Raises InputError
        where no motion has the metric, or where metrics are of motions that `names` does not have."""
        order = list(metrics if names is None else names)
        self._check(metrics, order)
        difficulty = np.array([metrics.get(name, {}).get(self.cfg.metric) for name in order], np.float64)
        found = sampling_weights(difficulty, self.cfg)
        unmeasured = tuple(name for name, value in zip(order, difficulty, strict=True) if not np.isfinite(value))
        if unmeasured:
            shown = ", ".join(unmeasured[:5]) + (f" and {len(unmeasured) - 5} more" if len(unmeasured) > 5 else "")
            _LOG.warning("%s is not a number for %s: counted as the hardest", self.cfg.metric, shown)
        return CurriculumUpdate(
            dict(zip(order, found.tolist(), strict=True)),
            dict(zip(order, difficulty.tolist(), strict=True)),
            unmeasured,
        )

    def update(
        self,
        metrics: Mapping[str, Mapping[str, Any]],
        library: SamplesMotions | None = None,
        buffer: SamplesTrajectories | ExpertBuffer | None = None,
    ) -> CurriculumUpdate:
        """Compute weights and hand them to the library and the buffer, each in its own order of motions. BFM-Zero's
        expert buffer is taken as it is. Nothing is changed where it raises: a library that took its weights before the
        buffer refused is put back, if it has `state()` and `restore(state)`."""
        experts = _named(buffer, library)
        samplers = [sampler for sampler in (library, experts) if sampler is not None]
        updates = [self.weights(metrics, sampler.names) for sampler in samplers] or [self.weights(metrics)]
        with _all_or_none(samplers):
            if library is not None:
                library.update_sampling_weights(np.array(list(updates[0].weights.values())))
            if experts is not None:
                values = np.array(list(updates[-1].weights.values()))
                experts.update_priorities(values, np.arange(len(values)))
        return updates[0]

    def _check(self, metrics: Mapping[str, Mapping[str, Any]], order: Sequence[str]) -> None:
        if not metrics:
            raise InputError("the curriculum got the metrics of no motion; evaluate at least one")
        if unknown := [name for name in metrics if name not in set(order)]:
            raise InputError(
                f'the metrics are of "{unknown[0]}", which the motion library does not have'
                + did_you_mean(unknown[0], order)
                + " Evaluate with the library that training samples from."
            )
        if not any(self.cfg.metric in values for values in metrics.values()):
            known = sorted({key for values in metrics.values() for key in values})
            raise InputError(
                f'no motion has the metric "{self.cfg.metric}"'
                + did_you_mean(self.cfg.metric, known)
                + f" (found {', '.join(known) or 'none'})"
            )


def _named(
    buffer: SamplesTrajectories | ExpertBuffer | None, library: SamplesMotions | None
) -> SamplesTrajectories | None:
    """The buffer, with names."""
    if isinstance(buffer, ExpertBuffer):
        return HumanoidVerseBuffer(buffer, library_names=() if library is None else library.names)
    return buffer


@contextmanager
def _all_or_none(samplers: Sequence[Any]) -> Iterator[None]:
    """Where the block raises, samplers that can be kept are as before it."""
    kept = [(sampler, sampler.state()) for sampler in samplers if isinstance(sampler, Keepable)]
    try:
        yield
    except BaseException:
        for sampler, state in kept:
            sampler.restore(state)
        raise
