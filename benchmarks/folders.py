"""Where benchmarks leave their runs.

They are kept until the whole command has ended: a file system may pass over the places of files that were deleted a
moment ago, one by one, so that a round which deletes its thousands of records slows the next one down.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PROCTOR_BENCHMARK_RUNS"


@contextmanager
def all_runs() -> Iterator[None]:
    """Runs are kept until here, also those of processes that are started meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            del os.environ[VARIABLE]


@contextmanager
def run_folder() -> Iterator[str]:
    """A fresh folder, which is deleted only where nobody else will do it."""
    shared = os.environ.get(VARIABLE)
    if shared is not None:
        yield tempfile.mkdtemp(dir=shared)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield folder
