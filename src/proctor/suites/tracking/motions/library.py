"""Many references in one packed array, and how often each is to be practised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean
from proctor.suites.tracking.motions.motion import Frames, Reference, concatenate


class WeightedMotions:
    """M motions by name, each with a weight by which it is drawn; all ones at first. In errors, weights are called
    `what`."""

    def __init__(self, names: Sequence[str], what: str):
        self.names, self._what = tuple(names), what
        self._weights = np.ones(len(self.names))

    def __len__(self) -> int:
        """The number of motions."""
        return len(self.names)

    def index(self, name: str) -> int:
        """Which motion has this name. Raises InputError where none has."""
        if name in self.names:
            return self.names.index(name)
        raise InputError(f'no motion "{name}"' + did_you_mean(name, self.names) + f" ({len(self)} motions are loaded)")

    def update_weights(
        self,
        weights: Mapping[str, float] | Sequence[float] | np.ndarray,
        idxs: Sequence[int] | np.ndarray | None = None,
    ) -> None:
        """Give new weights to all motions, to those with the indices `idxs`, or to those that are named. Raises
        InputError, and changes nothing, for an unknown motion, another number of weights, one that is negative or not
        finite, and for all zero."""
        if isinstance(weights, Mapping):
            idxs, weights = [self.index(name) for name in weights], list(weights.values())
        where = np.arange(len(self)) if idxs is None else np.asarray(idxs, np.int64)
        given = np.asarray(weights, np.float64)
        if given.shape != where.shape:
            raise InputError(f"{self._what}: found shape {given.shape}, expected {where.shape}: one for each motion")
        if where.size and not ((where >= 0) & (where < len(self))).all():
            raise InputError(f"{self._what}: there are {len(self)} motions; found the indices {where.tolist()}")
        new = self._weights.copy()
        new[where] = given
        wrong = np.flatnonzero(~np.isfinite(new) | (new < 0))
        if len(wrong):
            found = ", ".join(f"{self.names[i]}: {new[i]}" for i in wrong[:5])
            raise InputError(f"{self._what} must be finite and not negative; found {found}")
        if not new.any():
            raise InputError(f"{self._what} must not all be zero: nothing could be sampled")
        self._weights = new

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n motions, each with a probability proportional to its weight, (n,) int64."""
        upper = np.cumsum(self._weights)
        drawn = np.searchsorted(upper, rng.random(n) * upper[-1], side="right")
        return np.minimum(drawn, np.flatnonzero(self._weights)[-1]).astype(np.int64)


class MotionLibrary(WeightedMotions):
    """M references of one robot at one rate. The references never change; the sampling weights do."""

    update_sampling_weights = WeightedMotions.update_weights
    sample = WeightedMotions.draw

    def __init__(self, references: Sequence[Reference]):
        """Raises InputError for no references, two of one name, and different rates."""
        if not references:
            raise InputError("a motion library needs at least one motion; found none")
        super().__init__([reference.name for reference in references], "sampling weights")
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise InputError(f"two motions have one name: {', '.join(twice)}; rename one of them")
        if len({reference.dt_s for reference in references}) > 1:
            raise InputError("the motions of a library must have one rate; load them together with load_motions")
        self.dt_s = references[0].dt_s
        self.lengths = np.array([len(reference) for reference in references], np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        self.frames = concatenate(references)
        """All frames of all motions: motion i has the rows `offsets[i]` to `offsets[i + 1]`."""

    def reference(self, i: int) -> Reference:
        """Motion i, as views of the packed arrays."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"no motion {i}: the library has {len(self)}")
        start, stop = self.offsets[i % len(self)], self.offsets[i % len(self) + 1]
        return Reference(name=self.names[i], dt_s=self.dt_s, **vars(self.frames.rows(slice(start, stop))))

    def rows(self, motions: np.ndarray, frames: np.ndarray) -> np.ndarray:
        """Rows of `self.frames`; a frame beyond either end of its motion is the nearest one. The arguments
        broadcast."""
        return self.offsets[motions] + np.maximum(np.minimum(frames, self.lengths[motions] - 1), 0)

    def gather(self, motions: np.ndarray, frames: np.ndarray) -> Frames:
        """Frame `frames[n]` of motion `motions[n]` for each n, as copies with the leading shape of the arguments; a
        frame beyond either end of its motion is the nearest one."""
        return self.frames.rows(self.rows(np.asarray(motions), np.asarray(frames)))

    @property
    def sampling_weights(self) -> np.ndarray:
        """(M,), not normalised; all ones at first. A copy."""
        return self._weights.copy()

    def state(self) -> dict[str, Any]:
        """What changes, for `restore`; plain data."""
        return {"names": list(self.names), "sampling_weights": self._weights.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Back to a `state`. Raises InputError, and changes nothing, where it is of another library."""
        if tuple(state["names"]) != self.names:
            raise InputError(
                f"the state is of a library of {len(state['names'])} other motions; this one has {len(self)}"
            )
        self.update_sampling_weights(np.asarray(state["sampling_weights"]))
