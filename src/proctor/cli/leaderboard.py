"""`proctor leaderboard`: agents over tasks, ranked, with what made their scores and what would raise them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, Level, Quiet, RunPaths, Trust, console, runs_by_name, write_files
from proctor.cli.score import numbers_by_name

if TYPE_CHECKING:
    from proctor.verdict.leaderboard import Leaderboard


def leaderboard_command(
    runs: RunPaths,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="TASK=NUMBER", help="How much a task counts against the others (1); may be repeated."),
    ] = None,
    level: Level = 0.95,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where to write leaderboard.*; default: the last run's folder."),
    ] = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rank agents by one number over all tasks.

    The number is the weighted mean over tasks, shown with its interval, ties, and what each term of the score
    contributed. Takes one run, or several whose protocol, seeds and versions are the same. Writes leaderboard.json,
    .csv, .md and .html. Exit codes: 0 ranked, 2 bad input or runs that differ.
    """
    from proctor.report.leaderboard.files import to_json, write_leaderboard
    from proctor.verdict.leaderboard import leaderboard

    weights = numbers_by_name("--weight", "TASK", weight or [])
    paths = runs_by_name(runs)
    board = leaderboard(paths, level, weights, trust=trust)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    folder = out or Path(list(paths.values())[-1] if isinstance(paths, dict) else paths[-1])
    write_files("leaderboard", folder, lambda folder: write_leaderboard(folder, board, now))
    if as_json:
        typer.echo(json.dumps(to_json(board, now), allow_nan=False))
        return
    _show(board, folder, quiet=quiet)


def _show(board: Leaderboard, folder: Path, *, quiet: bool) -> None:
    from proctor.report.leaderboard.words import advice_words, verdict

    if not quiet:
        from proctor.report.console import board_table

        console(140).print(board_table(board))
        for entry in board.entries:
            if entry.advice:
                typer.echo(f"to gain: {entry.agent} {'; '.join(map(advice_words, entry.advice))}")
    for caution in board.cautions:
        typer.echo(f"caution: {caution}")
    typer.echo(verdict(board))
    typer.echo(f"leaderboard: {folder / 'leaderboard.html'}")
