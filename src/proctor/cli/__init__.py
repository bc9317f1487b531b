"""The command line: one file per verb. Each verb imports what it needs when it runs, so `proctor --help` is quick.

Exit codes: 0 done, 1 trials unscored (or the run could not go on), 2 bad input, 3 worse than the base (`proctor compare
--fail-if-worse`), 130 interrupted.
"""

from __future__ import annotations

import functools
import importlib
import keyword
import sys
from typing import Annotated, Any, NoReturn

import typer.main
from typer.core import TyperGroup

from proctor.errors import InputError, ProctorError, RunError

DONE, UNSCORED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
VERBS = (
    "run", "resume", "check", "score", "report", "compare", "leaderboard", "power", "import", "replay", "export",
    "merge", "submit", "view", "serve", "tune", "list", "doctor", "demo",
)  # fmt: skip
"""In the order of the help. The module of the verb's name has its function, such as `run_command`."""
GROUPS = ("examples", "goals", "runtimes", "host")
"""Verbs with verbs of their own: their module has them, such as `examples_app`."""


def _module(verb: str) -> Any:
    return importlib.import_module(f"proctor.cli.{verb}{'_' if keyword.iskeyword(verb) else ''}")


class Verbs(TyperGroup):
    """The verbs. What ends the program from within one, other than the verb itself, never looks like success."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (Exception, KeyboardInterrupt):
            raise
        except BaseException as ended:
            if isinstance(ended, SystemExit) and ended.code:
                raise
            raise RunError(
                f"this command was ended by code that it ran ({ended!r}); it did not come to its end"
            ) from ended


app = typer.Typer(
    name="proctor",
    cls=Verbs,
    help="Examine embodied agents: seeded trials, batched inference, recorded evidence, defended verdicts.\n\n"
    "Start with: proctor check CONFIG, then proctor run CONFIG. Exit codes: 0 done, 1 trials unscored, 2 bad input, "
    "3 worse than the base (compare), 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in VERBS:
    app.command(verb)(getattr(_module(verb), f"{verb}_command"))
for group in GROUPS:
    app.add_typer(getattr(_module(group), f"{group}_app"), name=group)


def _version(wanted: bool) -> None:
    if wanted:
        from proctor import __version__

        typer.echo(f"proctor {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@functools.cache
def command() -> Any:
    """`app` as a command of click; to make it reads the signature of every verb."""
    return typer.main.get_command(app)


def main() -> NoReturn:
    """The entry point: prints what a user can act on without a traceback."""
    try:
        command()(prog_name="proctor")
    except ProctorError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT if isinstance(error, InputError) else UNSCORED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        said, code = _explained(error)
        print(f"error: {said}", file=sys.stderr)
        sys.exit(code)
    sys.exit(DONE)


def _explained(error: Exception) -> tuple[str, int]:
    """What to say of a disk that takes no more, or of a ledger that is damaged within, and the exit code. Any other
    error is a defect of Proctor's, and is raised."""
    import sqlite3

    from proctor.record.disk import trouble

    if (why := trouble(error)) is not None:
        return f"{getattr(error, 'filename', None) or 'a file'} cannot be written: {why}", UNSCORED
    if isinstance(error, sqlite3.DatabaseError):
        return f"the ledger of the run is damaged: {error}; take another copy of the folder, or run it anew", BAD_INPUT
    raise error
