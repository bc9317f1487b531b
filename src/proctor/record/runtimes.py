"""The runtimes that a session's tasks and agents lived in, as `environment.json` has them, and in what two of them
differ.

    {"runtime": 'the runtime "NAME"', "name": "NAME", "tasks": ["TASK"], "agents": ["AGENT"], "python": "3.11.9",
     "implementation": "cpython", "packages": {"numpy": "2.0.0", ...}, "hash": "..."}

An interpreter that was given by its path has `path` in the place of `name`. Of a host that is served elsewhere there is
what its workers say of themselves: `python`, `implementation`, `numpy` and `host`, the version of `proctor-host`. A
task or an agent that none of them names lived in Proctor's own interpreter, whose versions stand beside them. `agents`
is left out where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Runtime = Mapping[str, Any]

MOST_TOLD = 5
"""Packages that a sentence names."""
OWN = "Proctor's own interpreter"
_TEXTS = ("name", "path", "python", "implementation", "hash", "numpy", "host")


def are_runtimes(value: Any) -> bool:
    """Whether a value out of somebody's file is a list of runtimes."""
    return isinstance(value, list) and all(map(_is_runtime, value))


def _is_runtime(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("runtime"), str):
        return False
    lists, packages = [value.get("tasks"), value.get("agents", [])], value.get("packages", {})
    return (
        all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in lists)
        and isinstance(packages, dict)
        and all(isinstance(version, str) for version in packages.values())
        and all(isinstance(value.get(key, ""), str) for key in _TEXTS)
    )


def worked(sessions: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The sessions that ran trials. One that was killed may have run some."""
    return [session for session in sessions if session.get("trials") != 0]


def by_task(session: Mapping[str, Any]) -> dict[str, Runtime]:
    """The runtime of each task that had one."""
    return _by("tasks", session)


def by_agent(session: Mapping[str, Any]) -> dict[str, Runtime]:
    """The runtime of each agent that had one."""
    return _by("agents", session)


def _by(kind: str, session: Mapping[str, Any]) -> dict[str, Runtime]:
    return {name: runtime for runtime in session.get("runtimes", ()) for name in runtime.get(kind, ())}


@dataclass(frozen=True)
class Difference:
    """Tasks, or agents, whose runtime was one at first and another later; None: Proctor's own interpreter."""

    kind: str
    """`tasks` or `agents`."""
    names: tuple[str, ...]
    first: Runtime | None
    later: Runtime | None

    @property
    def same_place(self) -> bool:
        return called(self.first) == called(self.later)

    def told(self) -> str:
        """What is not as it was, in a few words; empty where that is not known."""
        pairs = versions_apart(self.first, self.later)
        return few([f"{name} was {was or 'not there'} and is {now or 'gone'}" for name, was, now in pairs])


def differences(
    first: Mapping[str, Any], later: Mapping[str, Any], lived: Mapping[str, Sequence[str]]
) -> Iterator[Difference]:
    """In what the runtimes of these tasks and agents (`lived`: names by kind) differ between two sessions; names with
    the same difference together."""
    for kind, known in lived.items():
        old, new = _by(kind, first), _by(kind, later)
        found: dict[tuple[int, int], list[str]] = {}
        for name in known:
            if not same(old.get(name), new.get(name)):
                found.setdefault((id(old.get(name)), id(new.get(name))), []).append(name)
        for names in found.values():
            yield Difference(kind, tuple(names), old.get(names[0]), new.get(names[0]))


def same(first: Runtime | None, later: Runtime | None) -> bool:
    """Whether two runtimes are the same software, as far as that is known."""
    if first is None or later is None:
        return first is later
    if "hash" in first and "hash" in later:
        return first["hash"] == later["hash"]
    a, b = software(first), software(later)
    return all(a[name] == b[name] for name in a.keys() & b.keys())


def software(runtime: Runtime) -> dict[str, str]:
    """Everything in a runtime that has a version."""
    found = {"Python": runtime["python"]} if "python" in runtime else {}
    if runtime.get("implementation", "cpython").lower() != "cpython" and found:
        found["Python"] += f" ({runtime['implementation']})"
    found |= {"proctor-host": runtime["host"]} if "host" in runtime else {}
    found |= {"numpy": runtime["numpy"]} if "numpy" in runtime else {}
    return found | dict(sorted(runtime.get("packages", {}).items()))


def versions_apart(first: Runtime | None, later: Runtime | None) -> list[tuple[str, str | None, str | None]]:
    """(name, version in the first, version in the other) of what is not equal. Where only one of them says what
    packages it has, what both name is compared."""
    if first is None or later is None:
        return []
    a, b = software(first), software(later)
    whole = "packages" in first and "packages" in later
    names = [name for name in {**a, **b} if whole or (name in a and name in b)]
    return [(name, a.get(name), b.get(name)) for name in names if a.get(name) != b.get(name)]


def called(runtime: Runtime | None) -> str:
    """What sentences call it."""
    return OWN if runtime is None else runtime["runtime"]


def few(found: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    if len(found) <= MOST_TOLD:
        return ", ".join(found)
    return f"{', '.join(found[: MOST_TOLD - 1])} and {len(found) - MOST_TOLD + 1} more"
