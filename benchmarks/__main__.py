"""`python -m benchmarks [name ...] [--repeats N] [--json FILE]`: measure, and print a Markdown table."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from benchmarks.comparisons import COMPARISONS
from benchmarks.folders import all_runs
from benchmarks.table import Row, machine, markdown


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure both sides; print ratios.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(COMPARISONS)}; default: all")
    parser.add_argument("--repeats", type=int, default=3, help="how often each side is run; medians are kept")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there, too")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in COMPARISONS]
    if unknown:
        parser.error(f"unknown comparison {', '.join(unknown)}; choose from {', '.join(COMPARISONS)}")
    described = machine()
    rows: list[Row] = []
    for name in arguments.names or COMPARISONS:
        print(f"{name}: {COMPARISONS[name].__doc__}", file=sys.stderr, flush=True)
        with all_runs():
            rows += COMPARISONS[name](arguments.repeats)
    print(f"{described}\n\n{markdown(rows)}")
    if arguments.json:
        data = {
            "machine": described,
            "rows": [dataclasses.asdict(row) | {"ratio": row.ratio} for row in rows],
        }
        arguments.json.write_text(json.dumps(data, indent=2) + "\n")
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
