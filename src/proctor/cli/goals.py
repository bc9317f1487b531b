"""`proctor goals`: does a model that turns text into goals imagine the right picture?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, Quiet, Sets, Trust, followed, run_path

if TYPE_CHECKING:
    from proctor.suites.goals.report.model import GoalsReport

Config = Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file with a section `goals`.")]

TaskSet = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only the tasks of this set, of goals.task_sets in the config.")
]


def _evaluation_path(text: str) -> str:
    """The folder that a RUN means; `latest` is the goal evaluation that was begun last."""
    from proctor.record.latest import found_run

    return found_run(text, "goals/records.json")


def _with_set(sets: list[str] | None, task_set: str | None) -> list[str]:
    return [*(sets or []), *([] if task_set is None else [f"goals.task_set={json.dumps(task_set)}"])]


goals_app = typer.Typer(
    help="Evaluate the goals that a text-to-goal model imagines.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@goals_app.command("collect")
def collect_command(
    config: Config, sets: Sets = None, task_set: TaskSet = None, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Run the agents and keep encoded pictures of success.

    Goes on where it was stopped: only what is missing is run and encoded. Exit code 1 where a task has no success.
    """
    from proctor.suites.goals.collect import collect
    from proctor.suites.goals.config import load_goals

    cfg, goals = load_goals(config, _with_set(sets, task_set))
    done, _ = followed(lambda hooks: collect(cfg, goals, hooks), as_json=as_json, quiet=quiet)
    if done.visuals is None:
        typer.echo(f"stopped: run the same command again to go on ({done.folder})", err=True)
        raise typer.Exit(130 if done.finished.cancelled else 1)
    counts = {
        task: {"trials": own.n_trials, "successes": len(set(own.trial.tolist())), "pictures": len(own.trial)}
        for task, own in done.visuals.tasks.items()
        if task in done.tasks
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
    task_set: TaskSet = None,
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

    cfg, goals = load_goals(config, _with_set(sets, task_set))
    done, _ = followed(lambda hooks: evaluate(cfg, goals, hooks, run, trust=trust), as_json=as_json, quiet=quiet)
    if done.report is None:
        typer.echo(f"stopped; go on with: proctor goals evaluate {config} --run {done.folder}", err=True)
        raise typer.Exit(130 if done.finished is not None and done.finished.cancelled else 1)
    _show(done.report, done.folder, as_json=as_json, quiet=quiet)


@goals_app.command("report")
def report_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or latest.", parser=_evaluation_path)],
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compute an evaluation's numbers again from its records.

    Needs neither model nor simulator.
    """
    from proctor.suites.goals.evaluate import report

    _show(report(run, trust=trust), Path(run), as_json=as_json, quiet=quiet)


@goals_app.command("import")
def import_command(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A pickle, or a folder with one for each task.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the success visuals.")],
    space: Annotated[str, typer.Option(metavar="NAME", help="The space of the embeddings: their encoder's.")],
    replace: Annotated[bool, typer.Option("--replace", help="Tasks that FOLDER has already give way.")] = False,
) -> None:
    """Make success visuals of older pickles. Nothing in them is run.

    A pickle holds success_visual_embeds, and maybe success_frames, of all tasks or of one. What FOLDER has of other
    tasks stays.
    """
    from proctor.report.text import count
    from proctor.suites.goals.older import added, read_pickles
    from proctor.suites.goals.visuals import write_visuals

    new = read_pickles(source, space)
    every = added(folder, new, replace_tasks=replace)
    write_visuals(folder.resolve(), every)
    n = sum(len(own.trial) for own in new.tasks.values())
    pictured = sum(len(own.frames) > 0 for own in new.tasks.values())
    seen = "no pictures" if not pictured else f"pictures of {count(pictured, 'task')}"
    typer.echo(f"success visuals: {folder} ({count(n, 'embedding')} of {count(len(new.tasks), 'task')}, {seen})")
    if len(every.tasks) > len(new.tasks):
        typer.echo(f"the folder now has {count(len(every.tasks), 'task')}")


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
