"""Hosts on the loopback address, as processes of their own, and environments that they serve."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

GYMNASIUM = "proctor.suites.gymnasium.making:make"
TOKEN = "0123456789abcdef0123456789abcdef"


class Host:
    """`proctor-host serve`, which has said where it listens."""

    def __init__(self, folder: Path, *arguments: str, entry: str = GYMNASIUM, port: int = 0, token: str = TOKEN):
        self.token_file = folder / "token"
        self.token_file.write_text(token)
        line = [sys.executable, "-m", "proctor_host", "serve", entry, "--address", f"127.0.0.1:{port}"]
        self.log = folder / "host.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*line, "--token-file", str(self.token_file), *arguments],
                stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        self.port = int(self.said.split(" with ")[0].rpartition(":")[2])

    @property
    def runtime(self) -> dict[str, Any]:
        return {"address": f"127.0.0.1:{self.port}", "token_file": str(self.token_file)}

    def kill(self) -> None:
        """As a machine that goes dark."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=60)
        return self.process.returncode


Serve = Callable[..., Host]

WORLDS = f"{Path(__file__).with_name('served_worlds.py')}:make"


def world(host: Host, **options: Any) -> dict[str, Any]:
    """A task with the environment of `served_worlds.py` that this host serves."""
    return {"suite": "served", "name": "world", "options": options, "runtime": host.runtime}
