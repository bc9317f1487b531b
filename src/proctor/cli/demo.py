"""`proctor demo`: a small examination that needs nothing but the core."""

from __future__ import annotations

import sys

from proctor.cli.options import Json, Quiet, Sets, follow


def demo_command(sets: Sets = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Examine three agents on three tasks, with the core alone.

    It ends with a ranking and the path of the report. The config is demo.yml among the examples, which
    `proctor examples copy DIR` gives you.
    """
    from proctor.cli.examples import DEMO, examples
    from proctor.config import load_config
    from proctor.runs.start import start

    file = str(examples() / DEMO)
    print(f"{file} (a copy to change: proctor examples copy DIR)", file=sys.stderr)
    cfg = load_config(file, sets or [])
    follow(lambda hooks: start(cfg, hooks, config=file), as_json=as_json, quiet=quiet)
