"""Runtimes without an installer: virtual environments that see the packages of this interpreter, and a package of a few
bytes whose version can be changed."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from proctor.runtimes import locating, specify, store
from proctor.runtimes.asking import ask

SIMULATOR = "small-simulator"


def make_venv(folder: Path, version: str = "1.0") -> Path:
    """A virtual environment with all that is installed here, and the simulator; its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (_site(folder) / "more.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    set_version(python, version)
    return python


def set_version(python: Path, version: str) -> None:
    """Have this version of the simulator there, and forget what was known of the interpreter."""
    site = _site(python.parents[1])
    for old in site.glob("small_simulator-*.dist-info/METADATA"):
        old.unlink()
        old.parent.rmdir()
    info = site / f"small_simulator-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {SIMULATOR}\nVersion: {version}\n")
    locating._given.cache_clear()


def install(name: str, version: str = "1.0") -> store.Installed:
    """The runtime of a recipe, as if it had just been installed."""
    built = f"{store.BUILT}{version}"
    folder = store.folder_of(name)
    python = folder / built / "bin" / "python"
    if not python.exists():
        make_venv(folder / built, version)
    answer = ask(python)
    installed = store.Installed(
        name,
        built,
        answer.version,
        answer.implementation,
        sys.executable,
        answer.packages,
        store.digest(answer.version, answer.implementation, answer.packages),
        specify(name),
        "tests",
        0,
        (os.path.relpath(_site(folder / built), folder),),
    )
    installed.write()
    return installed


def _site(folder: Path) -> Path:
    return next((folder / "lib").glob("python3*")) / "site-packages"
