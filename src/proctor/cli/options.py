"""What several verbs share: options, how a session is followed, and how results are shown."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from proctor.cli.progress import Display
    from proctor.report import Report
    from proctor.rollout.progress import CancelToken
    from proctor.runs.session import Hooks, RunEnd

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override a config value, e.g. n_trials=50 or agents.ppo.device=cuda."
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Work on a Ray cluster: auto, local or HOST:PORT (docs: Clusters)."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line, for programs.")]
JsonAnswer = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress, only the result.")]


def run_path(text: str) -> str:
    """The folder that a RUN on the command line means: the one place where `latest` is understood."""
    from proctor.record.latest import found_run

    return found_run(text)


RunPath = Annotated[str, typer.Argument(metavar="RUN", help="A run folder, or latest.", parser=run_path)]
RunPaths = Annotated[
    list[str],
    typer.Argument(metavar="RUN", help="Run folders, or latest; NAME=RUN gives one a name of its own."),
]
Root = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="Where to make the run folder: output_root of the config.")
]
Name = Annotated[str | None, typer.Option("--name", metavar="NAME", help="The run's name, in its folder and report.")]
Level = Annotated[float, typer.Option(help="Level of the intervals; tests have the error rate 1 - level.")]

Trust = Annotated[
    bool, typer.Option("--trust", help="The code that the run names may run: you have read it, or know who wrote it.")
]

T = TypeVar("T")


def runs_by_name(given: Sequence[str]) -> list[str] | dict[str, str]:
    """Folders of the runs that are given as RUN or NAME=RUN, by their names where one has a name of its own."""
    from proctor.errors import InputError

    split = [("", text) if Path(text).exists() or "=" not in text else text.split("=", 1) for text in given]
    if not any(name for name, _ in split):
        return [run_path(text) for text in given]
    found: dict[str, str] = {}
    for name, text in split:
        path = run_path(text)
        name = name.strip() or Path(path).resolve().name
        if name in found:
            raise InputError(f'two runs are named "{name}"; give each its own name')
        found[name] = path
    return found


def with_cluster(sets: Sequence[str] | None, address: str | None) -> list[str]:
    """Overrides, with those that --cluster stands for."""
    more = [] if address is None else ["workers.kind=ray", f"workers.options.address={address}"]
    return [*(sets or ()), *more]


def changes_of(out: str | None, name: str | None) -> dict[str, str]:
    """What --out and --name change in a config."""
    from proctor.errors import InputError

    for option, value in (("--out", out), ("--name", name)):
        if value is not None and not value.strip():
            raise InputError(f'{option} "{value}": expected text that is not empty')
    return {key: value for key, value in (("output_root", out), ("name", name)) if value is not None}


def follow(work: Callable[[Hooks], RunEnd], *, as_json: bool, quiet: bool) -> NoReturn:
    """Run a session with a progress display, show its result, and exit with its code."""
    finished, display = followed(work, as_json=as_json, quiet=quiet)
    for note in finished.notes:
        print(f"note: {note}", file=sys.stderr)
    display.result(finished)
    raise typer.Exit(exit_code(finished))


def followed(work: Callable[[Hooks], T], *, as_json: bool, quiet: bool) -> tuple[T, Display]:
    """What `work` gives, with a progress display while it goes on, and that display."""
    from proctor.cli.progress import make_display, terminal_operator
    from proctor.rollout.progress import CancelToken
    from proctor.runs.session import Hooks

    cancel = CancelToken()
    display = make_display(as_json, quiet)
    with stop_signals(cancel), display:
        return work(Hooks(display.update, cancel, terminal_operator())), display


def exit_code(finished: RunEnd) -> int:
    """130 for a run that was cancelled before its end; 1 where trials are missing or unscored, or every trial of an
    agent broke; else 0."""
    from proctor.report.build.findings import broken_agents

    if finished.cancelled and not finished.complete:
        return 130
    if finished.report is None:
        return 0 if finished.complete else 1
    unscored = sum(agent.overall.n_unscored for agent in finished.report.agents)
    return 1 if unscored or broken_agents(finished.report) or not finished.complete else 0


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


def report_file(run: Path) -> Path:
    """The file of a run's report that a person would rather open; `report.json` is always there."""
    names = ("report.html", "report.md", "report.json")
    return next((run / name for name in names if (run / name).is_file()), run / names[-1])


def console(width: int) -> Console:
    """Standard output; `width` columns where it is no terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else width)


def print_cautions(out: Console, report: Report) -> None:
    """What must be known before the numbers of a report are used, a line each."""
    for finding in report.findings:
        if finding.level == "caution":
            out.print(f"caution: {finding.text}", markup=False)


def table(*columns: str, caption: str | None = None) -> Table:
    """A table with these columns, all but the first one aligned to the right."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
    for i, name in enumerate(columns):
        made.add_column(name, justify="left" if i == 0 else "right")
    return made


def write_files(what: str, folder: Path, write: Callable[[Path], T]) -> T:
    """What `write` gives for the folder, which is made if need be. Raises InputError where it cannot be written to."""
    from proctor.errors import InputError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):  # found out before anything is computed
            pass
        return write(folder.resolve())
    except OSError as error:
        raise InputError(
            f"cannot write the {what} into {folder}: {error.strerror or error}; name a folder: --out FOLDER"
        ) from None
