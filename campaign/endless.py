"""Very many short trials in one run: memory and open handles must not grow with them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

from campaign.tally import Tally, Trouble

GROWTH_MIB = 8.0
"""How much memory the later half of the trials may take beyond the first half."""


class Blink(gymnasium.Env[Any, Any]):
    """Over after one step."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = Box(-1, 1, (2,), np.float32), Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}

    def step(self, action: Any) -> Any:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), 1.0, True, False, {"success": True}


if "CampaignBlink-v0" not in gymnasium.registry:
    gymnasium.register("CampaignBlink-v0", lambda **_: Blink(), disable_env_checker=True, order_enforce=False)


@dataclass(frozen=True)
class Sample:
    trials: int
    memory_mib: float
    handles: int


def growth(trials: int, folder: Path) -> tuple[Tally, str]:
    """Run so many trials; the trouble, if memory or handles grew, and a sentence with the figures."""
    began = time.monotonic()
    while_running = [sample for sample in run(trials, folder) if 0 < sample.trials < trials]
    shutil.rmtree(folder)
    tally = Tally()
    tally.tried["short trials"] += trials
    if len(while_running) < 4:
        return tally, f"{trials:,} short trials: over before memory could be watched."
    middle = len(while_running) // 2
    early, late = (_most(part) for part in (while_running[:middle], while_running[middle:]))
    sentence = (
        f"{trials:,} short trials in {time.monotonic() - began:.0f} s: at most {early.memory_mib:.1f} MiB and "
        f"{early.handles} handles in the first half, {late.memory_mib:.1f} MiB and {late.handles} in the second."
    )
    if late.memory_mib > early.memory_mib + GROWTH_MIB or late.handles > early.handles:
        again = f"python -m campaign --trials {trials}"
        tally.troubles.append(Trouble("unexplained", ("short trials",), f"something grows: {sentence}", again))
    return tally, sentence


def _most(samples: list[Sample]) -> Sample:
    return Sample(
        samples[-1].trials, max(sample.memory_mib for sample in samples), max(sample.handles for sample in samples)
    )


def run(trials: int, folder: Path) -> list[Sample]:
    """Run so many trials in this process; samples of memory and handles on the way."""
    from proctor import config_from_dict, run_evaluation

    config = {
        "name": "endless", "agents": [{"name": "zero", "policy": "zero"}],
        "tasks": [{"suite": "gymnasium", "name": "blink", "options": {"id": "campaign.endless:CampaignBlink-v0"}}],
        "n_trials": trials, "num_parallel": 64, "workers": "inline", "record": "summary", "scoring": "success",
        "output_root": str(folder),
    }  # fmt: skip
    samples: list[Sample] = []
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(folder, samples, ended), daemon=True)
    watcher.start()
    try:
        run_evaluation(config_from_dict(config))
    finally:
        ended.set()
        watcher.join()
    return samples


def _watch(folder: Path, samples: list[Sample], ended: threading.Event) -> None:
    while not ended.wait(0.25):
        found = list(folder.glob("*/ledger.sqlite"))
        if not found:
            continue
        db = sqlite3.connect(f"file:{found[0]}?mode=ro", uri=True, timeout=5.0)
        try:
            done = db.execute("SELECT count(*) FROM trials WHERE state = 'done'").fetchone()[0]
        except sqlite3.Error:
            continue
        finally:
            db.close()
        samples.append(Sample(done, memory_mib(), len(os.listdir("/proc/self/fd"))))


def memory_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
