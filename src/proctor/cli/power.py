"""`proctor power`: how many trials it takes to see a difference."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, Trust, console, run_path, table

if TYPE_CHECKING:
    from proctor.verdict.power import Answer, Question


def power_command(
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run folder, or latest: its agents' rates are used.", parser=run_path),
    ] = None,
    difference: Annotated[
        float | None,
        typer.Option(
            help="Difference of success rates, such as 0.05. Default: 0.1; with RUN, the difference that was seen."
        ),
    ] = None,
    rate: Annotated[
        list[float] | None, typer.Option(help="The lower of the two rates; repeat the option for more rows.")
    ] = None,
    correlation: Annotated[
        float, typer.Option(help="Correlation of two agents' outcomes on one seed: 0 where seeds do not matter.")
    ] = 0.5,
    power: Annotated[float, typer.Option(help="Chance of detecting the difference where there is one.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Chance of detecting a difference where there is none.")] = 0.05,
    trust: Trust = False,
    as_json: Json = False,
) -> None:
    """Say how many trials it takes to see a difference.

    Trials per agent for a difference of success rates: paired, unpaired, or stopping early. For example:
    proctor power --difference 0.05 --rate 0.8, or proctor power RUN.
    """
    from proctor.errors import InputError
    from proctor.verdict.power import RATES, Question, answers, answers_for_run, as_rows

    if run is not None and rate:
        raise InputError("name a RUN or rates, not both: a run brings its own rates")
    question = Question(0.1 if difference is None else difference, tuple(rate or RATES), correlation, power, alpha)
    question.check()
    found = answers(question) if run is None else answers_for_run(run, difference, question, trust=trust)
    if as_json:
        typer.echo(json.dumps({"power": power, "alpha": alpha, "rows": as_rows(found)}, allow_nan=False))
        return
    _print(found, question)


def _print(found: list[Answer], question: Question) -> None:
    from rich.text import Text

    caption = (
        f"trials per agent, {question.power:.0%} power at alpha {question.alpha:g}; stopping early: the maximum to "
        "declare, and where it stops in the mean"
    )
    rows = table("agents", "rates", "differing seeds", "paired", "unpaired", "stopping early", caption=caption)
    for answer in found:
        names = "" if answer.seen is None else " against ".join(answer.seen)
        usual = "" if answer.usual is None else f" (usually {answer.usual:,.0f})"
        cells = [
            names,
            f"{100 * answer.rate_b:.3g} % and {100 * answer.rate_a:.3g} %",
            f"{answer.differing:.0%}",
            _n(answer.paired.n),
            _n(answer.unpaired.n),
            _n(answer.sequential.n) + usual,
        ]
        rows.add_row(*(Text(cell) for cell in cells))
    console(130).print(rows)


def _n(n: int | None) -> str:
    return "over a million" if n is None else f"{n:,}"
