"""Policies of a planner and an expert. Configs name this file by its path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from proctor import Actions, Batch, Trial
from proctor.policies.noise import torch_normal
from proctor.policies.padding import LeftPad
from proctor.policies.protocol import Stage
from proctor.policies.waypoints import Leg, WaypointCfg, WaypointPlan, WaypointPolicy

PLANNERS = Path(__file__)
WAYPOINTS, DIM, ACTION, HORIZON = 4, 3, 2, 8


def agent(name: str, **options: Any) -> dict[str, Any]:
    return {"name": name.lower(), "policy": f"{PLANNERS}:{name}", "options": options}


class Scripted(WaypointPolicy):
    """Plans with these durations, all for every row; `lengths` are the lengths of its plans, one after the other, the
    last for ever (None: whole). The memory counts plans. Actions are (leg's duration, number of the plan) / 100."""

    def __init__(
        self, durations: Sequence[float] = (3, 2), lengths: Sequence[int | None] = (None,), horizon: int = HORIZON,
        execute_steps: int | None = None,
    ):  # fmt: skip
        super().__init__(WaypointCfg(WAYPOINTS, 1, execute_steps=execute_steps))
        self.durations, self.lengths, self.horizon = list(durations), list(lengths), horizon

    def memory(self, trials: Sequence[Trial]) -> np.ndarray:
        return np.zeros(len(trials), np.int64)

    def plan(self, batch: Batch) -> WaypointPlan:
        n, k = len(batch), len(self.durations)
        given = [self.lengths[min(count, len(self.lengths) - 1)] for count in batch.state.tolist()]
        waypoints = np.tile(np.arange(1.0, k + 1)[None, :, None], (n, 1, 1))
        lengths = np.array([k if length is None else length for length in given])
        return WaypointPlan(waypoints, np.tile(self.durations, (n, 1)), np.full((n, 1), 0.5), lengths, batch.state + 1)

    def act(self, batch: Leg) -> Actions:
        pair = np.stack([batch.duration, batch.state], axis=1) / 100
        return Actions(np.repeat(pair[:, None], self.horizon, axis=1), batch.state)


class Flowing(WaypointPolicy):
    """Small torch networks, started from noise: the planner is told the task's name letter by letter, the expert sees
    the planner's features."""

    def __init__(self, device: str = "cpu"):
        import torch

        stages = (Stage("plan", pad_to=4, tokens=LeftPad(12)), Stage("act", tokens=LeftPad(8)))
        super().__init__(WaypointCfg(WAYPOINTS, DIM, execute_steps=5, plan=stages[0], act=stages[1]))
        generator = torch.Generator().manual_seed(3)
        self.device = device

        def layer(inputs: int, outputs: int) -> Any:
            return torch.randn((inputs, outputs), generator=generator) / inputs**0.5

        self.planner = layer(6 + 12 + WAYPOINTS * DIM, 48), layer(48, WAYPOINTS * (DIM + 1))
        self.expert = layer(6 + 8 + 2 * DIM + 1 + 16 + HORIZON * ACTION, 48), layer(48, HORIZON * ACTION)

    def tokens(self, trial: Trial) -> list[int]:
        return [ord(letter) for letter in trial.task]

    def memory(self, trials: Sequence[Trial]) -> dict[str, np.ndarray]:
        return {"features": np.zeros((len(trials), 16), np.float32)}

    def plan(self, batch: Batch) -> WaypointPlan:
        import torch

        x = torch_normal(batch, (WAYPOINTS * DIM,), self.device)
        seen = torch.tensor(batch.observation)
        hidden = torch.tanh(torch.cat([seen, self._words(batch), x], 1) @ self.planner[0])
        out = (hidden @ self.planner[1]).reshape(len(batch), WAYPOINTS, DIM + 1)
        durations = (3 * out[..., 0] + 2).numpy()
        return WaypointPlan(
            out[..., 1:].numpy(), durations, batch.observation[:, :DIM], state={"features": hidden[:, :16]}
        )

    def act(self, batch: Leg) -> np.ndarray:
        import torch

        x = torch_normal(batch, (HORIZON * ACTION,), self.device)
        way = np.concatenate([batch.start, batch.end, batch.duration[:, None]], 1).astype(np.float32)
        given = [batch.observation, way, batch.state["features"]]
        fixed = torch.cat([torch.tensor(np.asarray(part)) for part in given] + [self._words(batch)], 1)
        for _ in range(3):
            x = x + torch.tanh(torch.cat([fixed, x], 1) @ self.expert[0]) @ self.expert[1] / 3
        return torch.tanh(x).reshape(len(batch), HORIZON, ACTION).numpy()

    def _words(self, batch: Batch) -> Any:
        import torch

        return torch.tensor(np.where(batch.token_mask, batch.tokens, 0)).float() / 128
