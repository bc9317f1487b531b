"""`proctor view`: runs, trials and episodes in a browser."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.options import Trust
from proctor.errors import InputError


def view_command(
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="FOLDER", help="Runs, or folders with runs below; default: results/eval_runs."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but a loopback address asks for a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(envvar="PROCTOR_VIEW_TOKEN", help="Token to ask for. Default: PROCTOR_VIEW_TOKEN, or made up."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser, as on a server.")] = False,
    trust: Trust = False,
) -> None:
    """Look at runs, trials and episodes in a browser.

    It only reads: nothing is written into a run, and code that a run names is not imported (but for its scoring, with
    --trust). A run that is under way stays current. Ends with Ctrl-C.
    """
    from proctor.cli.options import run_path
    from proctor.config.models import EvalConfig
    from proctor.view.serve import Serving, serve

    _require_address(host)
    given = folders or [EvalConfig.model_fields["output_root"].default]
    serve([Path(run_path(text)) for text in given], Serving(host, port, token, not no_browser, trust), typer.echo)


def _require_address(host: str) -> None:
    """Raise InputError for a name that no address belongs to: another port would not help."""
    try:
        socket.getaddrinfo(host.strip("[]"), None)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(
            f"--host {host}: no address belongs to that name ({why}); 127.0.0.1 is this machine alone, 0.0.0.0 every "
            "address of it"
        ) from None
