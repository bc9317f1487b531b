"""The package vla-eval for tests: a stand-in of ours, and the real one where PROCTOR_VLA_EVAL_PYTHON names a Python
that has it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[2] / "support"
PYTHON = "PROCTOR_VLA_EVAL_PYTHON"


def genuine_packages() -> str:
    """The folder of packages of the Python that has the real one; skips where there is none."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(f"{PYTHON} names no Python that has vla-eval")
    asked = "import sys, sysconfig; print(sys.version_info[:2], sysconfig.get_path('purelib'), sep='\\n')"
    version, folder = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )[:2]
    if version != str(sys.version_info[:2]):
        pytest.skip(f"{python} is Python {version}, this is {sys.version_info[:2]}: their packages cannot be mixed")
    return folder


def forget() -> None:
    """No module of one package is to be met by the other's."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "vla_eval" or "proctor_user_" in name]:
        del sys.modules[name]


@pytest.fixture(params=["stand-in", "genuine"])
def package(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """vla-eval can be imported, here and in processes that are started from here."""
    folder = str(SUPPORT / "vla_eval_dist") if request.param == "stand-in" else genuine_packages()
    monkeypatch.setattr(sys, "path", [*sys.path, folder])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), folder]))
    forget()
    yield request.param
    forget()
