"""`python -m benchmarks [name ...]`: measure, and print a Markdown table, row by row as they come.

Rows are also appended to a file of JSON lines in `results/bench/`, so that a run that is interrupted keeps what it has;
`--resume FILE` measures what is missing there. `--against TREE` compares this checkout with another one."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.against import against
from benchmarks.comparisons import COMPARISONS
from benchmarks.folders import all_runs
from benchmarks.journal import Journal, plain
from benchmarks.table import HEAD, Row, line, machine, notes

INTERRUPTED = 130
"""The exit code, as a shell has it for Ctrl-C."""


def main() -> int:
    arguments = _arguments()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    described, names = machine(), arguments.names or list(COMPARISONS)
    journal = Journal(arguments.resume, described) if arguments.resume else Journal.new(described)
    print(f"rows are kept in {journal.path}", file=sys.stderr)
    print(f"{described}\n\n{HEAD}", flush=True)
    rows: list[Row] = []
    try:
        for name in names:
            measure = COMPARISONS[name] if arguments.against is None else partial(against, arguments.against, name)
            for row in journal.rows.get(name) or measured(name, measure, arguments.repeats, journal):
                rows.append(row)
                print(line(row), flush=True)
    except KeyboardInterrupt:
        print(f"interrupted; go on with --resume {journal.path}", file=sys.stderr)
        return INTERRUPTED
    finally:
        _end(rows, described, arguments.json)
    return 0 if all(row.met is not False for row in rows) else 1


def measured(name: str, measure: Callable[[int], Iterable[Row]], repeats: int, journal: Journal) -> Iterable[Row]:
    """The rows of a comparison as they come, each written down; where it fails, a last row says so."""
    print(f"{name}: {COMPARISONS[name].__doc__}", file=sys.stderr, flush=True)
    journal.begin(name)
    try:
        with all_runs():
            for row in measure(repeats):
                journal.add(name, row)
                yield row
    except Exception as error:
        row = Row.failed(name, f"{type(error).__name__}: {error}")
        journal.add(name, row)
        yield row
    else:
        journal.done(name)


def _end(rows: Sequence[Row], described: str, file: Path | None) -> None:
    print("\n".join(["", *notes(rows)]), flush=True)
    if file is not None:
        data: dict[str, Any] = {"machine": described, "rows": [plain(row) for row in rows]}
        file.write_text(json.dumps(data, indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure both sides; print ratios.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(COMPARISONS)}; default: all")
    parser.add_argument("--repeats", type=int, default=3, help="how often each side is run; medians are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rows there, too")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="skip what is done in this file, and go on with it")
    parser.add_argument("--against", type=_tree, metavar="TREE", help="another checkout, to compare this one with")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in COMPARISONS]
    if unknown:
        parser.error(f"unknown comparison {', '.join(unknown)}; choose from {', '.join(COMPARISONS)}")
    if arguments.resume and not arguments.resume.exists():
        parser.error(f"there is no {arguments.resume} to go on with")
    return arguments


def _tree(given: str) -> Path:
    if not (Path(given) / "benchmarks").is_dir():
        raise argparse.ArgumentTypeError(f"{given} is no checkout of Proctor: it has no folder benchmarks")
    return Path(given).resolve()


if __name__ == "__main__":
    sys.exit(main())
