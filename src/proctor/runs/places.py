"""Where a run's tasks and agents live: the runtimes that a session finds, notes and compares with those that the run
began with.

A run folder keeps a lock of each (`runtimes/NAME-HASH.lock.txt`), from which it can be built again as it was."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proctor.config.models import EvalConfig, RuntimeCfg
from proctor.errors import InputError
from proctor.record.files import write_synced
from proctor.record.rundir import RunDir
from proctor.record.runtimes import Difference, Runtime, called, differences, worked
from proctor.report import text
from proctor.rollout.crew import by_place
from proctor.rollout.hosted import home_of
from proctor.rollout.stopper import Stopper
from proctor.runtimes import locate
from proctor.runtimes.recipes import install_command
from proctor.runtimes.store import LOCKED, is_name, locked

FOLDER = "runtimes"
_HASH = re.compile(r"[0-9a-f]{64}")


def find(cfg: EvalConfig, config: str | None = None) -> list[dict[str, Any]]:
    """The runtimes of a config's tasks and agents, as a session notes them (`proctor.record.runtimes`). Raises
    InputError, with the command that helps, where one cannot be used. `config`: the file that the command may name."""
    found = []
    for runtime, lived in _homes(cfg).items():
        if runtime.address is not None:
            found.append({"runtime": f"the host at {runtime.address}", **lived})
            continue
        there = locate(runtime, config)
        which = {"path": str(there.python)} if there.name is None else {"name": there.name}
        found.append({"runtime": there.label, **which, **lived, **there.identity})
    return found


def _homes(cfg: EvalConfig) -> dict[RuntimeCfg, dict[str, list[str]]]:
    """By runtime: the tasks that run there, and the agents, if any, that live there."""
    tasks, agents = by_place(cfg.tasks), {}
    for agent in cfg.agents:
        agents.setdefault(home_of(agent), []).append(agent.name)
    known = [runtime for runtime in {**tasks, **agents} if runtime is not None]
    return {
        runtime: {"tasks": tasks.get(runtime, []), **({"agents": agents[runtime]} if runtime in agents else {})}
        for runtime in known
    }


def lived(cfg: EvalConfig) -> dict[str, list[str]]:
    """The names of a config's tasks and agents, by kind."""
    return {"tasks": [task.name for task in cfg.tasks], "agents": [agent.name for agent in cfg.agents]}


def find_again(run: RunDir, cfg: EvalConfig) -> list[dict[str, Any]]:
    """As `find`, for a run that has begun: the command brings back the versions that it began with."""
    try:
        return find(cfg, str(run.path / "config.json"))
    except InputError as error:
        for runtime in _first(run).get("runtimes", ()):
            lock = kept_lock(run.path, runtime)
            if lock is not None and "name" in runtime and str(error).endswith(install_command(runtime["name"])):
                raise InputError(f"{error} --from-lock {shlex.quote(str(lock))}") from None
        raise


def find_for_session(run: RunDir, cfg: EvalConfig) -> list[dict[str, Any]]:
    """The runtimes that a session on this run will use: none where nothing is left to run."""
    if not _homes(cfg):
        return []
    with run.ledger() as ledger:
        left = Stopper(cfg, ledger).needed(ledger.pending())
    return find_again(run, cfg) if left else []


def _first(run: RunDir) -> Mapping[str, Any]:
    """The first session that ran trials."""
    return next(iter(worked(run.environment().sessions)), {})


def greeted(runtimes: Iterable[dict[str, Any]], greetings: Mapping[str, Mapping[str, Any]]) -> bool:
    """Note what workers have said of their interpreters, where nothing else is known of these; whether there was
    something to note. `greetings`: by task."""
    unknown = [runtime for runtime in runtimes if "hash" not in runtime]
    for runtime in unknown:
        said = next((greetings[task] for task in runtime["tasks"] if task in greetings), {})
        runtime |= {key: str(said[key]) for key in ("python", "implementation", "numpy", "host") if key in said}
    return bool(unknown)


def keep_locks(run: RunDir, runtimes: Iterable[Runtime]) -> None:
    """Write the lock of each runtime whose versions are known into the run folder."""
    folder = run.real / FOLDER
    for runtime in runtimes:
        name = _lock_name(runtime)
        if name is None or os.path.islink(folder) or os.path.lexists(folder / name):
            continue
        folder.mkdir(exist_ok=True)
        write_synced(folder / name, locked(runtime.get("name"), runtime).encode())


def _lock_name(runtime: Runtime) -> str | None:
    """None where there can be no lock. What is said of a runtime may come out of somebody else's file."""
    name, packages = runtime.get("name", "python"), runtime.get("packages", {})
    if not is_name(name) or not _HASH.fullmatch(runtime.get("hash", "")) or "python" not in runtime:
        return None
    if not all(LOCKED.fullmatch(f"{package}=={version}") for package, version in packages.items()):
        return None
    return f"{name}-{runtime['hash'][:12]}.lock.txt"


def kept_lock(run: Path, runtime: Runtime) -> Path | None:
    """Where the run has the lock of this runtime."""
    name = _lock_name(runtime)
    return None if name is None or not (run / FOLDER / name).is_file() else run / FOLDER / name


def _bringing_back(run: Path, runtime: Runtime | None) -> str | None:
    """The command after which a runtime is again what it was."""
    lock = None if runtime is None else kept_lock(run, runtime)
    if runtime is None or lock is None:
        return None
    if "name" in runtime:
        return f"proctor runtimes install {runtime['name']} --from-lock {shlex.quote(str(lock))}"
    return f"{shlex.quote(runtime['path'])} -m pip install -r {shlex.quote(str(lock))}" if "path" in runtime else None


def changes(run: RunDir, runtimes: Sequence[Runtime], cfg: EvalConfig) -> Iterator[str]:
    """In what the runtimes of a config's tasks and agents are not those that the run began with, in sentences
    without an end."""
    before = _first(run)
    if not before:
        return
    for found in differences(before, {"runtimes": runtimes}, lived(cfg)):
        yield f"{_was_another(found, 'when this run began', 'now')}{_back(run.path, found)}"


def cautions(run: Path, sessions: Sequence[Mapping[str, Any]], cfg: EvalConfig) -> Iterator[str]:
    """Which tasks and agents lived in other runtimes in one part of a run than in another: of one that was
    resumed, or merged."""
    parts = worked(sessions)
    said: dict[str, None] = {}
    for later in parts[1:]:
        for found in differences(parts[0], later, lived(cfg)):
            sentence = _was_another(found, "at first", "in a later part")
            said[f"{sentence[0].upper()}{sentence[1:]}: trials of the two may differ{_back(run, found)}."] = None
    yield from said


def _was_another(found: Difference, first: str, later: str) -> str:
    names = text.listed([f'"{name}"' for name in found.names])
    told = f" ({found.told()})" if found.told() else ""
    which = found.kind[:-1] if len(found.names) == 1 else found.kind
    if found.same_place:
        return f"{called(found.first)} of {which} {names} was another {first} than {later}{told}"
    ran = "ran" if found.kind == "tasks" else "lived"
    return f"{which} {names} {ran} in {called(found.first)} {first} and in {called(found.later)} {later}{told}"


def _back(run: Path, found: Difference) -> str:
    command = _bringing_back(run, found.first)
    return "" if command is None else f"; the first one comes back with: {command}"
