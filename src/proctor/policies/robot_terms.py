"""How an observation of one array is made of terms: what a model file says of those that its network was trained on,
and what a task tells of those that it shows.

Where both name their terms, the task's are put into the model's order and scale, and their joints into the order of
the model's joints. What cannot be made of the task's terms is an error that names both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.errors import InputError

_ROUNDED = 5.1e-4
"""Exporters round to three decimals."""
FREE = (-np.inf, np.inf)


@dataclass(frozen=True, eq=False)
class Term:
    """`scale`: the factors of its entries, or one for all. `history`: steps of it that are shown, oldest first; 0 and
    1: the current one. `clip`: before scaling."""

    name: str
    scale: np.ndarray
    history: int = 0
    clip: tuple[float, float] = FREE

    @property
    def steps(self) -> int:
        return max(self.history, 1)


@dataclass(frozen=True, eq=False)
class ShownTerm(Term):
    """A term of a task, of `size` entries, all steps together. `joints`: those that the entries of a step are of, over
    and over where there are several for each; None: of none."""

    size: int = 0
    joints: tuple[str, ...] | None = None
    acted: bool = False
    """Whether it is the last action."""


def terms_in_file(found: Mapping[str, str], names: Sequence[str]) -> tuple[Term, ...]:
    """The terms that a model file names, as exporters of mjlab write them: `observation_terms_scale` and the like, with
    commas between terms and semicolons within. Raises InputError where they are not as many as the names."""
    scales = _listed(found, "observation_terms_scale", names, "1")
    lengths = _listed(found, "observation_terms_history_length", names, "0")
    clips = _listed(found, "observation_terms_clip", names, "-inf;inf")
    made = []
    for name, scale, length, clip in zip(names, scales, lengths, clips, strict=True):
        try:
            bounds = [float(bound) for bound in clip.split(";")]
            factors, history = np.array([float(one) for one in scale.split(";")]), float(length)
        except ValueError:
            bounds, factors, history = [], np.empty(0), 0.0
        if len(bounds) != 2 or not factors.size:
            raise InputError(
                f"the model's term {name} has the scale {scale}, the history {length} and the clip {clip}; expected "
                "numbers, and two of them as the clip"
            )
        made.append(Term(name, factors, int(history), (bounds[0], bounds[1])))
    return tuple(made)


def terms_told(told: Sequence[Mapping[str, Any]]) -> tuple[ShownTerm, ...]:
    """The terms that a task tells of, in the order of its observation."""
    return tuple(
        ShownTerm(
            name=term["name"],
            scale=np.asarray(term.get("scale", 1.0), np.float64).reshape(-1),
            history=int(term.get("history", 0)),
            clip=(float(term["clip"][0]), float(term["clip"][1])) if term.get("clip") is not None else FREE,
            size=int(term["size"]),
            joints=None if term.get("joints") is None else tuple(term["joints"]),
            acted=bool(term.get("acted")),
        )
        for term in told
    )


@dataclass(frozen=True)
class Moved:
    """How a model's numbers differ from the task's. `joints`: the model's, in its order; None: the task's. `scale`:
    what its outputs are multiplied with to be actions of the task, in the task's order."""

    joints: tuple[str, ...] | None = None
    scale: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Rearranged:
    """A task's observation as a model wants it: which entry stands at each place, and its factor."""

    index: np.ndarray
    factor: np.ndarray

    @staticmethod
    def of(wanted: Sequence[Term], shown: Sequence[ShownTerm], model: Moved, where: str) -> Rearranged | None:
        """None where the observation is as the model wants it. Raises InputError for what the task's terms cannot
        give."""
        starts = np.cumsum([0, *(term.size for term in shown)])
        places = {term.name: (term, int(start)) for term, start in zip(shown, starts, strict=False)}
        missing = [term.name for term in wanted if term.name not in places]
        if missing:
            raise InputError(
                f"{where}: the model observes {', '.join(term.name for term in wanted)}; the task has no "
                f"{', '.join(missing)} (it shows {', '.join(places)}). Was it trained on another task?"
            )
        index, factor = [], []
        for term in wanted:
            there, start = places[term.name]
            order = _joint_order(there, model.joints)
            index.append(start + order)
            factor.append(_factor(term, there, order, where) / _of_outputs(there, model.scale)[order])
        rearranged = Rearranged(np.concatenate(index), np.concatenate(factor).astype(np.float32))
        same = len(rearranged.index) == starts[-1] and (rearranged.index == np.arange(starts[-1])).all()
        return None if same and (rearranged.factor == 1.0).all() else rearranged

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        return observation[..., self.index] * self.factor

    def space(self) -> Any:
        """Of one row."""
        from gymnasium import spaces

        return spaces.Box(-np.inf, np.inf, (len(self.index),), np.float32)


def _joint_order(shown: ShownTerm, joints: Sequence[str] | None) -> np.ndarray:
    """The entries of a term in the order of the model's joints."""
    entries = np.arange(shown.size)
    if joints is None or shown.joints is None or not shown.joints or shown.size % len(shown.joints):
        return entries
    order = joint_order(joints, shown.joints)
    return entries.reshape(-1, len(order))[:, order].reshape(-1)


def joint_order(wanted: Sequence[str], shown: Sequence[str]) -> np.ndarray:
    """Where each of the shown joints is, in the order in which `wanted` has them; those that it does not have last."""
    known = {name: place for place, name in enumerate(wanted)}
    return np.array(sorted(range(len(shown)), key=lambda i: known.get(shown[i], len(known) + i)), np.int64)


def _of_outputs(shown: ShownTerm, scale: np.ndarray | None) -> np.ndarray:
    """What made actions of the model's outputs, for each entry of a term: the model observes its outputs."""
    if not shown.acted or scale is None or shown.size % len(scale):
        return np.ones(shown.size)
    return np.tile(scale, shown.size // len(scale))


def _factor(wanted: Term, shown: ShownTerm, order: np.ndarray, where: str) -> np.ndarray:
    """What the entries of a term are multiplied with, in the model's order. Raises InputError where more than the scale
    differs."""
    if wanted.steps != shown.steps:
        raise InputError(
            f"{where}: the model observes {wanted.name} over {wanted.steps} steps; the task shows {shown.steps}. Set "
            "the task's history of it as it was in training"
        )
    if not np.allclose(wanted.clip, shown.clip, rtol=1e-3, atol=_ROUNDED):
        raise InputError(
            f"{where}: the model observes {wanted.name} clipped to {_bounds(wanted.clip)}; the task clips it to "
            f"{_bounds(shown.clip)}. Set the task's clip of it as it was in training"
        )
    per_step = shown.size // shown.steps
    if wanted.scale.size not in (1, per_step):
        raise InputError(
            f"{where}: the model has {wanted.scale.size} scales of {wanted.name}; the task shows {per_step} entries"
        )
    theirs, own = (np.tile(np.broadcast_to(scale, per_step), shown.steps) for scale in (wanted.scale, shown.scale))
    own = own[order]
    if (own == 0).any():
        raise InputError(f"{where}: the task multiplies {shown.name} with 0, so the model cannot be shown it")
    return np.where(np.abs(theirs - own) <= _ROUNDED, 1.0, theirs / own)


def _bounds(clip: tuple[float, float]) -> str:
    return "nothing" if clip == FREE else f"{clip[0]:g} to {clip[1]:g}"


def _listed(found: Mapping[str, str], key: str, names: Sequence[str], default: str) -> list[str]:
    listed = found[key].split(",") if found.get(key) else [default] * len(names)
    if len(listed) != len(names):
        raise InputError(f"the model's {key} has {len(listed)} entries; it observes {len(names)} terms")
    return listed
