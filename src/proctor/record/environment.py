"""The environment a run took place in: versions, host, numeric threads, git state. Written to `environment.json`."""

from __future__ import annotations

import functools
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from proctor.foreign import read_json
from proctor.record.runtimes import are_runtimes

PACKAGES = (
    "proctor", "numpy", "scipy", "numba", "gymnasium", "mujoco", "torch", "onnxruntime", "stable-baselines3",
    "pydantic", "duckdb", "sai-mujoco",
)  # fmt: skip
DECISIVE = ("numpy", "numba", "gymnasium", "mujoco", "torch", "onnxruntime", "stable-baselines3", "sai-mujoco")
"""A trial's bytes may change with these."""
ALWAYS = ("numpy", "numba", "gymnasium", "mujoco")
"""Always installed: a description without one of them is from before it was noted."""
SAID = {"cpu": "the processor was", "numeric_threads": "the number of numeric threads was"}
"""And with these keys of a description."""


FILE = "environment.json"


def _texts(value: Any) -> bool:
    return all(isinstance(text, str) for text in value)


def _placement(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("workers"), str | None):
        return False
    worlds = value.get("worlds", {})
    return isinstance(worlds, dict) and all(isinstance(said, dict) for said in worlds.values())


_KINDS: dict[str, Callable[[Any], bool]] = {
    "placement": _placement,
    "versions": lambda value: isinstance(value, dict) and _texts(value.values()),
    "git": lambda value: value is None or (isinstance(value, dict) and isinstance(value.get("commit"), str)),
    "runtimes": are_runtimes,
    "warnings": lambda value: isinstance(value, list) and _texts(value),
    **dict.fromkeys(("host", "platform", "cpu", "command", "started_at"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("cpu_count", "numeric_threads"), lambda value: type(value) is int and value > 0),
    "trials": lambda value: type(value) is int,
    "seconds": lambda value: type(value) in (int, float),
}
"""What a description of a session holds, and whether a value is of that kind."""


@dataclass(frozen=True)
class Noted:
    """What a run's file says of its sessions, as far as it can be made out. `problem`: why not all of it could."""

    sessions: list[dict[str, Any]]
    current: dict[str, Any]
    problem: str | None = None


def noted(run: Path) -> Noted:
    """The file of a run folder. What is damaged in it is left out: a run is readable without it."""
    path = run / FILE
    try:
        found = read_json(path)
    except FileNotFoundError:
        return Noted([], {})
    except (OSError, ValueError) as error:
        return Noted([], {}, f"{FILE} cannot be read ({error}): versions, threads and sessions are not known.")
    known = found if isinstance(found, dict) else {}
    listed = known.get("sessions")
    sessions = [_plain(session) for session in (listed if isinstance(listed, list) else [])]
    current = _plain(known.get("current", {}))
    whole = {"sessions": sessions, "current": current} == {"current": {}, **known}
    return Noted(sessions, current, None if whole else f"Parts of {FILE} are damaged and were left out.")


def _plain(session: Any) -> dict[str, Any]:
    known = session if isinstance(session, dict) else {}
    return {key: value for key, value in known.items() if key in _KINDS and _KINDS[key](value)}


_OID = "# branch.oid "
"""What precedes the commit in git's words; that of a repository without one is `(initial)`."""


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
    old = before.get("versions") or {}
    listed = [name for name in DECISIVE if old and (name in old or name not in ALWAYS)]
    pairs = [(f"{name} was", old.get(name), now["versions"].get(name)) for name in listed]
    pairs += [(said, before[key], now[key]) for key, said in SAID.items() if key in before]
    return [f"{said} {was} when this run began and is {found} now" for said, was, found in pairs if was != found]


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit and whether the working tree differs from it; None outside a repository, and in one without a commit."""
    try:
        said = subprocess.run(
            ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
            stdin=subprocess.DEVNULL,
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    commit = next((line.removeprefix(_OID) for line in said if line.startswith(_OID)), "(initial)")
    if commit == "(initial)":
        return None
    return {"commit": commit, "dirty": any(not line.startswith("#") for line in said)}


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
