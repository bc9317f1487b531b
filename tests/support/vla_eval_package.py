"""The package vla-eval for tests: a stand-in of ours, and the real one where PROCTOR_VLA_EVAL_PYTHON names a Python
that has it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent
STAND_IN = SUPPORT / "vla_eval_dist"
MODELS = SUPPORT / "vla_eval_models.py"
PYTHON = "PROCTOR_VLA_EVAL_PYTHON"
KINDS = ("stand-in", "genuine")


def genuine_python() -> str:
    """The Python that has the real package; skips where there is none."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(f"{PYTHON} names no Python that has vla-eval")
    return python


def genuine_packages() -> str:
    """The folder of its packages; skips where they cannot be used from this Python."""
    asked = "import sys, sysconfig; print(sys.version_info[:2], sysconfig.get_path('purelib'), sep='\\n')"
    said = subprocess.run([genuine_python(), "-c", asked], capture_output=True, text=True, check=True)
    version, folder = said.stdout.splitlines()
    if version != str(sys.version_info[:2]):
        pytest.skip(f"vla-eval is in Python {version}, this is {sys.version_info[:2]}: their packages cannot be mixed")
    return folder


@contextlib.contextmanager
def model_server(model: str, kind: str, restarts: int = 0) -> Iterator[str]:
    """A model of vla_eval_models.py, served by the package in a process of its own; its address. A process that ends by
    itself is started again so many times."""
    python = sys.executable if kind == "stand-in" else genuine_python()
    server = _Server([python, str(MODELS), model, str(_free_port())], kind, restarts)
    try:
        server.wait_until_ready()
        yield f"ws://127.0.0.1:{server.command[-1]}"
    finally:
        server.stop()


class _Server:
    def __init__(self, command: list[str], kind: str, restarts: int):
        self.command, self._restarts, self._stopped = command, restarts, False
        path = {"PYTHONPATH": str(STAND_IN)} if kind == "stand-in" else {}
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self._environment = {**inherited, **path}
        self._process = self._start()
        self._watch = threading.Thread(target=self._attend)
        self._watch.start()

    def _start(self) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(self.command, env=self._environment, stdin=quiet, stdout=quiet, stderr=quiet)

    def _attend(self) -> None:
        while True:
            self._process.wait()
            if self._stopped or not self._restarts:
                return
            self._restarts -= 1
            self._environment["AGAIN"] = "1"
            self._process = self._start()

    def wait_until_ready(self) -> None:
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(self.command[-1])), 1):
                return
            assert self._process.poll() is None, f"{self.command} has ended"
            assert time.monotonic() < until, f"{self.command} does not listen"
            time.sleep(0.05)

    def stop(self) -> None:
        self._stopped = True
        self._process.kill()
        self._watch.join(30)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
