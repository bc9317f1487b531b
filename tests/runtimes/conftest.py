"""Real runtimes of packages of a few bytes: built once, copied for each test that spoils one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small_wheels import TOY, write_shelf

from proctor.runtimes.install import Hear, Wishes, install
from proctor.runtimes.recipes import RuntimeSpecification, complete
from proctor.runtimes.store import Installed

Builder = Callable[..., Installed]


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that packages come from."""
    return write_shelf(tmp_path_factory.mktemp("shelf"))


def configure(patch: pytest.MonkeyPatch, shelf: Path) -> None:
    """Configure installers to use that folder, and no index."""
    for variable in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        patch.delenv(variable, raising=False)
    for variable in ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX_URL"):
        patch.delenv(variable, raising=False)
    for installer in ("PIP", "UV"):
        patch.setenv(f"{installer}_FIND_LINKS", str(shelf))
    patch.setenv("PIP_NO_INDEX", "1")
    patch.setenv("PIP_CONFIG_FILE", "/dev/null")
    patch.setenv("UV_OFFLINE", "1")
    patch.setenv("UV_NO_CONFIG", "1")
    patch.setenv("UV_CACHE_DIR", str(shelf / "cache"))


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch, shelf: Path) -> None:
    configure(monkeypatch, shelf)


@pytest.fixture(scope="session")
def toybox(tmp_path_factory: pytest.TempPathFactory, shelf: Path) -> Path:
    """A folder of runtimes with one, which is in order."""
    folder = tmp_path_factory.mktemp("toybox")
    with pytest.MonkeyPatch.context() as patch:
        configure(patch, shelf)
        patch.setenv("PROCTOR_RUNTIMES", str(folder))
        install(TOY, Wishes(), Hear(lambda text: None, lambda text: None))
    return folder


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of runtimes without any."""
    folder = tmp_path / "runtimes"
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(folder))
    return folder


@pytest.fixture
def copied(toybox: Path, empty: Path) -> Path:
    """A folder of runtimes with one that may be spoilt."""
    shutil.copytree(toybox, empty, symlinks=True)
    return empty


@pytest.fixture
def build() -> Builder:
    """Install a runtime of these packages of the shelf."""

    def made(name: str, *packages: str, **keys: object) -> Installed:
        specification = RuntimeSpecification(name, packages, **keys)  # type: ignore[arg-type]
        return install(complete(specification), Wishes(), Hear(lambda text: None, lambda text: None))[0]

    return made
