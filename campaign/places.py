"""Where things are."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The repository: processes of the campaign find the package `campaign` here."""


def environment() -> dict[str, str]:
    """That of a process of the campaign, which finds the package."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
