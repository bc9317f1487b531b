"""A viewer over folders, in a thread; and runs for it to show."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from examining import TOYS, examination

from proctor.view.places import Places

T = TypeVar("T")


class Served:
    """A viewer that answers at `port` of the loopback address."""

    def __init__(self, port: int):
        self.port, self.url = port, f"http://127.0.0.1:{port}"

    def ask(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        """An answer, whatever its status; names of headers have _ for -."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        answer.body = answer.read()  # type: ignore[attr-defined]
        connection.close()
        return answer

    def get(self, path: str) -> Any:
        """JSON of an answer that is as it should be."""
        answer = self.ask(path)
        assert answer.status == 200, (answer.status, answer.body)  # type: ignore[attr-defined]
        return json.loads(answer.body)  # type: ignore[attr-defined]

    def refused(self, path: str) -> str:
        """What is said where something cannot be had."""
        answer = self.ask(path)
        assert answer.status == 404
        return json.loads(answer.body)["error"]  # type: ignore[attr-defined]


@contextmanager
def viewer(*folders: Path, token: str | None = None, trust: bool = False) -> Iterator[Served]:
    """A viewer over these folders while the block runs."""
    import socket

    import uvicorn

    from proctor.view.app import make_app

    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    app = make_app(Places(list(folders)), token=token, trust=trust)
    config = uvicorn.Config(app, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield Served(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(20)
        bound.close()


SLOWLY = """
import json, sys
from proctor import config_from_dict, run_evaluation
run_evaluation(config_from_dict(json.loads(sys.argv[1])))
"""


class Started:
    """A run that another process works on."""

    def __init__(self, process: subprocess.Popen[bytes], root: Path):
        self._process, self.pid = process, process.pid
        self.run = until(lambda: [path for path in root.iterdir() if (path / "live.json").exists()])[0]

    def kill(self) -> None:
        """Without a word, with all its workers."""
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def starting(root: Path, **kwargs: Any) -> Iterator[Started]:
    """A run below this folder that takes a while: every step waits. `kwargs` go to its environment."""
    task = {
        "suite": "gymnasium",
        "name": "toy",
        "options": {"id": f"{TOYS}:Toy-v0", "kwargs": {"nap_s": 0.005, **kwargs}},
    }
    keys = {"tasks": [task], "n_trials": 2000, "num_parallel": 2, "workers": 1, "name": "going on"}
    root.mkdir(exist_ok=True)
    command = [sys.executable, "-c", SLOWLY, json.dumps(examination(root, **keys))]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        found = Started(process, root)
        yield found
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(found: Callable[[], T], seconds: float = 60.0) -> T:
    """What is found, once it is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"it did not come within {seconds:.0f} s")


def large_run(folder: Path, trials: int) -> Path:
    """A run folder with so many trials that nobody has run, as the benchmarks have it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2]))
        from benchmarks.report_scale import made_up

        return made_up(folder, trials)


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below a folder, with its time, size and bytes."""
    files = [Path(root, name) for root, _, names in os.walk(folder) for name in names]
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size, path.read_bytes())
        for path in files
    }
