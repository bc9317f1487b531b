"""`proctor score`: metrics, scores and reports again, from the records alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import typer

from proctor.cli.options import Json, RunPath, Sets, Trust

Weights = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TERM=NUMBER",
        help="Another weight of a reward term (scoring terminal), on every task that recorded it; may be repeated.",
    ),
]


def score_command(
    run: RunPath, sets: Sets = None, weights: Weights = None, trust: Trust = False, as_json: Json = False
) -> None:
    """Compute metrics, scores and reports again from records.

    Needs neither simulator nor model. Another scoring: --set scoring.mode=return, --set scoring.options.w_safety=2.
    Other weights of terms: --weights goal_scored=5 --weights offside=-1. Exit code 1
    if the ledger said something else than the records: it is corrected, and the report says what it was.
    """
    from proctor.cli.report import show
    from proctor.record.rundir import RunDir
    from proctor.runs.score import score

    folder = RunDir.open(run)
    before = folder.plain_config().scoring
    numbers = numbers_by_name("--weights", "TERM", weights or [])
    found = score(run, sets or [], numbers, trust=trust)
    show(folder, found.report, as_json)
    if not as_json and folder.plain_config().scoring != before:
        typer.echo("The run's config has this scoring from now on: a later proctor resume uses it, too.")
    raise typer.Exit(1 if found.corrected else 0)


def numbers_by_name(option: str, what: str, given: Sequence[str]) -> dict[str, float]:
    """`NAME=NUMBER`, each name once."""
    from proctor.errors import InputError

    found: dict[str, float] = {}
    for text in given:
        name, _, value = (part.strip() for part in text.rpartition("="))
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not name or not math.isfinite(number):
            raise InputError(f"{option} {text}: expected {what}=NUMBER")
        if name in found:
            raise InputError(f"{option} {text}: {name} is given twice")
        found[name] = number
    return found
