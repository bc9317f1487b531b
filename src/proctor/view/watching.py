"""A run's page stays current by server-sent events: a whole summary whenever something has changed.

The run's files are looked at once a second, which costs the run nothing; they are read when they have changed, and
then not again for two hundred times as long as that took (`snapshot.SHARE`). In between there is what the run says of
itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from proctor.errors import InputError
from proctor.view.snapshot import SHARE
from proctor.view.states import is_running, pulse_of, state_of

EVERY_S, ALIVE_S = 1.0, 15.0


async def watched(viewer: Any, name: str, aside: Callable[..., Any]) -> AsyncIterator[bytes]:
    """Events `run` with the summary, `pulse` with what the run says of itself, `gone` with a sentence, and a comment
    now and then, so that a connection that has ended is noticed."""
    seen: Any = None
    beat: Any = None
    due = quiet_s = 0.0
    while True:
        try:
            path = await aside(lambda: viewer.places.run(name))
            found = pulse_of(path)
            if time.monotonic() >= due or not is_running(path):
                began = time.monotonic()
                now = await aside(lambda: _signs(viewer.places.run(name), viewer.snapshot(name).signature))
                if now != seen:
                    seen, beat, quiet_s = now, found, 0.0
                    yield _event("run", await aside(lambda: viewer.run(name)))
                due = began + (time.monotonic() - began) / SHARE
            elif found is not None and found != beat:
                beat = found
                yield _event("pulse", found)
        except InputError as error:
            yield _event("gone", {"error": str(error)})
            return
        except Exception as error:
            yield _event("problem", {"error": f"{type(error).__name__}: {error}"})
        if quiet_s >= ALIVE_S:
            quiet_s = 0.0
            yield b": alive\n\n"
        await asyncio.sleep(EVERY_S)
        quiet_s += EVERY_S


def _signs(path: Path, signature: Any) -> Any:
    """What has to stay the same for the page to be current."""
    beats = []
    for name in ("live.json", "lock", "report.json"):
        try:
            stat = os.stat(path / name)
            beats.append((stat.st_mtime_ns, stat.st_size))
        except OSError:
            beats.append(None)
    return signature, tuple(beats), state_of(path, 1, 0).get("state")


def _event(kind: str, data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, allow_nan=False, separators=(',', ':'))}\n\n".encode()
