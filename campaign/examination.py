"""The examinations that are disturbed, and the undisturbed ones that they must equal."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

N_TRIALS = 8
BASE_SEED = 1000
LIMITS = {"step_s": 2.0, "reset_s": 4.0, "act_s": 3.0, "retries": 4}


@dataclass(frozen=True)
class Layout:
    """How an examination is run. Results must not depend on it."""

    workers: int | str
    num_parallel: int
    placement: str
    videos: bool = False

    @property
    def apart(self) -> bool:
        """Whether environments live in processes of their own, which may die alone."""
        return self.workers != "inline"

    @classmethod
    def draw(cls, rng: random.Random) -> Layout:
        workers = rng.choice(["inline", 1, 2, 2, 3])
        return cls(workers, rng.choice([1, 3, 8]), rng.choice(["engine", "worker"]))


UNDISTURBED = Layout("inline", 1, "engine")


@dataclass(frozen=True)
class Examination:
    """What is examined: `url` is where the agent `served` is asked, None leaves it out."""

    url: str | None = None

    def config(self, layout: Layout, output_root: Path) -> dict[str, Any]:
        def agent(name: str, policy: str) -> dict[str, Any]:
            return {"name": name, "policy": f"campaign.subject:{policy}", "options": {"placement": layout.placement}}

        agents = [agent("steady", "Steady"), agent("moody", "Moody"), agent("faulty", "Faulty")]
        if self.url is not None:
            agents.append({"name": "served", "policy": "remote", "options": {"url": self.url, "reconnect_s": 20.0}})
        return {
            "name": "campaign",
            "agents": agents,
            "tasks": [_task("slow", 0.002), _task("quick", 0.0)],
            "n_trials": N_TRIALS,
            "base_seed": BASE_SEED,
            "num_parallel": layout.num_parallel,
            "workers": layout.workers,
            "limits": LIMITS,
            "scoring": "success",
            "record": {"level": "series", "observations": True},
            "output_root": str(output_root),
        }

    def write(self, layout: Layout, folder: Path) -> Path:
        """The config as a file in `folder`, with runs under `folder/runs`."""
        path = folder / "examination.json"
        path.write_text(json.dumps(self.config(layout, folder / "runs"), indent=2))
        return path


def _task(name: str, nap_s: float) -> dict[str, Any]:
    options = {"id": "campaign.subject:CampaignWalk-v0", "kwargs": {"nap_s": nap_s}}
    return {"suite": "gymnasium", "name": name, "options": options}


def seeds() -> range:
    """The seeds of the trials."""
    return range(BASE_SEED, BASE_SEED + N_TRIALS)
