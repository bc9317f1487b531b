"""The server of the agent `served`, on loopback: started, killed, and started again at the same port."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from pathlib import Path

from campaign.examination import UNDISTURBED, Examination
from campaign.places import environment

STARTUP_S = 60.0


class Server:
    """`proctor serve` with the policy `Moody`."""

    def __init__(self, folder: Path):
        self.port, self.folder = _free_port(), folder
        folder.mkdir(parents=True, exist_ok=True)
        config = Examination().config(UNDISTURBED, folder / "none")
        config["agents"] = [{"name": "served", "policy": "campaign.subject:Moody"}]
        self.config = folder / "served.json"
        self.config.write_text(json.dumps(config))
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-P", "-m", "proctor", "serve", str(self.config), "--port", str(self.port)]
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment()
            )
        until = time.monotonic() + STARTUP_S
        while not _listens(self.port):
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError(f"the server did not start; see {self.folder / 'server.log'}")
            time.sleep(0.05)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0
