from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from vla_eval_package import KINDS, STAND_IN, genuine_packages


def forget() -> None:
    """No module of one package is to be met by the other's."""
    for name in [
        name for name in sys.modules if name.partition(".")[0] == "vla_eval" or name.startswith("benchmark_file_")
    ]:
        del sys.modules[name]


@pytest.fixture(params=KINDS)
def package(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """vla-eval can be imported, here and in processes that are started from here."""
    folder = str(STAND_IN) if request.param == "stand-in" else genuine_packages()
    monkeypatch.setattr(sys, "path", [*sys.path, folder])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), folder]))
    forget()
    yield request.param
    forget()
