"""The machines of a run that had several, as its ledger keeps them: `node`, `host`, `address` and `devices` of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def name_of(node: Mapping[str, Any]) -> str:
    """A name for people that no other node of a run has: the host, and where that is not enough, address and id."""
    if node["node"] == node["host"]:
        return node["host"]
    return f"{node['host']} ({node['address']}, {node['node'][:6]})"


def kind_of(node: Mapping[str, Any]) -> str:
    """The kinds of its processors that were used."""
    return ", ".join(node["devices"])
