"""`proctor compare`: which agent is better, within a run or between runs, and a gate for regressions."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, Level, Quiet, RunPaths, Trust, console, runs_by_name, write_files

if TYPE_CHECKING:
    from proctor.report.compare.page import CompareReport
    from proctor.verdict.comparison.compare import Compared
    from proctor.verdict.gate import Gate, Likeness

WORSE = 3


def compare_command(
    runs: RunPaths,
    fail_if_worse: Annotated[
        float | None,
        typer.Option(
            metavar="MARGIN",
            help="Exit with code 3 where the second run (with --baseline, any agent) is worse by more than this: the "
            "whole interval of the difference lies below -MARGIN. 0.02 is two points of success.",
        ),
    ] = None,
    equivalent: Annotated[
        float | None,
        typer.Option(
            metavar="MARGIN",
            help="Exit with code 3 unless all agents (with --baseline, all and that one) are shown to be alike: the "
            "whole interval of every difference lies within -MARGIN to MARGIN.",
        ),
    ] = None,
    require_proof: Annotated[
        bool, typer.Option("--require-proof", help="With --fail-if-worse: fail also while it is not settled.")
    ] = False,
    on: Annotated[
        str, typer.Option(metavar="success|score", help="What --fail-if-worse and --equivalent look at.")
    ] = "success",
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="AGENT", help="With --fail-if-worse or --equivalent: the agent to compare all others with."
        ),
    ] = None,
    level: Level = 0.95,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="tasks|trials",
            help="Whether every task counts alike or every trial does; default: as the first run's config has it.",
        ),
    ] = None,
    across_protocols: Annotated[
        bool, typer.Option("--across-protocols", help="Compare runs with different protocols, without pairs.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to write compare.*; default: the last run's folder.")
    ] = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which agents are better, within a run or between runs.

    Paired tests on equal seeds, intervals of differences, Holm's correction over all pairs, and letters. Runs must have
    one protocol. Writes compare.json, compare.md and compare.html. Exit codes: 0
    compared, 2 bad input or different protocols, 3 worse (with --fail-if-worse) or not shown to be alike (with
    --equivalent).
    """
    from proctor.errors import InputError
    from proctor.report.compare.page import write_comparison
    from proctor.verdict.comparison.cautions import about_margin
    from proctor.verdict.comparison.compare import compare
    from proctor.verdict.gate import gates, likenesses

    if on not in ("success", "score"):
        raise InputError(f'--on {on}: expected "success" or "score"')
    if fail_if_worse is None and (require_proof or (baseline is not None and equivalent is None)):
        raise InputError("--require-proof and --baseline go with --fail-if-worse MARGIN")
    if weights not in (None, "tasks", "trials"):
        raise InputError(f'--weights {weights}: expected "tasks" or "trials"')
    found = compare(runs_by_name(runs), level, across=across_protocols, weights=weights, trust=trust)
    rulings = [] if fail_if_worse is None else gates(found, on, fail_if_worse, baseline)
    failed = None if fail_if_worse is None else any(gate.failed(require_proof) for gate in rulings)
    for margin, what in ((fail_if_worse, "gate"), (equivalent, "proof of equivalence")):
        said = [] if margin is None else about_margin(found.runs, margin, on, what)
        found = replace(found, cautions=(*found.cautions, *said))
    alike = None if equivalent is None else likenesses(found, on, equivalent, baseline)
    report = _report(found, rulings, failed, alike)
    folder = out or found.runs[-1].run.path
    write_files("comparison", folder, lambda folder: write_comparison(folder, report))
    _show(report, folder, as_json=as_json, quiet=quiet)
    raise typer.Exit(WORSE if failed or report.unlike else 0)


def _report(found: Compared, rulings: list[Gate], failed: bool | None, alike: list[Likeness] | None) -> CompareReport:
    from proctor.report.compare.page import CompareReport

    names = list(dict.fromkeys(run.cfg.name for run in found.runs))
    return CompareReport(
        name=" and ".join(names),
        comparison=found.comparison,
        runs={run.label: run.described() for run in found.runs},
        cautions=found.cautions,
        gates=rulings,
        failed=failed,
        alike=alike,
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _ruling(text: str, *, good: bool) -> None:
    """In a terminal that has colours, red for what failed and green for what passed."""
    console(140).print(text, style="green" if good else "bold red", markup=False)


def _show(report: CompareReport, folder: Path, *, as_json: bool, quiet: bool) -> None:
    from proctor.report.build.judgement import gate_sentence, likeness_sentence
    from proctor.report.compare.page import to_json

    if as_json:
        typer.echo(json.dumps(to_json(report), allow_nan=False))
        return
    if not quiet:
        from proctor.report.console import pairs_table, standings_table

        for table in (standings_table(report.comparison), pairs_table(report.comparison)):
            console(140).print(table)
    for caution in report.cautions:
        typer.echo(f"caution: {caution}")
    typer.echo(report.verdict)
    for gate in report.gates:
        typer.echo(f"gate: {gate_sentence(gate)}")
    if report.failed is not None:
        _ruling("gate: failed" if report.failed else "gate: passed", good=not report.failed)
    for found in report.alike or ():
        typer.echo(f"equivalence: {likeness_sentence(found)}")
    if report.alike is not None:
        _ruling("equivalence: not shown" if report.unlike else "equivalence: shown", good=not report.unlike)
    typer.echo(f"comparison: {folder / 'compare.html'}")
