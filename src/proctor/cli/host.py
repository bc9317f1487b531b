"""`proctor host`: environments for runs elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

host_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Environments for runs elsewhere.")


@host_app.callback()
def _host() -> None:
    pass


@host_app.command("serve")
def serve_command(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="What makes it: package.module:make or file.py:make.")],
    address: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: any free one.")],
    token_file: Annotated[str, typer.Option(metavar="FILE", help="The file with the token that callers must know.")],
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Make that file, with a token that nobody can guess.")
    ] = False,
    workers: Annotated[int, typer.Option(min=1, metavar="N", help="How many workers callers may have at once.")] = 1,
) -> None:
    """Serve an environment by TCP.

    It may live in a container, a conda environment or on another machine.

    A task uses it with `runtime: {address: "HOST:PORT", token_file: FILE}`. Where Proctor is not installed,
    `proctor-host serve` does the same with numpy alone. Stops at Ctrl-C.
    """
    from proctor_host.serving import serve

    serve(entry, address, token_file, new_token, workers)
