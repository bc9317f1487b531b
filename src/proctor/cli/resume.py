"""`proctor resume`: run what is missing in a run folder."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.options import Cluster, Json, Quiet, RunPath, Sets, Trust, follow, with_cluster


def resume_command(
    run: RunPath,
    sets: Sets = None,
    cluster: Cluster = None,
    retry_unscored: Annotated[
        bool, typer.Option(help="Also run again what the infrastructure broke for good.")
    ] = False,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was stopped, or extend it.

    --set n_trials=50 extends a run. Finished trials stay as they are; a change that would alter them is refused.
    """
    from proctor.runs.resume import resume

    follow(
        lambda hooks: resume(run, with_cluster(sets, cluster), hooks, retry_unscored=retry_unscored, trust=trust),
        as_json=as_json,
        quiet=quiet,
    )
