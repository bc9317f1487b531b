from __future__ import annotations

from collections.abc import Callable

import pytest
from report_runs import Run, make_run


@pytest.fixture
def run() -> Run:
    return make_run(["expert", "student", "random"], ["reach", "push", "insert"], 20)


@pytest.fixture
def build() -> Callable[..., Run]:
    return make_run
