"""`proctor submit`: an examination as an array of jobs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, Name, Quiet, Root, Sets, Trust, changes_of
from proctor.errors import InputError

if TYPE_CHECKING:
    from proctor.runs.submit.submission import Settings, Submission


def submit_command(
    config: Annotated[str | None, typer.Argument(metavar="CONFIG", help="A YAML file.")] = None,
    slurm: Annotated[bool, typer.Option("--slurm", help="Submit to Slurm, with sbatch.")] = False,
    local: Annotated[bool, typer.Option("--local", help="Run the jobs on this machine.")] = False,
    jobs: Annotated[int, typer.Option(metavar="N", help="Jobs of the array.")] = 2,
    minutes: Annotated[
        int | None, typer.Option("--time", metavar="MIN", help="Minutes until a job is queued again. Slurm: 60.")
    ] = None,
    partition: Annotated[str | None, typer.Option(help="Slurm's partition.")] = None,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs of a job.")] = None,
    cpus: Annotated[int | None, typer.Option(metavar="N", help="CPU cores of a job.")] = None,
    mem: Annotated[float | None, typer.Option(metavar="GB", help="Memory of a job.")] = None,
    slurm_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Another option of sbatch, e.g. account=lab.")
    ] = None,
    lease: Annotated[
        float, typer.Option(metavar="S", help="After so many seconds without a sign of life a job counts as dead.")
    ] = 120.0,
    wait: Annotated[bool, typer.Option(help="Wait for the jobs and merge their work.")] = True,
    finish: Annotated[
        str | None, typer.Option(metavar="DIR", help="Wait for a submission made before, and merge it.")
    ] = None,
    sets: Sets = None,
    out: Root = None,
    name: Name = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """As run, with an array of jobs that share the work.

    A job that is preempted or dies costs the trials it was running; another job goes on with the rest.
    """
    from proctor.runs.submit.submission import Settings, Submission

    if finish is not None:
        if config is not None or slurm or local:
            raise InputError("--finish DIR goes on as that was submitted: leave CONFIG, --slurm and --local out")
        submission = Submission.open(finish)
        submission.revive(trust=trust)
    else:
        if config is None:
            raise InputError("name a config file: proctor submit CONFIG --slurm")
        if slurm == local:
            raise InputError("say where the jobs are to run: either --slurm or --local")
        options = dict(_option(text) for text in slurm_option or ())
        asked = Settings(
            "slurm" if slurm else "local", jobs, minutes, partition, gpus, cpus, mem, options, lease_s=lease
        )
        submission = _submitted(config, sets, changes_of(out, name), asked)
    if not wait:
        typer.echo(f"submitted: {submission.folder}\nto wait for the jobs and merge: {submission.finish_command}")
        return
    _finish(submission, trust or finish is None, as_json, quiet)


def _submitted(config: str, sets: list[str] | None, changes: dict[str, str], asked: Settings) -> Submission:
    from proctor.cli.run import confirmed
    from proctor.config import load_config
    from proctor.runs.submit.submission import Submission

    asked.check()
    cfg = confirmed(load_config(config, sets or []).model_copy(update=changes))
    submission = Submission.create(cfg, asked, config)
    submission.submit()
    return submission


def _option(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    key = key.strip().lstrip("-")
    if not (sign and key):
        raise InputError(f'--slurm-option "{text}": expected KEY=VALUE, such as account=lab')
    return key, value


def _finish(submission: Submission, trust: bool, as_json: bool, quiet: bool) -> None:
    from proctor.cli.report import show
    from proctor.report.build.findings import broken_agents
    from proctor.runs.report import write_report

    def said(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr)

    said(f"submitted: {submission.folder}")
    try:
        submission.wait(said)
    except KeyboardInterrupt:
        submission.stop()
        also = "" if submission.settings.kind == "local" else "the jobs go on; "
        print(f"\n{also}to wait for them and merge: {submission.finish_command}", file=sys.stderr)
        raise
    merged = submission.merge(trust=trust)
    report = write_report(merged)
    show(merged, report, as_json)
    if not as_json:
        typer.echo(f"merged: {merged.path}\nno longer needed: {submission.folder}")
    if sum(agent.overall.n_unscored for agent in report.agents) or broken_agents(report):
        raise typer.Exit(1)
