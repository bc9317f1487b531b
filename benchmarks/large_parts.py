"""The environment and the policy of `benchmarks.large_policy`, which keeps a log of its forwards."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from proctor.policies.protocol import Batch
from proctor.policies.waypoints import Leg, WaypointPlan
from proctor.suites.metaworld.waypoint_flow.cfg import NetCfg, TrunkCfg
from proctor.suites.metaworld.waypoint_flow.policy import Habits, Senses, WaypointFlowPolicy
from proctor_host.trials import Trial

EPISODE_STEPS = 256
STEP_S = 0.005
LEG_STEPS = 8

SIZES = {
    "large": NetCfg(
        image_size=128,
        tokens=32,
        planner=TrunkCfg(width=2048, depth=24, heads=16),
        expert=TrunkCfg(width=2048, depth=8, heads=16),
        denoiser_width=2048,
        denoiser_depth=12,
    ),
    "small": NetCfg(image_size=128),
}


class Scene(gymnasium.Env[Any, Any]):
    """A camera on nothing: `size` pixels square, other bytes at every step, 5 ms a step."""

    def __init__(self, size: int = 128, steps: int = EPISODE_STEPS):
        self.observation_space = Dict(
            {"image": Box(0, 255, (size, size, 3), np.uint8), "state": Box(-1.0, 1.0, (4,), np.float32)}
        )
        self.action_space = Box(-1.0, 1.0, (4,), np.float32)
        self.size, self.steps, self.count = size, steps, 0
        self.pixels = np.random.default_rng(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.count, self.pixels = 0, np.random.default_rng(seed)
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        time.sleep(STEP_S)
        self.count += 1
        return self.observe(), 0.0, False, self.count >= self.steps, {}

    def observe(self) -> Any:
        image = self.pixels.integers(0, 256, (self.size, self.size, 3), np.uint8)
        return {"image": image, "state": np.zeros(4, np.float32)}


if "Scene-v0" not in gymnasium.registry:
    gymnasium.register("Scene-v0", "benchmarks.large_parts:Scene", order_enforce=False, disable_env_checker=True)


@dataclass
class Log:
    """The forwards of all processes that have the policy: when they were under way, in seconds of `time.monotonic`,
    which the processes of a machine share, and of how many trials they were."""

    spans: list[tuple[float, float]] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    parameters: int = 0

    @classmethod
    def read(cls, folder: Path) -> Log:
        """What `Writer`s have noted there."""
        log = cls()
        for file in sorted(folder.glob("*.log")):
            head, *lines = file.read_text().splitlines(keepends=True)
            log.parameters = int(head)
            for line in (line for line in lines if line.endswith("\n")):
                stage, start, stop, rows = line.split()
                log.add(stage, (float(start), float(stop)), int(rows))
        return log

    def add(self, stage: str, span: tuple[float, float], rows: int) -> None:
        self.spans.append(span)
        self.stages.append(stage)
        self.rows.append(rows)

    def between(self, begin: float, end: float) -> Log:
        """The forwards that ended between two moments."""
        log = Log(parameters=self.parameters)
        for stage, (start, stop), rows in zip(self.stages, self.spans, self.rows, strict=True):
            if begin < stop <= end:
                log.add(stage, (max(start, begin), stop), rows)
        return log

    def asked(self, stage: str) -> int:
        """How many rows of trials a stage has answered."""
        return sum(rows for name, rows in zip(self.stages, self.rows, strict=True) if name == stage)

    def busy(self) -> float:
        """The share of the time from the first to the last in which at least one was under way."""
        covered, end = 0.0, -np.inf
        for start, stop in sorted(self.spans):
            covered += max(0.0, stop - max(start, end))
            end = max(end, stop)
        return covered / self.seconds()

    def seconds(self) -> float:
        return max(stop for _, stop in self.spans) - min(start for start, _ in self.spans)


class Writer:
    """Notes the forwards of this process, a line for each, in a file of its own. The first line has the parameters."""

    def __init__(self, folder: str, parameters: int):
        self._file = Path(folder, f"{os.getpid()}.log").open("w", buffering=1)  # noqa: SIM115 - as long as the policy
        self._file.write(f"{parameters}\n")

    def forward(self, stage: str, started: float, batch: Batch) -> None:
        """One has ended. Rows that pad a batch repeat a trial."""
        rows = len({id(trial) for trial in batch.trials})
        self._file.write(f"{stage} {started!r} {time.monotonic()!r} {rows}\n")


class LargePolicy(WaypointFlowPolicy):
    """Random weights; every plan has legs of 8 steps, whatever the network says. Forwards are noted in `folder`."""

    def __init__(self, size: str, rows: int, folder: str, device: str = "cpu"):
        import torch

        from proctor.suites.metaworld.waypoint_flow.nets import Nets

        torch.manual_seed(0)
        with torch.device(device):
            nets = Nets(SIZES[size]).to(torch.bfloat16).eval()
        senses = Senses("image", "state", lambda task: "put the thing where it belongs")
        super().__init__(nets, senses, Habits(waypoints=nets.cfg.waypoints))
        self._warm_up(rows)
        self._writer = Writer(folder, sum(parameter.numel() for parameter in nets.parameters()))

    def _warm_up(self, rows: int) -> None:
        """One forward of each stage, as large as those to come."""
        trials = [Trial("large", "scene", row, row) for row in range(rows)]
        size, words = self.nets.cfg.image_size, self.nets.cfg.tokens
        seen = {"image": np.zeros((rows, size, size, 3), np.uint8), "state": np.zeros((rows, 4), np.float32)}
        tokens = np.zeros((rows, words), np.int64)
        batch = Batch(seen, None, [trial.policy_rng() for trial in trials], trials, tokens, tokens == 0)
        still = np.zeros((rows, 4))
        super().plan(batch)
        super().act(Leg(**vars(batch), start=still, end=still, duration=np.full(rows, LEG_STEPS)))

    def plan(self, batch: Batch) -> WaypointPlan:
        started = time.monotonic()
        plan = super().plan(batch)
        self._writer.forward("plan", started, batch)
        return replace(plan, durations=np.full(plan.durations.shape, LEG_STEPS))

    def act(self, batch: Leg) -> np.ndarray:
        started = time.monotonic()
        actions = super().act(batch)
        self._writer.forward("act", started, batch)
        return actions
