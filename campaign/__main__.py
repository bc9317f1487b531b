"""`python -m campaign`: strike runs, fuzz configs, damage files, run very many trials; print what came of it."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from campaign.clusters import disturb
from campaign.endless import growth
from campaign.faults import Schedule
from campaign.fuzzing import fuzz
from campaign.places import ROOT
from campaign.smalldisk import may_mount
from campaign.struck import strike
from campaign.tally import Tally

SHORT = {"faults": 90, "configs": 150, "files": 40, "trials": 10_000, "clusters": 0}
"""What is tried where nothing else is asked for."""
SHORT_FIRST = 227
"""Its first seed: the three schedules that are enough for so many faults hold every kind of fault."""
SHOWN = 20
"""How many troubles are printed; the others are in the file."""


def main() -> int:
    arguments = _arguments()
    wanted = {name: getattr(arguments, name) for name in SHORT}
    if all(count is None for count in wanted.values()):
        wanted = dict(SHORT)
        arguments.first = SHORT_FIRST if arguments.first is None else arguments.first
    first = arguments.first or 0
    folder = arguments.folder.resolve()
    if not arguments.keep:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    began, tally, lines = time.monotonic(), Tally(), []
    if count := wanted["faults"]:
        tally.add(strike(count, first, folder, arguments.jobs, arguments.keep, _told))
        if not may_mount():
            lines.append("This process may not mount a disk: `small disk` was not tried.")
    for kind in ("configs", "files"):
        if count := wanted[kind]:
            tally.add(fuzz(kind, count, first, folder, arguments.jobs, _progress))
    if count := wanted["clusters"]:
        tally.add(disturb(count, folder))
    if count := wanted["trials"]:
        found, line = growth(count, folder / "endless")
        tally.add(found)
        lines.append(line)
    _write(folder, tally, lines, time.monotonic() - began)
    return 1 if tally.troubles else 0


def _write(folder: Path, tally: Tally, lines: list[str], seconds: float) -> None:
    """Print the table and the first troubles; keep everything in the folder."""
    head = f"{_commit()}, {seconds / 60:.1f} minutes"
    text = "\n\n".join([head, tally.table(), *lines])
    (folder / "table.md").write_text(text + "\n")
    (folder / "troubles.json").write_text(json.dumps([asdict(trouble) for trouble in tally.troubles], indent=2))
    print(f"\n{text}\n")
    for trouble in tally.troubles[:SHOWN]:
        print(f"{trouble.what}: {trouble.detail}\n  again: {trouble.again}\n")
    if len(tally.troubles) > SHOWN:
        print(f"{len(tally.troubles) - SHOWN} more in {folder / 'troubles.json'}")


def _told(schedule: Schedule, found: Tally, total: int) -> None:
    layout = schedule.layout
    print(
        f"schedule {schedule.seed}: workers {layout.workers}, {layout.num_parallel} at once, {layout.placement}: "
        f"{found.tried.total()} faults ({total} in all), {len(found.troubles)} troubles",
        file=sys.stderr, flush=True,
    )  # fmt: skip


def _progress(kind: str, tally: Tally) -> None:
    print(f"{kind}: {tally.tried.total():,} tried, {len(tally.troubles)} troubles", file=sys.stderr, flush=True)


def _commit() -> str:
    found = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return f"commit {found.stdout.strip() or 'unknown'}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m campaign",
        description="Break examinations in every way, and see that nothing is lost or changed. "
        "Without options: a short part of everything.",
    )
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--faults", **number, help="strike runs until so many faults have struck")
    parser.add_argument("--configs", **number, help="check so many fuzzed configs")
    parser.add_argument("--files", **number, help="read so many damaged files")
    parser.add_argument("--trials", **number, help="run so many short trials, and watch memory and handles")
    parser.add_argument("--clusters", **number, help="try so many schedules of faults on simulated nodes of Ray")
    parser.add_argument("--first", type=int, metavar="SEED", help="the first seed; default: 0")
    parser.add_argument(
        "--jobs",
        type=int,
        default=4,
        metavar="N",
        help="how many runs at a time; default: 4, since most of a run is waiting",
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep the folders of all runs, not only of those with trouble"
    )
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "results" / "campaign", help="where it works; is emptied first"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
