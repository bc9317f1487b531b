"""The vla-eval side of the comparisons, run in an environment of its own; needs nothing of Proctor.

    python vla_eval_side.py overhead|images|images_raw|batching
    python vla_eval_side.py parallel SHARDS

Prints one JSON line: the steps per second of every configuration that was tried; the caller keeps the best.
None of them saves anything (`no_save`), though vla-eval records to SQLite by default.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import vla_eval
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.model_servers.base import ModelServer
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.protocol import numpy_codec

EPISODE_STEPS = 200
FORWARD_S = 0.020


def camera_frame() -> np.ndarray:
    """A smooth picture, 256 x 256 RGB: kind to compression. The same as in benchmarks/envs.py."""
    y, x = np.mgrid[0:256, 0:256]
    return np.stack([x, y, (x + y) // 2], axis=-1).astype(np.uint8)


class TrivialBenchmark(StepBenchmark):
    """The environment of benchmarks/envs.py: counts its steps and ends after `EPISODE_STEPS`."""

    def __init__(self, images: bool = False) -> None:
        super().__init__()
        self.frame = camera_frame() if images else None
        self.count = 0

    def get_tasks(self) -> list[dict[str, Any]]:
        return [{"name": "trivial", "suite": "trivial"}]

    def reset(self, task: Any) -> np.ndarray:
        self.count = 0
        return np.zeros(8, np.float32)

    def step(self, action: Any) -> StepResult:
        self.count += 1
        return StepResult(np.full(8, self.count, np.float32), 1.0, self.count >= EPISODE_STEPS, {})

    def make_obs(self, raw_obs: Any, task: Any) -> dict[str, Any]:
        if self.frame is None:
            return {"state": raw_obs}
        return {"images": {"front": self.frame, "wrist": self.frame}}

    def get_step_result(self, step_result: StepResult) -> dict[str, Any]:
        return {"success": True}


class Served:
    """When each session of a server came, and (time, rows) of every forward."""

    def __init__(self) -> None:
        self.sessions: dict[str, float] = {}
        self.forwards: list[tuple[float, int]] = []

    def note(self, contexts: list[Any]) -> None:
        now = time.perf_counter()
        self.forwards.append((now, len(contexts)))
        for context in contexts:
            self.sessions.setdefault(context.session_id, now)

    def rate(self, until: float) -> float:
        """Rows per second from when the last session came."""
        since = max(self.sessions.values())
        return sum(rows for when, rows in self.forwards if since < when <= until) / (until - since)


class PredictServer(PredictModelServer):
    """The usual way to serve a model."""

    def __init__(self) -> None:
        super().__init__()
        self.served = Served()

    def predict(self, obs: Any, ctx: Any) -> dict[str, Any]:
        self.served.note([ctx])
        return {"actions": np.zeros(4, np.float32)}


class AsyncServer(ModelServer):
    """The base class "for advanced use cases": answers on the event loop, without a thread."""

    async def on_observation(self, obs: Any, ctx: Any) -> None:
        await ctx.send_action({"actions": np.zeros(4, np.float32)})


class SleepyServer(PredictModelServer):
    """20 ms per forward whatever the batch."""

    def __init__(self, max_wait_time: float, max_batch_size: int = 16) -> None:
        super().__init__(max_batch_size=max_batch_size, max_wait_time=max_wait_time)
        self.served = Served()

    def predict_batch(self, obs_batch: list[Any], ctx_batch: list[Any]) -> list[dict[str, Any]]:
        self.served.note(ctx_batch)
        time.sleep(FORWARD_S)
        return [{"actions": np.zeros(4, np.float32)} for _ in obs_batch]


def config(episodes: int, images: bool) -> dict[str, Any]:
    entry = {
        "benchmark": "vla_eval_side:TrivialBenchmark",
        "episodes_per_task": episodes,
        "max_steps": EPISODE_STEPS,
        "params": {"images": images},
    }
    return {"benchmarks": [entry], "output_dir": tempfile.mkdtemp()}


def evaluate(server: ModelServer, episodes: int, images: bool = False) -> float:
    """Steps per second of `vla_eval.evaluate`, from a short and a long run: start-up cancels out."""
    short = max(1, episodes // 10)
    seconds = []
    for n in (short, episodes):
        started = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            vla_eval.evaluate(server, config(n, images), docker=False, no_save=True)
        seconds.append(time.perf_counter() - started)
    return (episodes - short) * EPISODE_STEPS / (seconds[1] - seconds[0])


def sharded(server: PredictServer | SleepyServer, shards: int, images: bool = False, episodes: int = 2) -> float:
    """Steps per second of shard processes on one server, so many episodes each, while all of them are at work."""
    with vla_eval.serve_background(server) as handle, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps({**config(episodes * shards, images), "server": {"url": handle.url}}))
        processes = [_shard(path, i, shards) for i in range(shards)]
        while all(process.poll() is None for process in processes):
            time.sleep(0.02)
        first_left = time.perf_counter()
        for process in processes:
            process.wait()
    if len(server.served.sessions) != shards:
        raise RuntimeError(f"{len(server.served.sessions)} of {shards} vla-eval shards reached the server")
    return server.served.rate(first_left)


def _shard(config_path: Path, shard: int, shards: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "vla_eval.cli.main", "run", "--config", str(config_path), "--no-docker"]
    command += ["--no-save", "--shard-id", str(shard), "--num-shards", str(shards)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def overhead() -> dict[str, float]:
    return {
        "evaluate with PredictModelServer": evaluate(PredictServer(), 22),
        "evaluate with ModelServer on the event loop": evaluate(AsyncServer(), 33),
    }


def images() -> dict[str, float]:
    """As any config of it sends pictures, which is PNG."""
    return {
        "evaluate": evaluate(PredictServer(), 4, images=True),
        "2 shards": sharded(PredictServer(), 2, images=True),
    }


def images_raw() -> dict[str, float]:
    """Uncompressed, by a function of its codec that no config reaches."""
    numpy_codec.set_image_format("raw")
    return {"evaluate with raw images": evaluate(PredictServer(), 11, images=True)}


def batching() -> dict[str, float]:
    return {f"16 shards, max_wait_time {s:g} s": sharded(SleepyServer(s), 16) for s in (0.01, 0.05)}


def parallel(shards: str) -> dict[str, float]:
    """As a server is by default, which is one observation at a time, and batched."""
    count = int(shards)
    alone = sharded(SleepyServer(0.01, max_batch_size=1), count, episodes=1)
    batched = {f"batched, max_wait_time {s:g} s": sharded(SleepyServer(s, max(count, 2)), count) for s in (0.01, 0.05)}
    return {"default": alone, **batched}


PARTS = {
    "overhead": overhead, "images": images, "images_raw": images_raw, "batching": batching, "parallel": parallel,
}  # fmt: skip

if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
