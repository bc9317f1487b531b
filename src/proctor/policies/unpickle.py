"""Reading an SB3 `VecNormalize` file without running it.

`read_vec_normalize` accepts the classes that such a file mentions, but puts an inert stand-in, made for this one file,
in the place of each: nothing of Stable-Baselines3 or Gymnasium is imported or called.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.normalize import Moments, Statistics
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


def read_vec_normalize(path: Path) -> Statistics:
    """The observation statistics of an SB3 `VecNormalize` file, read without Stable-Baselines3; without moments where
    it leaves observations alone."""
    found = read_restricted(path, _VecNormalizeUnpickler, "an SB3 VecNormalize")
    module, name = getattr(type(found), "original", ("", type(found).__name__))
    if not module or name != "VecNormalize":
        raise InputError(f"{path} is a pickle, but of no VecNormalize: found {f'{module}.' if module else ''}{name}")
    state = found.state
    if not state.get("norm_obs", True):
        return Statistics({}, 1e-8, np.inf)
    rms = state.get("obs_rms")
    entries = rms if isinstance(rms, dict) else {"": rms}
    try:
        moments = {
            key: Moments(*(np.asarray(entry.state[name], np.float64) for name in ("mean", "var")))
            for key, entry in entries.items()
        }
        return Statistics(moments, float(state["epsilon"]), float(state["clip_obs"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} is a VecNormalize without usable observation statistics ({error!r})") from None
