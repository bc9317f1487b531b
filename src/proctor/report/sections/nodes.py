"""Where the trials of a run were done, if it had several machines: by node, and for each trial in `nodes.csv`."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from proctor.record.nodes import kind_of, name_of
from proctor.record.rundir import RunDir
from proctor.report import text
from proctor.report.draw import pipes
from proctor.report.draw.markup import lead, plain_table
from proctor.report.model import Finding, Report
from proctor.report.section import Grid, Section

FILE = "nodes.csv"
HEADER = ("node", "devices", "trials", "trials whose policy was asked there")
COLUMNS = (
    "agent", "task", "trial", "seed", "environment_node", "environment_devices", "policy_node", "policy_devices",
)  # fmt: skip
WORDS = (
    "Policies were asked where the environment was, or by the engine, but for the trials that are counted in the last "
    f"column. {FILE} in the run folder says it for each trial."
)


class NodesSection(Section):
    """A table of the nodes; nothing for a run of one machine."""

    key, title, place = "nodes", "Where it ran", 160

    def html(self, report: Report, data: Any) -> str:
        nodes = report.context.nodes
        return lead(WORDS) + plain_table("Trials by node", HEADER, _rows(nodes)) if nodes else ""

    def markdown(self, report: Report, data: Any) -> str:
        rows = [list(map(pipes.escape, row)) for row in _rows(report.context.nodes)]
        return f"## Where it ran\n\n{WORDS}\n\n{pipes.table(HEADER, rows, left=2)}" if rows else ""

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        nodes = report.context.nodes
        if nodes:
            busiest = max(nodes, key=lambda node: node["trials"])
            share = busiest["trials"] / max(sum(node["trials"] for node in nodes), 1)
            yield f"nodes: {len(nodes)}, the busiest did {text.percent(share)} of the trials: {name_of(busiest)}"

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        return {"nodes": [dict(node) for node in report.context.nodes]} if report.context.nodes else {}

    def findings(self, report: Report) -> Iterable[Finding]:
        for counted, did in (("asked", "Policies were asked"), ("trials", "Environments ran")):
            kinds: dict[str, int] = {}
            for node in report.context.nodes:
                if node[counted]:
                    kinds[kind_of(node)] = kinds.get(kind_of(node), 0) + node[counted]
            if len(kinds) > 1:
                listed = text.listed([f"{kind} ({text.count(n, 'trial')})" for kind, n in kinds.items()])
                yield Finding(
                    "caution",
                    f"{did} on devices of several kinds: {listed}. They may round differently, so a trial that is "
                    "repeated on another kind need not be equal to the byte.",
                )

    def read(self, folder: Path, report: Report) -> Any:
        return RunDir.open(folder) if report.context.nodes else None

    def write(self, folder: Path, data: Any) -> None:
        if data is None:
            return
        aside = folder / f".{FILE}.tmp"
        with aside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=";", lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows(_trials(data))
        os.replace(aside, folder / FILE)


def _rows(nodes: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    for node in nodes:
        yield [name_of(node), kind_of(node), f"{node['trials']:,}", f"{node['asked']:,}"]


def _trials(run: RunDir) -> Iterator[tuple[Any, ...]]:
    """A row for each trial whose node is known."""
    with run.ledger(copied=True) as ledger:
        told = [(name_of(node), kind_of(node)) for node in ledger.nodes()]
        for trial, worker, policy in ledger.placed():
            asked = ("", "") if policy is None else told[policy]
            yield (trial.agent, trial.task, trial.index, trial.seed, *told[worker], *asked)
