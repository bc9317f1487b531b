"""`proctor tune`: workers, slots and batch sizes for this machine."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.options import Json, Sets, console, table

if TYPE_CHECKING:
    from rich.table import Table

    from proctor.runs.tune import Tuning


def tune_command(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML file.")],
    seconds: Annotated[
        float,
        typer.Option(min=0.1, help="Seconds for each measurement: of the tasks, of each agent, and of six short runs."),
    ] = 2.0,
    most_parallel: Annotated[int, typer.Option(min=1, help="Propose no more slots than this.")] = 128,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Propose workers, slots and batch sizes for this machine.

    Measures steps, forwards and transfer; proposes workers, num_parallel, max_batch and max_wait_s. The
    config as it is and two candidates are tried in short runs; the faster candidate is proposed. Nothing is kept,
    and no result depends on these settings.
    """
    from proctor.config import load_config
    from proctor.runs.tune import TuneCfg, tune, yaml_lines

    cfg = load_config(config, sets or [])
    found = tune(cfg, TuneCfg(seconds, most_parallel), lambda what: print(what, file=sys.stderr))
    lines = yaml_lines(cfg, found.proposal.settings)
    if as_json:
        typer.echo(json.dumps({**found.as_dict(), "yaml": lines}))
        return
    shown = console(130)
    for part in (_costs(found), _forwards(found), _rates(found)):
        shown.print(part)
    if found.worth_it:
        typer.echo(f"{found.gain:.1f} times as fast with:\n")
        typer.echo("\n".join(lines))
    else:
        typer.echo("the config is about as fast as the proposal; leave it as it is")


def _costs(found: Tuning) -> Table:
    rows = table("environment", "a step", "steps/s of one worker")
    for task, seconds in found.env_s.items():
        rows.add_row(task, _time(seconds), f"{1 / seconds:,.0f}")
    rows.add_row("an ask, inline", f"+ {_time(found.costs.engine_s)}", "")
    rows.add_row("an ask from a worker process: until the answer", f"+ {_time(found.costs.transfer_s)}", "")
    rows.add_row("an ask from a worker process: work of all cores", f"+ {_time(found.costs.message_s)}", "")
    return rows


def _forwards(found: Tuning) -> Table:
    rows = table("forward", "rows", "time", "rows/s", "steps per answer", "of which")
    for agent, cost in found.forwards.items():
        for n, seconds in cost.seconds.items():
            stages = cost.stages[n]
            shares = ", ".join(f"{name} {_time(s)}" for name, s in stages.items()) if len(stages) > 1 else ""
            rows.add_row(agent, str(n), _time(seconds), f"{n / seconds:,.0f}", f"{cost.horizon:g}", shares)
    return rows


def _rates(found: Tuning) -> Table:
    rows = table("settings", "workers", "num_parallel", "max_batch", "max_wait_s", "predicted steps/s", "measured")
    for name, rated in (("as it is", found.current), *(("tried", rated) for rated in found.tried)):
        s = rated.settings
        wait = "adaptive" if s.max_wait_s is None else f"{s.max_wait_s:g}"
        predicted = f"{rated.predicted:,.0f} ({rated.bound})"
        cells = (str(s.workers or "inline"), str(s.num_parallel), str(s.max_batch), wait, predicted)
        rows.add_row(name, *cells, f"{rated.measured:,.0f}")
    return rows


def _time(seconds: float) -> str:
    return f"{1e6 * seconds:.0f} us" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
