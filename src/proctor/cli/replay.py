"""`proctor replay`: run one trial again, check its bytes, film it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import RunPath, Trust

if TYPE_CHECKING:
    from proctor.rollout.progress import Progress
    from proctor.runs.replay import Told
    from proctor_host.result import TrialResult


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

    with _shown() as told:
        done = replay(run, trial, video, trust=trust, told=told)
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


@contextmanager
def _shown() -> Iterator[Told | None]:
    """What draws how far the trial is on a terminal, and takes it away at the end; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from proctor.runs.evaluate import TerminalLine

    terminal = TerminalLine(sys.stderr)
    try:
        yield lambda recorded, progress: terminal.show(line(recorded, progress))
    finally:
        terminal.clear()


def line(recorded: TrialResult, p: Progress) -> str:
    """How far a trial is that is run again, in words."""
    far = f"{p.steps:,} steps"
    if recorded.steps_total:
        far = f"{min(p.steps, recorded.steps_total):,} of {recorded.steps_total:,} steps"
    return f"{p.phase}: {recorded.trial.key}, {far}, {p.seconds:.0f} s"
