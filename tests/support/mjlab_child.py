"""The suite's environments in the interpreter that has mjlab, asked through pipes by a test in this one.

`python mjlab_child.py` reads pickled `(handle, method, arguments)` and answers `(error, value)`. Handle None makes an
environment from options. `Remote` is the other side.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]


class Remote:
    """A child of another interpreter. `call` raises RuntimeError with what the child raised."""

    def __init__(self, python: str):
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "host" / "src")])
        variables = {**os.environ, "PYTHONPATH": path}
        pipe = subprocess.PIPE
        self._child = subprocess.Popen([python, __file__], stdin=pipe, stdout=pipe, env=variables)

    def call(self, handle: int | None, method: str, *args: Any) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        send(self._child.stdin, (handle, method, args))
        error, value = receive(self._child.stdout)
        if error:
            raise RuntimeError(error)
        return value

    def close(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait()
        self._child.stdout.close()


def send(stream: Any, message: Any) -> None:
    data = pickle.dumps(message)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def receive(stream: Any) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError("the other side is gone")
    return pickle.loads(stream.read(struct.unpack("<Q", head)[0]))


def serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    envs: dict[int, Any] = {}
    while True:
        try:
            handle, method, args = receive(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = (None, made(envs, *args) if handle is None else asked(envs[handle], method, args))
        except Exception as error:
            answer = (f"{type(error).__name__}: {error}", None)
        send(answers, answer)


def made(envs: dict[int, Any], options: dict[str, Any], render: bool, worlds: int) -> tuple[int, dict[str, Any]]:
    from proctor.suites.mjlab.worlds import make

    env = make(SimpleNamespace(**options), render=render, worlds=worlds)
    envs[len(envs)] = env
    observed = {k: s.shape for k, s in getattr(env.observation_space, "spaces", {None: env.observation_space}).items()}
    facts = {"observed": observed, "acted": env.action_space.shape, "dt": env.action_dt_s, "limit": env.max_steps}
    return len(envs) - 1, {**facts, "worlds": getattr(env, "num_worlds", None)}


def asked(env: Any, method: str, args: tuple[Any, ...]) -> Any:
    answer = getattr(env, method)(*args)
    if method == "step":
        return {w: tuple(s) for w, s in answer.items()} if isinstance(answer, dict) else tuple(answer)
    return tuple(answer) if method == "step_columns" else answer


if __name__ == "__main__":
    serve()
