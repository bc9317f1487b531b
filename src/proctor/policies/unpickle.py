"""Reading an SB3 `VecNormalize` file without running it.

`read_vec_normalize` accepts the classes that such a file mentions, but puts an inert stand-in, made for this one file,
in the place of each: nothing of Stable-Baselines3 or Gymnasium is imported or called.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.unpickle import RestrictedUnpickler, read_restricted

_INERT_PACKAGES = ("stable_baselines3", "sb3_contrib", "gymnasium", "gym", "numpy.random")


class _VecNormalizeUnpickler(RestrictedUnpickler):
    """Also accepts the names of SB3 and Gymnasium classes, each as an inert stand-in."""

    def find_class(self, module: str, name: str) -> Any:
        if any(module == package or module.startswith(package + ".") for package in _INERT_PACKAGES):
            return _stand_in(module, name)
        return super().find_class(module, name)


def _stand_in(module: str, name: str) -> type:
    """A class that accepts any arguments, keeps its state as data and does nothing."""

    def new(cls: type, *_args: Any, **_kwargs: Any) -> Any:
        made = object.__new__(cls)
        made.__dict__["state"] = {}
        return made

    def set_state(self: Any, state: Any) -> None:
        self.__dict__["state"] = state if isinstance(state, dict) else {}

    body = {
        "__new__": new,
        "__init__": lambda self, *a, **k: None,
        "__setstate__": set_state,
        "original": (module, name),
    }
    return type("StandIn", (), body)


@dataclass(frozen=True)
class VecNormalizeStats:
    """What a `VecNormalize` does to observations: (mean, var) by observation key, `""` for one that is no
    dict; empty where it leaves observations alone."""

    moments: dict[str, tuple[np.ndarray, np.ndarray]]
    epsilon: float
    clip: float


def read_vec_normalize(path: Path) -> VecNormalizeStats:
    """The observation statistics of an SB3 `VecNormalize` file, read without Stable-Baselines3."""
    found = read_restricted(path, _VecNormalizeUnpickler, "an SB3 VecNormalize")
    if _original(found)[-1] != "VecNormalize":
        raise InputError(f"{path} is a pickle, but of no VecNormalize: found {_described(found)}")
    state = found.state
    if not state.get("norm_obs", True):
        return VecNormalizeStats({}, 1e-8, np.inf)
    rms = state.get("obs_rms")
    entries = rms if isinstance(rms, dict) else {"": rms}
    try:
        moments = {key: _moments(entry.state) for key, entry in entries.items()}
        return VecNormalizeStats(moments, float(state["epsilon"]), float(state["clip_obs"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is a VecNormalize without usable observation statistics ({error!r})") from None


def _moments(state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(state["mean"], np.float64), np.asarray(state["var"], np.float64)


def _original(found: Any) -> tuple[str, str]:
    return getattr(type(found), "original", ("", ""))


def _described(found: Any) -> str:
    return ".".join(part for part in _original(found) if part) or type(found).__name__
