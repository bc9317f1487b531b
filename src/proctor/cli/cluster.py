"""The findings of `proctor doctor --cluster`: what each node of a Ray cluster can run. Nodes of which the same is to be
said are told together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proctor import __version__
from proctor.cli.doctor import Check
from proctor.cli.probes import SECTIONS
from proctor.rollout.cluster.doctor import Examined, examine

ASKED = ("machine", "suites", "runtimes", "policies", "rendering")
Sections = dict[str, list[Check]]


def here() -> Sections:
    """Runs on a node: what is found there."""
    return {title: SECTIONS[title]() for title in ASKED}


def cluster(address: str) -> Iterator[tuple[str, list[Check]]]:
    """A section about the cluster, with a line for each node, then sections about the nodes that could be asked."""
    nodes = list(examine(address, f"{__name__}:{here.__name__}"))
    yield f"cluster at {address}", [_about(node) for node in nodes]
    groups: dict[tuple[Check, ...], list[str]] = {}
    for node in nodes:
        if node.problem is None:
            groups.setdefault(tuple(_findings(node.found)), []).append(node.name)
    for checks, names in groups.items():
        yield f"on {', '.join(names)}", list(checks)


def _about(node: Examined) -> Check:
    if node.problem is not None:
        return Check(node.name, False, node.problem, "install proctor[ray] there, as it is here", fault="mute")
    if (found := node.about["proctor"]) != __version__:
        return Check(node.name, False, f"has proctor {found}, this is {__version__}", "install the same", fault="other")
    room = [f"{n:g} {name}s" if n != 1 else f"1 {name}" for name, n in node.resources.items() if n]
    devices = ", ".join(node.about["devices"])
    return Check(node.name, True, f"{', '.join(room) or 'no CPU or GPU for work'}; {devices}")


def _findings(sections: Sections) -> Iterator[Check]:
    """One line for all that works of a kind, then what does not."""
    for title, checks in sections.items():
        well = [check.name for check in checks if check.ok]
        if well:
            yield Check(title, True, ", ".join(well))
        yield from _failed(checks)


def _failed(checks: Iterable[Check]) -> Iterator[Check]:
    return (check for check in checks if not check.ok)
