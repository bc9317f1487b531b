"""Hosts that end with their test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hosts import Host, Serve


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    hosts: list[Host] = []

    def served(*arguments: str, **keys: Any) -> Host:
        hosts.append(Host(tmp_path, *arguments, **keys))
        return hosts[-1]

    yield served
    for host in hosts:
        host.stop()
