"""Real motions and models that tests use where they are to be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_data(name: str) -> Path:
    """The folder `name` of the data: under PROCTOR_DATA, or ../shared/data beside the checkout. Skips the test
    where it is absent."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    path = Path(os.environ.get("PROCTOR_DATA", beside)) / name
    if not path.is_dir():
        pytest.skip(f"no {name} under {path.parent}; set PROCTOR_DATA to the folder that contains it")
    return path
