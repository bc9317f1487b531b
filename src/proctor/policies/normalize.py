"""Normalisation statistics and where they come from: numbers in the config, `.npz`, `.json`, or a
`VecNormalize` pickle.

A file for a dict observation holds one pair per entry: `.npz` with `KEY.mean` and `KEY.var` (or `KEY.std`),
`.json` with `{"KEY": {"mean": ..., "var": ...}}`. A pickle is read, not run: inert data takes the place of every object
in it, and nothing of Stable-Baselines3 or Gymnasium is imported or called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from proctor.errors import InputError
from proctor.foreign import read_json, read_npz
from proctor.policies.files import find_file
from proctor.policies.options import NormalizeCfg
from proctor.unpickle import Inert, read_pickle

DEFAULT_EPSILON = 1e-8
DEFAULT_CLIP = 10.0
_INERT_PACKAGES = ("stable_baselines3", "sb3_contrib", "gymnasium", "gym", "numpy.random")


class Moments(NamedTuple):
    """Mean and variance of an observation entry, float64, of the entry's shape (or broadcast to it)."""

    mean: np.ndarray
    var: np.ndarray


@dataclass(frozen=True)
class Statistics:
    """`moments` by entry; `""` stands for an observation that is no dict."""

    moments: dict[str, Moments]
    epsilon: float
    clip: float | None

    def apply(self, key: str, values: np.ndarray) -> np.ndarray:
        """Normalised values, float32. Computed in float64."""
        moments = self.moments[key]
        scaled = (values - moments.mean) / np.sqrt(moments.var + self.epsilon)
        if self.clip is not None:
            np.clip(scaled, -self.clip, self.clip, out=scaled)
        return scaled.astype(np.float32)


def read_statistics(cfg: NormalizeCfg, base: Path | None) -> Statistics:
    """The statistics that `cfg` describes; with `cfg.key`, for that entry only."""
    epsilon, clip = DEFAULT_EPSILON, DEFAULT_CLIP
    if cfg.file is None:
        entries = {"": _moments({"mean": cfg.mean, "var": cfg.var}, "options.normalize")}
    else:
        path = find_file(cfg.file, base, "options.normalize.file")
        if path.suffix == ".npz":
            entries = _from_npz(path)
        elif path.suffix == ".json":
            entries = _from_json(path)
        else:
            found = read_vec_normalize(path)
            entries, epsilon, clip = found.moments, found.epsilon, found.clip
    return Statistics(
        _for_key(entries, cfg.key),
        epsilon if cfg.epsilon is None else cfg.epsilon,
        clip if cfg.clip == "auto" else cfg.clip,
    )


def _for_key(entries: dict[str, Moments], key: str | None) -> dict[str, Moments]:
    if key is None:
        return entries
    if key not in entries and "" not in entries:
        raise InputError(f'options.normalize.key is "{key}", but the statistics are for {", ".join(entries)}')
    return {key: entries.get(key) or entries[""]}


def _from_npz(path: Path) -> dict[str, Moments]:
    try:
        flat = read_npz(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as .npz: {error}") from None
    grouped: dict[str, dict[str, Any]] = {}
    for name, array in flat.items():
        key, _, field = name.rpartition(".")
        grouped.setdefault(key, {})[field] = array
    return {key: _moments(fields, f"{path}, {key or 'observation'}") for key, fields in grouped.items()}


def _from_json(path: Path) -> dict[str, Moments]:
    try:
        found = read_json(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} holds a {type(found).__name__}; expected an object with mean and var")
    grouped = {"": found} if "mean" in found else found
    return {key: _moments(fields, f"{path}, {key or 'observation'}") for key, fields in grouped.items()}


def _moments(fields: Any, where: str) -> Moments:
    if not isinstance(fields, Mapping) or "mean" not in fields or not ("var" in fields or "std" in fields):
        names = ", ".join(fields) if isinstance(fields, Mapping) else type(fields).__name__
        raise InputError(f"{where}: found {names}; expected mean and var (or std)")
    mean = np.asarray(fields["mean"], np.float64)
    var = np.asarray(fields["var"], np.float64) if "var" in fields else np.square(np.asarray(fields["std"], np.float64))
    if mean.shape != var.shape:
        raise InputError(f"{where}: mean has shape {mean.shape} and var {var.shape}; they must be equal")
    if not (np.isfinite(mean).all() and np.isfinite(var).all() and (var >= 0).all()):
        raise InputError(f"{where}: mean must be finite, and var finite and not negative")
    return Moments(mean, var)


def read_vec_normalize(path: Path) -> Statistics:
    """The observation statistics of an SB3 `VecNormalize` file, read without Stable-Baselines3; without moments where
    it leaves observations alone."""
    found = read_pickle(path, "an SB3 VecNormalize", _INERT_PACKAGES)
    if not isinstance(found, Inert) or found.name.name != "VecNormalize":
        kind = ".".join(found.name) if isinstance(found, Inert) else type(found).__name__
        raise InputError(f"{path} is a pickle, but of no VecNormalize: found {kind}")
    state = found.state
    used = state.get("norm_obs", True)
    if isinstance(used, bool | np.bool_) and not used:
        return Statistics({}, 1e-8, np.inf)
    rms = state.get("obs_rms")
    entries = rms if isinstance(rms, dict) else {"": rms}
    try:
        moments = {
            str(key): _moments(_rms_fields(entry), f"{path}, {key or 'observation'}") for key, entry in entries.items()
        }
        return Statistics(moments, float(state["epsilon"]), float(state["clip_obs"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is a VecNormalize without usable observation statistics ({error!r})") from None


def _rms_fields(entry: Any) -> dict[str, np.ndarray]:
    """Mean and variance of a RunningMeanStd, where they are what SB3 writes: arrays, or numbers."""
    if not isinstance(entry, Inert):
        raise TypeError(f"found a {type(entry).__name__}; expected mean and var")
    fields = {name: entry.state[name] for name in ("mean", "var")}
    for name, value in fields.items():
        if not isinstance(value, np.ndarray | np.number | float):
            raise TypeError(f"{name} is a {type(value).__name__}; expected numbers")
    return fields
