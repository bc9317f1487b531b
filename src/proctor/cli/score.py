"""`proctor score`: metrics, scores and reports again, from the records alone."""

from __future__ import annotations

from proctor.cli.options import Json, RunPath, Sets


def score_command(run: RunPath, sets: Sets = None, as_json: Json = False) -> None:
    """Compute metrics, scores and every report file again from the records.

    Needs neither simulator nor model. Another scoring: --set scoring.mode=return, --set scoring.w_safety=2.
    """
    from proctor.cli.report import show
    from proctor.evaluation import score
    from proctor.record.rundir import RunDir

    show(RunDir.open(run), score(run, sets or []), as_json)
