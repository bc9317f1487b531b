"""The environment a run took place in: versions, host, numeric threads, git state. Written to `environment.json`."""

from __future__ import annotations

import functools
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = (
    "proctor", "numpy", "scipy", "gymnasium", "mujoco", "torch", "onnxruntime", "stable-baselines3", "pydantic",
    "duckdb", "sai-mujoco",
)  # fmt: skip
DECISIVE = ("numpy", "gymnasium", "mujoco", "torch", "onnxruntime", "stable-baselines3", "sai-mujoco")
"""A trial's bytes may change with these."""
SAID = {"cpu": "the processor was", "numeric_threads": "the number of numeric threads was"}
"""And with these keys of a description."""


def versions() -> dict[str, str]:
    """Installed versions of what a trial may depend on; absent packages are left out."""
    installed = {name: version for name in PACKAGES if (version := _installed(name)) is not None}
    return {"python": platform.python_version(), **installed}


@functools.cache
def _installed(package: str) -> str | None:
    """Reading a package's metadata takes milliseconds, and it stays the same while this process lives."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def describe(threads: int) -> dict[str, Any]:
    """Everything about this machine and process that a reader of the report may want. `threads`: how many numeric
    libraries compute with."""
    return {
        "versions": versions(),
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "cpu": _cpu_name(),
        "cpu_count": os.cpu_count(),
        "numeric_threads": threads,
        "command": " ".join(sys.argv),
        "git": git_state(Path.cwd()),
    }


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What a trial's bytes may depend on and is not as it was in the description `before`, in sentences without an end.
    What that description lacks is not compared."""
    old = before.get("versions")
    pairs = [(f"{name} was", old.get(name), now["versions"].get(name)) for name in DECISIVE] if old else []
    pairs += [(said, before[key], now[key]) for key, said in SAID.items() if key in before]
    return [f"{said} {was} when this run began and is {found} now" for said, was, found in pairs if was != found]


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit and whether the working tree differs from it; None outside a repository."""
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git(folder, "status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.strip()


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
