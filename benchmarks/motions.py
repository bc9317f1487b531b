"""Pairs of motions for the transport comparison: what an agent did, and the reference. Joint angles in rad at 50 Hz,
made from a generator, the same on every machine.

- **reference**: every joint around a random pose, moved by five sines that all joints share the frequency of
  (0.1 to 1.2 Hz), with random amplitudes and phases.
- **good**: the reference 0 to 3 frames late, with an error of 0.03 rad per joint that lasts about 0.4 s, and noise of
  5 mrad.
- **fallen**: good up to a moment between 15 and 65 % of the motion; then, within 0.25 s, to another pose with flailing
  that dies down in about a second, and from then on trembling by 0.01 rad.
- **unrelated**: another reference.
- **unequal**: good, stopped between 60 and 95 % of the reference's length.
- **lying**: good up to a moment between 5 and 20 % of the motion; from then on still but for a tremble of 0.1 mrad,
  every joint 3 rad from where it was.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

JOINTS = 29
FRAMES = 500
DT_S = 0.02
MIX = {"good": 0.58, "fallen": 0.32, "unrelated": 0.10}

Pair = tuple[np.ndarray, np.ndarray]


def reference(rng: np.random.Generator) -> np.ndarray:
    time_s = np.arange(FRAMES) * DT_S
    amplitude = rng.gamma(2.0, 0.08, (5, JOINTS))
    frequency = rng.uniform(0.1, 1.2, (5, 1))
    phase = rng.uniform(0, 2 * np.pi, (5, JOINTS))
    waves = np.sin(2 * np.pi * frequency * time_s[:, None, None] + phase)
    return rng.normal(0, 0.3, JOINTS) + (amplitude * waves).sum(axis=1)


def good(rng: np.random.Generator) -> Pair:
    target = reference(rng)
    late = np.maximum(np.arange(FRAMES) - rng.integers(4), 0)
    return target[late] + lasting(rng, FRAMES, 0.95, 0.03) + rng.normal(0, 0.005, target.shape), target


def fallen(rng: np.random.Generator) -> Pair:
    agent, target = good(rng)
    start = int(rng.uniform(0.15, 0.65) * FRAMES)
    since = np.arange(FRAMES - start)[:, None]
    pose = agent[start] + rng.normal(0, 0.5, JOINTS)
    flailing = lasting(rng, len(since), 0.97, 0.3) * np.exp(-since / 50)
    lying = pose + flailing + lasting(rng, len(since), 0.9, 0.01)
    upright = np.exp(-since / 12)
    agent[start:] = agent[start] * upright + lying * (1 - upright)
    return agent, target


def unrelated(rng: np.random.Generator) -> Pair:
    return reference(rng), reference(rng)


def unequal(rng: np.random.Generator) -> Pair:
    agent, target = good(rng)
    return agent[: int(rng.uniform(0.6, 0.95) * FRAMES)], target


def lying(rng: np.random.Generator) -> Pair:
    """An agent that soon lies still, with a slight tremble, far away from all that it should have done."""
    agent, target = good(rng)
    start = int(rng.uniform(0.05, 0.2) * FRAMES)
    pose = agent[start] + 3.0
    agent[start:] = pose + rng.normal(0, 1e-4, (FRAMES - start, JOINTS))
    return agent, target


KINDS: dict[str, Callable[[np.random.Generator], Pair]] = {
    "good": good,
    "fallen": fallen,
    "unrelated": unrelated,
    "unequal": unequal,
    "lying": lying,
}


def lasting(rng: np.random.Generator, frames: int, kept: float, deviation: float) -> np.ndarray:
    """Noise (frames, JOINTS) of the given standard deviation, of which a share is kept from frame to frame."""
    out = rng.normal(0, deviation, (frames, JOINTS))
    for frame in range(1, frames):
        out[frame] = kept * out[frame - 1] + np.sqrt(1 - kept**2) * out[frame]
    return out


def some(kind: str, count: int, seed: int = 0) -> list[Pair]:
    """`count` pairs of one kind."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    return [KINDS[kind](rng) for _ in range(count)]


def mixed(count: int, seed: int = 0) -> list[Pair]:
    """`count` pairs in the proportions of MIX, rounded, the kinds taking turns as they would in an evaluation."""
    pairs = [pair for kind, share in MIX.items() for pair in some(kind, round(share * count), seed)]
    order = np.random.default_rng(seed).permutation(len(pairs))
    return [pairs[place] for place in order]
