"""Networks of these tests are tiny: on a busy machine, threads that wait for each other take most of the time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Let torch compute in one thread."""
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
