"""Distributions as an installer leaves them: a `.dist-info` folder with entry points, and modules beside it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from proctor import registry

Entries = Mapping[str, Mapping[str, str]]
"""Group -> entry name -> import string."""


@pytest.fixture
def plug(monkeypatch, tmp_path):
    """A function `plug(name, entries, modules)` that installs a distribution for one test."""
    yield lambda name, entries, modules=None: _install(monkeypatch, tmp_path / name, entries, modules or {})
    monkeypatch.undo()
    registry._entries.cache_clear()


def _install(monkeypatch, folder: Path, entries: Entries, modules: Mapping[str, str]) -> None:
    """Put the distribution with the folder's name, version 1.2, on the path, with these modules (name -> source)."""
    name = folder.name
    folder.mkdir(parents=True, exist_ok=True)
    info = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    lines = [
        line for group, named in entries.items() for line in (f"[{group}]", *(f"{n} = {t}" for n, t in named.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source)
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(str(folder))
    registry._entries.cache_clear()
