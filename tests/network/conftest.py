from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from examining import examination

from proctor import config_from_dict
from proctor.rollout.trying import temporary_engine
from proctor_host.result import TrialResult


class Tried:
    """What a run without a folder came to; to be read as a Run is."""

    def __init__(self, results: list[TrialResult]):
        self._results = results

    def results(self) -> Iterator[TrialResult]:
        return iter(self._results)


@pytest.fixture
def examine(tmp_path: Path) -> Callable[..., Any]:
    """As everywhere, but without reports: they are not what these tests are about."""

    def run(**keys: Any) -> Tried:
        with temporary_engine(config_from_dict(examination(tmp_path, **keys))) as engine:
            engine.run()
            return Tried(list(engine.ledger.results()))

    return run
