"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import examination

from proctor import RunDir, config_from_dict, run_evaluation


@pytest.fixture
def examine(tmp_path: Path) -> Callable[..., RunDir]:
    """Run an examination of toys with these keys."""

    def run(**keys: Any) -> RunDir:
        return run_evaluation(config_from_dict(examination(tmp_path, **keys)))

    return run
