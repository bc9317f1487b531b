"""Latent-conditioned models: a reference becomes a context z, and the model acts on (observation, z).

    backward_map(observation) -> z          what state to bring about, as a latent
    project_z(z)              -> z          onto the sphere of radius sqrt(d)
    act(observation, z, mean=True) -> action

The context of the step that leads to reference frame k is computed from frame k, so a motion of T frames has T-1
contexts, of the frames 1 to T-1. The contexts of all motions are computed together, laid one after another in a table,
and gathered by index for all rows of a batch at once.

Arrays are numpy's or torch's; what comes in decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from proctor.errors import InputError
from proctor.policies.arrays import beside, concatenate, to_host

ROWS_AT_ONCE = 65_536
"""More frames than these are computed in several calls, to bound memory."""


@runtime_checkable
class MapsStates(Protocol):
    """A model that makes latents of states."""

    def backward_map(self, obs: Any) -> Any: ...

    def project_z(self, z: Any) -> Any: ...


class LatentModel(MapsStates, Protocol):
    """The model as its author wrote it; arrays or tensors as it likes."""

    def act(self, obs: Any, z: Any, mean: bool = True) -> Any: ...


@dataclass(frozen=True)
class ContextTable:
    """`z` (rows, d): the contexts of motion m are the `counts[m]` rows from `starts[m]` on."""

    z: Any
    starts: np.ndarray
    counts: np.ndarray

    def gather(self, motions: np.ndarray, frames: np.ndarray) -> Any:
        """Contexts (n, d) of steps that lead to reference `frames` (n,) of `motions` (n,). Before the first and beyond
        the last frame of a motion its nearest context holds."""
        ahead = np.clip(np.asarray(frames) - 1, 0, self.counts[motions] - 1)
        return self.z[beside(self.z, self.starts[motions] + ahead)]


def context_table(
    model: Any, observation: Mapping[str, Any], counts: np.ndarray, window: int = 1, *, one_by_one: bool = False
) -> ContextTable:
    """The contexts of all motions: `observation` has the frames 1 to T-1 of every motion, one motion after another
    (entries (sum of counts, ...)), and `counts` says how many each has. `window`: z is the mean over this many frames
    from its own on, as far as the motion goes. `one_by_one`: a call per motion, since a network rounds a row otherwise
    in a batch of another size. Raises InputError for a model whose z is no finite table."""
    counts = np.asarray(counts, np.int64)
    if (counts < 1).any():
        raise InputError("a motion of one frame has nothing to track; expected at least 2 frames")
    rows = int(counts.sum())
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    bounds = [*starts.tolist(), rows] if one_by_one else [*range(0, rows, ROWS_AT_ONCE), rows]
    parts = []
    for start, end in itertools.pairwise(bounds):
        parts.append(model.backward_map({key: value[start:end] for key, value in observation.items()}))
    z = parts[0] if len(parts) == 1 else concatenate(parts)
    _check(z, rows)
    return ContextTable(model.project_z(look_ahead(z, counts, window)), starts, counts)


def look_ahead(z: Any, counts: np.ndarray, window: int) -> Any:
    """The mean of z over its own and the next `window - 1` rows of the same motion. A window of 1 changes nothing."""
    if window == 1:
        return z
    rows, ends = np.arange(len(z)), np.repeat(np.cumsum(counts), counts)
    total = z
    for ahead in range(1, window):
        inside = beside(z, (rows + ahead < ends)[:, None])
        total = total + z[beside(z, np.minimum(rows + ahead, ends - 1))] * inside
    return total / beside(z, np.minimum(ends - rows, window)[:, None])


def project_z(z: Any) -> Any:
    """sqrt(d) * z / ||z||; a zero stays zero."""
    norm = (z * z).sum(-1, keepdims=True) ** 0.5
    return z.shape[-1] ** 0.5 * z / (norm + (norm == 0))


def _check(z: Any, rows: int) -> None:
    shape = tuple(z.shape)
    if len(shape) != 2 or shape[0] != rows:
        raise InputError(f"backward_map gave {shape} for {rows} frames; expected one z per frame, ({rows}, d)")
    finite = abs(z) < float("inf")
    if not bool(finite.all()):
        bad = int(np.flatnonzero(~to_host(finite).all(-1))[0])
        raise InputError(f"backward_map gave NaN or infinity, first for frame {bad} of {rows}; look at the checkpoint")
