"""The `waypoint_flow` loader: a checkpoint of this package's networks, for tasks with a camera and an instruction."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy, SpaceInfo
from proctor.policies.torch_tools import torch_device
from proctor.suites.metaworld.waypoint_flow.cfg import STATE_DIM, NetCfg, word_tokens


class WaypointFlowOptions(PolicyOptions):
    """`waypoint_flow` loader."""

    image: str | None = None
    """The observation's entry with the camera's image; None: the only one that holds bytes (size, size, 3)."""
    state: str = "state"
    """The entry that begins with end effector x, y, z in metres and gripper opening."""
    instructions: dict[str, str] = Field(default_factory=dict)
    """Task -> what it is told; left out: what the task says of itself."""
    waypoints: int = Field(default=2, ge=1, le=10_000)
    """How many waypoints of a plan are gone to before the next plan."""
    execute_steps: int | None = Field(default=None, ge=1, le=1_000_000)
    """Ask the action expert again after so many steps; None: when a waypoint's duration is over."""
    dtype: Literal["float32", "bfloat16"] = "float32"


class WaypointFlowLoader(Loader):
    """A waypoint planner and a flow-matching action expert, on images and instructions."""

    name: ClassVar[str] = "waypoint_flow"
    Options: ClassVar[type[PolicyOptions]] = WaypointFlowOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("torch", "torch"), ("safetensors", "torch"))

    def load(self, agent: AgentCfg, options: WaypointFlowOptions, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        torch = self.require("torch")
        self.require("safetensors")
        from proctor.suites.metaworld.waypoint_flow.checkpoint import load_nets
        from proctor.suites.metaworld.waypoint_flow.policy import Habits, Senses, WaypointFlowPolicy

        nets = load_nets(self.checkpoint(agent, base), torch_device(agent.device))
        if options.waypoints > nets.cfg.waypoints:
            raise InputError(f"options.waypoints is {options.waypoints}; the checkpoint plans {nets.cfg.waypoints}")
        told = {task: _instruction(task, options, spaces, nets.cfg) for task in spaces.observation}
        image = _image_entry(spaces, options, nets.cfg)
        for task, space in spaces.action.items():
            if space.shape != (nets.cfg.action_dim,):
                gives = f"the checkpoint gives ({nets.cfg.action_dim},)"
                raise InputError(f'task "{task}" takes actions {space.shape}; {gives}')
        senses = Senses(image, options.state, told.__getitem__)
        habits = Habits(options.waypoints, execute_steps=options.execute_steps)
        return WaypointFlowPolicy(nets.to(getattr(torch, options.dtype)), senses, habits)


def _instruction(task: str, options: WaypointFlowOptions, spaces: SpaceInfo, cfg: NetCfg) -> str:
    told = spaces.instruction(task, options.instructions)
    if told is None:
        raise InputError(
            f'task "{task}" says no instruction; tell the policy what to do with '
            f'options.instructions: {{"{task}": "..."}}'
        )
    words = len(word_tokens(told, cfg.vocabulary))
    if words > cfg.tokens:
        raise InputError(
            f'task "{task}": the instruction "{told}" has {words} words; the checkpoint reads {cfg.tokens}. '
            f"Shorten it with options.instructions"
        )
    return told


def _image_entry(spaces: SpaceInfo, options: WaypointFlowOptions, cfg: NetCfg) -> str:
    """The entry that holds the image, the same for all tasks, after a look at the state's."""
    expected = (cfg.image_size, cfg.image_size, 3)
    chosen: set[str] = set()
    for task, space in spaces.observation.items():
        entries = dict(getattr(space, "spaces", {}))
        shapes = {name: getattr(entry, "shape", None) for name, entry in entries.items()}
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items()) or "no named entries"
        images = [n for n, e in entries.items() if shapes[n] == expected and e.dtype == np.uint8]
        wanted = [options.image] if options.image is not None else images
        if len(wanted) != 1 or wanted[0] not in images:
            raise InputError(
                f'task "{task}" is observed as {listed}; expected one image {expected} of bytes, as the checkpoint was '
                "trained on: set the task's camera and image size, or choose with options.image"
            )
        state = shapes.get(options.state)
        if state is None or len(state) != 1 or state[0] < STATE_DIM:
            raise InputError(
                f'task "{task}" is observed as {listed}; expected an entry "{options.state}" that begins with end '
                "effector x, y, z and gripper: choose with options.state"
            )
        chosen.add(wanted[0])
    if len(chosen) > 1:
        raise InputError(f"the tasks' images have different names ({', '.join(sorted(chosen))}); use one camera")
    return chosen.pop() if chosen else options.image or "image"
