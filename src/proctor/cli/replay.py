"""`proctor replay`: run one trial again, check its bytes, film it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.options import RunPath, Trust


def replay_command(
    run: RunPath,
    trial: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL",
            help="agent/task/0003, agent/task/seed126, a part of these that means one trial, or an npz file.",
        ),
    ],
    video: Annotated[
        Path | None, typer.Option(metavar="FILE.mp4", help="Write a film of the trial to this file.")
    ] = None,
    trust: Trust = False,
) -> None:
    """Run one trial again and compare it with its record.

    Exit code 1 if the recorded bytes differ: the environment or the policy is not reproducible, or something was
    changed since.
    """
    from proctor.runs.replay import replay

    done = replay(run, trial, video, trust=trust)
    if not done.equal:
        verdict = f"NOT equal: {', '.join(done.differing) or 'the outcome'}"
    else:
        verdict = (
            "equal to the byte" if done.again.digest is not None else "the same fault; there are no bytes to compare"
        )
    which = f"{done.recorded.trial.key} (seed {done.recorded.trial.seed})"
    typer.echo(f"{which}: recorded {done.recorded.outcome}, again {done.again.outcome}: {verdict}")
    for condition in done.conditions:
        typer.echo(f"note: {condition}")
    if done.video is not None:
        typer.echo(f"video: {done.video}")
    raise typer.Exit(0 if done.equal else 1)
