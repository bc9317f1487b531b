"""The `lerobot` loader: a checkpoint as LeRobot saves it, in the runtime `lerobot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from proctor.errors import InputError
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy, SpaceInfo

CONFIG, WEIGHTS = "config.json", "model.safetensors"


class LeRobotOptions(PolicyOptions):
    """`lerobot` loader: which checkpoint, and what of an observation it gets."""

    inputs: dict[str, str] | None = Field(default=None, min_length=1)
    """Input of the policy, such as `observation.images.top` -> entry of the observation (nested ones with dots;
    `observation` for the whole). None: as LeRobot's own evaluation names `pixels`, `agent_pos` and
    `environment_state`."""
    instructions: dict[str, str] = Field(default_factory=dict)
    """Task -> what the policy is told in words; left out: what the task says of itself."""
    strict: bool = True
    """Refuse weights that are missing or too many, where LeRobot itself would go on."""


class LeRobotLoader(Loader):
    """A policy of LeRobot's (ACT, Diffusion, SmolVLA, pi0, pi0.5) with its processors."""

    name: ClassVar[str] = "lerobot"
    Options: ClassVar[type[PolicyOptions]] = LeRobotOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("lerobot", "lerobot"),)
    hosted: ClassVar[str] = "proctor.suites.lerobot.agents.checkpoint:load"
    runtime: ClassVar[str | None] = "lerobot"
    folders: ClassVar[bool] = True

    def load(self, agent: Any, options: Any, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        """In this interpreter, where LeRobot is installed in it."""
        from proctor.suites.lerobot.agents.checkpoint import load

        return load(agent.model_copy(update={"checkpoint": str(self.checkpoint(agent, base))}), options, spaces)

    def files(self, agent: Any, options: Any, base: Path | None) -> dict[str, Path]:
        """Every file of the checkpoint's folder."""
        folder = self.checkpoint(agent, base)
        lacking = [name for name in (CONFIG, WEIGHTS) if not (folder / name).is_file()]
        if lacking:
            raise InputError(
                f'agent "{agent.name}": {folder} has no {lacking[0]}; expected a folder that LeRobot saved, such as '
                "checkpoints/last/pretrained_model"
            )
        return {f"checkpoint {path.name}": path for path in sorted(folder.iterdir()) if path.is_file()}
