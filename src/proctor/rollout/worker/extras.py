"""What a worker of the engine's own interpreter has beside `proctor_host`: suites, metrics, an encoder, policies."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from proctor import metrics, suites
from proctor.record.video import VideoWriter
from proctor.rollout.worker.policies import LocalPolicies
from proctor.threads import pinned
from proctor_host.cfg import TaskCfg
from proctor_host.episode import Episode
from proctor_host.extras import Extras
from proctor_host.host import Host
from proctor_host.task import Task

HERE = f"{__name__}:EngineExtras"
"""How a worker process of this interpreter finds them."""


class EngineExtras(Extras):
    """Everything that Proctor has."""

    measures = True

    def make(self, task: TaskCfg, render: bool, worlds: int) -> Any:
        return suites.make_env(task.suite, task.options, render=render, worlds=worlds)

    def check(self, task: Task) -> None:
        """Whatever a space is, its observations can be sent to another process of this interpreter."""

    def measure(self, episode: Episode) -> dict[str, float | None]:
        return metrics.compute(episode, tuple(self.cfg.metrics))

    def film(self, folder: Path | None, stem: str, fps: float) -> VideoWriter:
        assert folder is not None
        return VideoWriter(folder / "videos" / f"{stem}.mp4", fps, poster=True)

    def policies(self, host: Host) -> LocalPolicies:
        return LocalPolicies(host)

    def pinned(self) -> AbstractContextManager[Any]:
        return pinned()
