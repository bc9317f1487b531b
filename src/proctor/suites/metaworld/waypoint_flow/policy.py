"""The policy: stage `plan` asks the planner, stage `act` the expert, for rows of many trials at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.policies.noise import torch_normal
from proctor.policies.padding import LeftPad
from proctor.policies.protocol import Batch, Stage
from proctor.policies.waypoints import ACT, PLAN, Leg, WaypointCfg, WaypointPlan, WaypointPolicy
from proctor.suites.metaworld.waypoint_flow.cfg import STATE_DIM, from_net, to_net, word_tokens
from proctor_host.trials import Trial

if TYPE_CHECKING:
    from proctor.suites.metaworld.waypoint_flow.nets import Nets


@dataclass(frozen=True)
class Senses:
    """What the policy looks at: the observation's entries with the camera's image (rows, S, S, 3) uint8 and with the
    robot's state (rows, at least 4), and the instruction of each task."""

    image: str
    state: str
    instruction: Callable[[str], str]


@dataclass(frozen=True)
class Habits:
    """How the policy acts. `waypoints`: how many of those that the planner sees it goes to before it plans again;
    `shortest`: steps that the first one gets at least, so that there is always a plan; `execute_steps`: of a chunk,
    before the expert looks again."""

    waypoints: int = 2
    shortest: int = 4
    execute_steps: int | None = None


class WaypointFlowPolicy(WaypointPolicy):
    """Waypoints are end effector x, y, z in metres and gripper opening; actions are clipped to [-1, 1]."""

    def __init__(self, nets: Nets, senses: Senses, habits: Habits | None = None):
        self.nets, self.senses, self.habits = nets, senses, habits or Habits()
        first = next(nets.parameters())
        self.device, self.dtype = first.device, first.dtype
        self._ask_planner, self._ask_expert = _forwards(nets)
        rule = LeftPad(nets.cfg.tokens)
        super().__init__(
            WaypointCfg(
                waypoints=min(self.habits.waypoints, nets.cfg.waypoints),
                waypoint_dim=STATE_DIM,
                max_duration=nets.cfg.chunk,
                execute_steps=self.habits.execute_steps,
                plan=Stage(PLAN, tokens=rule),
                act=Stage(ACT, tokens=rule),
            )
        )

    def tokens(self, trial: Trial) -> list[int]:
        return word_tokens(self.senses.instruction(trial.task), self.nets.cfg.vocabulary)

    def plan(self, batch: Batch) -> WaypointPlan:
        state = self._state(batch)
        waypoints, durations = self._ask_planner(*self._seen(batch), self._tensor(to_net(state, self.nets.cfg)))
        kept = self.cfg.waypoints
        steps = np.rint(durations[:, :kept].float().cpu().numpy() * self.nets.cfg.chunk)
        steps[:, 0] = np.maximum(steps[:, 0], self.habits.shortest)
        places = from_net(waypoints[:, :kept].float().cpu().numpy(), self.nets.cfg)
        return WaypointPlan(places, np.maximum(steps, 0), start=state)

    def act(self, batch: Leg) -> np.ndarray:
        from proctor.suites.metaworld.waypoint_flow.nets import way_of

        cfg = self.nets.cfg
        ends = (self._state(batch), batch.start, batch.end)
        way = way_of(
            *(self._tensor(to_net(end, cfg)) for end in ends),
            duration=self._tensor((batch.duration / cfg.chunk).astype(np.float32)),
        )
        noise = torch_normal(batch, self.nets.expert.shape, self.device, self.dtype)
        actions = self._ask_expert(*self._seen(batch), way, noise)
        return np.clip(actions.float().cpu().numpy(), -1.0, 1.0)

    def _state(self, batch: Batch) -> np.ndarray:
        return np.asarray(batch.observation[self.senses.state][:, :STATE_DIM], np.float64)

    def _seen(self, batch: Batch) -> tuple[Any, Any, Any]:
        """Image, tokens and mask on the device; bytes travel, and become numbers there."""
        import torch

        pixels = torch.from_numpy(np.array(batch.observation[self.senses.image])).to(self.device)
        image = pixels.permute(0, 3, 1, 2).to(self.dtype) / 255
        return (
            image,
            torch.as_tensor(batch.tokens, device=self.device),
            torch.as_tensor(batch.token_mask, device=self.device),
        )

    def _tensor(self, array: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(array).to(self.device, self.dtype)


def _forwards(nets: Nets) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The planner's and the expert's forward, ready to be called from two threads."""
    from proctor.suites.metaworld.waypoint_flow.nets import Replayed

    expert = nets.expert
    return Replayed(nets.planner), Replayed(lambda *inputs: expert.denoise(inputs[-1], expert.look(*inputs[:-1])))
