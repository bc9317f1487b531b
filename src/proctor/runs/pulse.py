"""What a run says of itself while it goes on, for whoever looks at its folder: `live.json`.

Every two seconds, at most: progress, batch sizes, where the time goes, workers, memory. The file is replaced whole, and
removed when a session ends by itself, since the ledger then has the same; one that is left over is the last sign of a
session that was killed. A disk that does not take it costs nothing: whatever else is written tells of the disk.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from proctor.record.files import replacing
from proctor.rollout.engine import Engine
from proctor.rollout.progress import Observer, Progress, node_numbers

NAME = "live.json"
EVERY_S = 2.0


class Pulse:
    """An observer of an engine that writes `live.json` into the run's folder, ahead of another observer."""

    def __init__(self, folder: Path, engine: Engine, then: Observer | None):
        self._path, self._engine, self._then = folder / NAME, engine, then
        self._due = 0.0

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + EVERY_S
            with suppress(OSError), replacing(self._path) as path:
                path.write_text(json.dumps(self._said(progress)))
        if self._then is not None:
            self._then(progress)

    def end(self) -> None:
        """The session has ended by itself."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _said(self, progress: Progress) -> dict[str, Any]:
        engine, lanes = self._engine, self._engine.forwards()
        return {
            "at": round(time.time(), 3),
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "phase": progress.phase,
            "waits_for": progress.waits_for,
            "planned": progress.planned,
            "done": progress.done,
            "done_before": progress.done_before,
            "running": progress.running,
            "retried": progress.retried,
            "steps": progress.steps,
            "seconds": round(progress.seconds, 3),
            "batching": {
                agent: {
                    stage: {"forwards": stats.forwards, "rows": stats.rows, "seconds": round(stats.seconds, 3)}
                    for stage, stats in stages.items()
                }
                for agent, stages in lanes.items()
            },
            "spent": engine.account.seconds([stats for stages in lanes.values() for stats in stages.values()]),
            "workers": engine.workers(),
            "nodes": node_numbers(progress),
            "memory_bytes": memory_bytes(),
        }


def memory_bytes() -> int | None:
    """What this process and all that it has started have in memory, what they share counted for each; None where the
    system does not say."""
    page, held, todo = os.sysconf("SC_PAGE_SIZE"), 0, [os.getpid()]
    while todo:
        number = todo.pop()
        with suppress(OSError, IndexError, ValueError):
            held += int(Path(f"/proc/{number}/statm").read_text().split()[1]) * page
            for thread in os.listdir(f"/proc/{number}/task"):
                todo += map(int, Path(f"/proc/{number}/task/{thread}/children").read_text().split())
    return held or None
