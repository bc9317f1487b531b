"""MuJoCo's names are made by compiled modules that come without types; for the type checker all of them are Any."""

from typing import Any

def __getattr__(name: str) -> Any: ...
