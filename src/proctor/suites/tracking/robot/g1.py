"""The built-in G1."""

from __future__ import annotations

from typing import Any


def g1_spec() -> Any:
    raise NotImplementedError
