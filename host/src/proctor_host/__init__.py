"""The worker side of Proctor: it steps environments, keeps their limits and records what they give.

It needs the standard library and numpy alone, from Python 3.8 on, so that a simulator can live in an interpreter of its
own. Whoever writes an environment for such an interpreter finds the contracts here:

    from proctor_host import Env, Step, spaces
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from proctor_host import spaces
    from proctor_host.environments import BatchEnv, ColumnEnv, Columns, DeviceEnv, Env, SheetEnv, Step
    from proctor_host.errors import InputError
    from proctor_host.sheet import Sheet

__version__ = "0.1.0"
__all__ = ["BatchEnv", "ColumnEnv", "Columns", "DeviceEnv", "Env", "InputError", "Sheet", "SheetEnv", "Step", "spaces"]
_HOMES = {
    **dict.fromkeys(("BatchEnv", "ColumnEnv", "Columns", "DeviceEnv", "Env", "SheetEnv", "Step"), "environments"),
    "InputError": "errors",
    "Sheet": "sheet",
}


def __getattr__(name: str) -> Any:
    """Imported when first used: the program that watches over a worker must stay small."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"proctor_host.{_HOMES[name]}"), name)
    if name == "spaces":
        return importlib.import_module("proctor_host.spaces")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
