"""Plain data: what YAML and JSON can both say. Everything that enters a config passes here first."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping
from typing import Any

from proctor.config.problems import Path, Problems


def plain(value: Any, path: Path, problems: Problems) -> Any:
    """A deep copy made of dict, list, str, int, float, bool and None. Tuples become lists, paths text, numpy
    scalars numbers. NaN, infinity, keys that are no text and any other object are problems."""
    if isinstance(value, Mapping):
        return {_key(k, path, problems): plain(v, (*path, str(k)), problems) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, (*path, i), problems) for i, item in enumerate(value)]
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return _finite(float(value), path, problems)
    problems.add_unusable(
        path,
        f"found a {type(value).__name__}; expected a plain value (text, number, true/false, list, mapping)",
    )
    return None


def _finite(value: float, path: Path, problems: Problems) -> float:
    if math.isfinite(value):
        return value
    problems.add_unusable(path, f"found {'NaN' if math.isnan(value) else value}; expected a finite number")
    return 0.0


def _key(key: Any, path: Path, problems: Problems) -> str:
    if not isinstance(key, str):
        problems.add((*path, str(key)), f"found a key that is no text ({type(key).__name__}); quote it")
    return str(key)
