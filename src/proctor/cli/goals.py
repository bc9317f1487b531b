"""`proctor goals`: does a model that turns text into goals imagine the right picture?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, Quiet, RunPath, Sets, Trust, followed, run_path

if TYPE_CHECKING:
    from proctor.suites.goals.report.model import GoalsReport

Config = Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file with a section `goals`.")]

goals_app = typer.Typer(
    help="Evaluate the goals that a text-to-goal model imagines.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@goals_app.command("collect")
def collect_command(config: Config, sets: Sets = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Run the agents and keep encoded pictures of success.

    Goes on where it was stopped: only what is missing is run and encoded. Exit code 1 where a task has no success.
    """
    from proctor.suites.goals.collect import collect
    from proctor.suites.goals.config import load_goals

    cfg, goals = load_goals(config, sets or [])
    done, _ = followed(lambda hooks: collect(cfg, goals, hooks), as_json=as_json, quiet=quiet)
    if done.visuals is None:
        typer.echo(f"stopped: run the same command again to go on ({done.folder})", err=True)
        raise typer.Exit(130 if done.finished.cancelled else 1)
    counts = {
        task: {"trials": own.n_trials, "successes": len(set(own.trial.tolist())), "pictures": len(own.trial)}
        for task, own in done.visuals.tasks.items()
    }
    if as_json:
        typer.echo(json.dumps({"folder": str(done.folder), "space": done.visuals.space, "tasks": counts}))
    else:
        for task, own in counts.items():
            typer.echo(f"{task}: {own['successes']} of {own['trials']} trials succeeded, {own['pictures']} pictures")
        typer.echo(f"success visuals: {done.folder}")
    raise typer.Exit(0 if all(own["successes"] for own in counts.values()) else 1)


@goals_app.command("evaluate")
def evaluate_command(
    config: Config,
    sets: Sets = None,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="Go on in this folder, after a stop.", parser=run_path)
    ] = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask every prior for its goals and write the report.

    Runs the ablation where the config has one, too. Writes goals.json, goals.csv, goals.md and goals.html into a run
    folder.
    """
    from proctor.suites.goals.config import load_goals
    from proctor.suites.goals.evaluate import evaluate

    cfg, goals = load_goals(config, sets or [])
    done, _ = followed(lambda hooks: evaluate(cfg, goals, hooks, run, trust=trust), as_json=as_json, quiet=quiet)
    if done.report is None:
        typer.echo(f"stopped; go on with: proctor goals evaluate {config} --run {done.folder}", err=True)
        raise typer.Exit(130 if done.finished is not None and done.finished.cancelled else 1)
    _show(done.report, done.folder, as_json=as_json, quiet=quiet)


@goals_app.command("report")
def report_command(run: RunPath, trust: Trust = False, as_json: Json = False, quiet: Quiet = False) -> None:
    """Compute an evaluation's numbers again from its records.

    Needs neither model nor simulator.
    """
    from proctor.suites.goals.evaluate import report

    _show(report(run, trust=trust), Path(run), as_json=as_json, quiet=quiet)


@goals_app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A pickle with success_visual_embeds by task.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the success visuals.")],
    space: Annotated[str, typer.Option(metavar="NAME", help="The space of the embeddings: their encoder's.")],
) -> None:
    """Make success visuals of an older grouped pickle. Nothing in it is run."""
    from proctor.errors import InputError
    from proctor.report.text import count
    from proctor.suites.goals.visuals import INDEX, read_grouped_pickle, write_visuals

    if (folder / INDEX).exists():
        raise InputError(f"{folder} has success visuals already; name another folder")
    visuals = read_grouped_pickle(file, space)
    write_visuals(folder.resolve(), visuals)
    n = sum(len(own.trial) for own in visuals.tasks.values())
    typer.echo(f"success visuals: {folder} ({count(n, 'embedding')} of {count(len(visuals.tasks), 'task')})")


def _show(report: GoalsReport, folder: Path, *, as_json: bool, quiet: bool) -> None:
    from proctor.suites.goals.report.files import to_json
    from proctor.suites.goals.report.findings import chance_words, findings, number_words, verdict
    from proctor.suites.goals.report.model import DIMENSIONS

    if as_json:
        typer.echo(json.dumps(to_json(report), allow_nan=False))
        return
    if not quiet:
        for prior in report.ranked():
            typer.echo(f"{prior.name} ({prior.flag})" if prior.flag else prior.name)
            for name, title in DIMENSIONS.items():
                own = prior.dimensions[name]
                said = [number_words(own), chance_words(own.overall), own.band or ""]
                words = f"{said[0]}: {own.overall.reason}" if own.overall.reason else "  ".join(filter(None, said))
                typer.echo(f"  {title.lower():<20} {words}")
        for finding in findings(report):
            typer.echo(f"{finding.level}: {finding.text}")
    typer.echo(verdict(report))
    typer.echo(f"report: {folder / 'goals.html'}")
