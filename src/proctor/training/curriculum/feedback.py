"""Handing weights to what samples: a motion library, a buffer of expert trajectories.

Motions are matched by name. A motion that the evaluation did not measure (an evaluation of a part of the library) keeps
its place: it counts like the hardest, as one whose metric is NaN does, and both are named in the update.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.training.curriculum.weights import CurriculumCfg, sampling_weights

_LOG = logging.getLogger("proctor.training.curriculum")


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

    def update_priorities(self, priorities: np.ndarray, idxs: np.ndarray) -> Any: ...


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
        difficulty = np.array([_number(metrics.get(name, {}).get(self.cfg.metric)) for name in order])
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
        buffer: SamplesTrajectories | None = None,
    ) -> CurriculumUpdate:
        """Compute weights and hand them to the library and the buffer, each in its own order of motions. Nothing is
        changed where it raises."""
        samplers = [sampler for sampler in (library, buffer) if sampler is not None]
        updates = [self.weights(metrics, sampler.names) for sampler in samplers] or [self.weights(metrics)]
        if library is not None:
            library.update_sampling_weights(np.array(list(updates[0].weights.values())))
        if buffer is not None:
            values = np.array(list(updates[-1].weights.values()))
            buffer.update_priorities(values, np.arange(len(values)))
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


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
