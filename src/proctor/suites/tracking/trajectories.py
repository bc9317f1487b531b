"""Expert trajectories: the motions of a library as observations, to be sampled in slices for training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proctor.errors import InputError
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.motions.library import WeightedMotions
from proctor.suites.tracking.observations import reference_observations
from proctor.suites.tracking.robot import Robot


@dataclass(frozen=True, eq=False)
class Slices:
    """S slices of L successive frames."""

    observation: dict[str, np.ndarray]
    """Each (S, L, ...) float32: `state`, `privileged_state`, and `last_action`, which is zero, since a motion has no
    actions."""
    terminated: np.ndarray
    """(S, L) bool, all false: a motion that ends has not failed."""
    truncated: np.ndarray
    """(S, L) bool: the last frame of a motion."""
    motion_id: np.ndarray
    """(S, L) int64."""
    valid: np.ndarray
    """(S, L) bool: false where a motion shorter than L was continued with its last frame."""


class TrajectoryBuffer(WeightedMotions):
    """All frames of M motions, packed one motion after the other: motion i has the rows `offsets[i]` to
    `offsets[i + 1]` of every array. `sample` draws slices of `seq_length` frames; a motion with fewer frames gives its
    whole, continued with its last frame.

    `observation`, `terminated`, `truncated` and `motion_id` are as in `Slices`, with one row for each frame."""

    update_priorities = WeightedMotions.update_weights

    def __init__(self, robot: Robot, library: MotionLibrary, seq_length: int = 1, *, velocity_multiplier: float = 1.0):
        if seq_length < 1:
            raise InputError(f"seq_length is {seq_length}; a slice needs at least one frame")
        super().__init__(library.names, "priorities")
        self.seq_length = seq_length
        self.lengths, self.offsets = library.lengths, library.offsets
        frames = int(self.offsets[-1])
        found = reference_observations(robot, library.frames, velocity_multiplier=velocity_multiplier)
        self.observation = {name: array.astype(np.float32) for name, array in found.items()}
        self.observation["last_action"] = np.zeros((frames, robot.description.n_joints), np.float32)
        self.motion_id = np.repeat(np.arange(len(library), dtype=np.int64), self.lengths)
        self.terminated = np.zeros(frames, bool)
        self.truncated = np.zeros(frames, bool)
        self.truncated[self.offsets[1:] - 1] = True

    @property
    def priorities(self) -> np.ndarray:
        """(M,), not normalised; all ones at first. A copy."""
        return self._weights.copy()

    def sample(self, n: int, rng: np.random.Generator) -> Slices:
        """n slices: a motion with a probability proportional to its priority, then one of its slices, all equally
        likely."""
        motions = self.draw(n, rng)
        choices = np.maximum(self.lengths[motions] - self.seq_length, 0) + 1
        starts = np.minimum((rng.random(n) * choices).astype(np.int64), choices - 1)
        return self.slices(motions, starts)

    def slices(self, motions: np.ndarray, starts: np.ndarray) -> Slices:
        """The slices of these motions (S,) that begin at these frames (S,)."""
        frames = starts[:, None] + np.arange(self.seq_length)
        lengths = self.lengths[motions][:, None]
        rows = self.offsets[motions][:, None] + np.minimum(frames, lengths - 1)
        return Slices(
            observation={name: array[rows] for name, array in self.observation.items()},
            terminated=self.terminated[rows],
            truncated=self.truncated[rows],
            motion_id=self.motion_id[rows],
            valid=frames < lengths,
        )
