"""`proctor serve`: a local agent for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.options import Sets


def serve_command(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file.")],
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which agent to serve, where the config has several.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0: every address of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free one.")] = 8000,
    api_key: Annotated[
        str | None, typer.Option(envvar="PROCTOR_API_KEY", help="Key that callers must send. Default: PROCTOR_API_KEY.")
    ] = None,
    max_batch: Annotated[int | None, typer.Option(min=1, help="Most rows in one forward.")] = None,
    max_wait: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="How long a request waits for others to share its forward."),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET",
            help="What callers call the entries of an observation: openpi/libero. Default: observation/NAME.",
        ),
    ] = None,
    sets: Sets = None,
) -> None:
    """Offer an agent to other programs over a websocket.

    Speaks openpi's protocol, batches the requests of all callers, and stops at Ctrl-C. `policy: remote` examines it
    from another process or machine, and gives the same bytes as here.
    """
    from proctor.config import load_config
    from proctor.network.front import FrontCfg
    from proctor.network.offer import ServeCfg, choose_agent, serve_agent

    cfg = load_config(config, sets or [])
    name = choose_agent(cfg, agent).name
    serving = ServeCfg(name, FrontCfg(host, port, api_key or None), max_batch, max_wait, keys=keys)
    serve_agent(cfg, serving, lambda url: typer.echo(f'serving "{name}" at {url}; Ctrl-C stops'))
    typer.echo("stopped")
