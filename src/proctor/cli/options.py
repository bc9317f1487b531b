"""Options that several verbs share, and how a session is followed from a terminal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from proctor.rollout.progress import CancelToken
    from proctor.runs.session import Hooks, RunEnd

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a config value, e.g. n_trials=50 or agents.ppo.device=cuda."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the result.")]
RunPath = Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")]


def follow(work: Callable[[Hooks], RunEnd], *, as_json: bool, quiet: bool) -> NoReturn:
    """Run a session with a progress display, show its result, and exit with its code."""
    from proctor.cli.progress import make_display
    from proctor.rollout.progress import CancelToken
    from proctor.runs.session import Hooks

    cancel = CancelToken()
    display = make_display(as_json, quiet)
    with stop_signals(cancel), display:
        finished = work(Hooks(display.update, cancel))
    display.result(finished)
    raise typer.Exit(exit_code(finished))


def exit_code(finished: RunEnd) -> int:
    """130 for a run that was cancelled before its end, 1 where trials are missing or unscored, else 0."""
    if finished.cancelled and not finished.complete:
        return 130
    unscored = sum(agent.overall.n_unscored for agent in finished.report.agents) if finished.report else 0
    return 1 if unscored or not finished.complete else 0


@contextmanager
def stop_signals(cancel: CancelToken) -> Iterator[None]:
    """In this context the first SIGINT or SIGTERM cancels the run cleanly, and a second one ends it at once."""

    def stop(number: int, _frame: Any) -> None:
        if cancel.cancelled:
            raise KeyboardInterrupt
        cancel.cancel()
        print("\nstopping: finished trials are being written (again to stop at once)", file=sys.stderr)

    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
