"""What a simulator of many worlds on a device has to do for the tracking worlds.

All tensors are float32 on one device, with a row for each of n worlds; they are the same memory as long as the
simulator lives. J joints, B bodies of the model but the world.
"""

from __future__ import annotations

import abc
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from proctor.errors import InputError

BROKEN = 1e10
"""A state whose numbers together are larger than this has broken down, as MuJoCo sees it."""

MODEL_FIELDS = (
    "geom_friction", "actuator_gainprm", "actuator_biasprm", "body_mass", "body_inertia", "body_subtreemass",
    "body_invweight0", "dof_invweight0",
)  # fmt: skip
"""Fields of a model that randomisation changes, with what MuJoCo computes from masses."""


class Bodies(NamedTuple):
    """Of all bodies but the world, in the world frame, as `tracking.bodies.Bodies`."""

    pos: torch.Tensor
    quat: torch.Tensor
    lin_vel: torch.Tensor
    ang_vel: torch.Tensor


@dataclass(frozen=True)
class Setup:
    """What is simulated: `model` is a MuJoCo model with the physics' time step, `substeps` of which make a control
    step. `fields` are those of `MODEL_FIELDS` that differ from world to world. `contacts` and `constraints` are how
    many a world may have; None: what the model suggests."""

    model: Any
    n: int
    substeps: int
    device: torch.device
    fields: tuple[str, ...] = ()
    contacts: int | None = None
    constraints: int | None = None


class DevicePhysics(abc.ABC):
    """n worlds. `qpos` (n, 7 + J) and `qvel` (n, 6 + J) are where they are, `control` (n, J) the targets of the next
    step, which are written to from outside. `broken` (n,) bool: the simulation broke down in the last step, or had no
    room for all contacts; a world that broke down is where it was before."""

    setup: Setup
    """What was asked for, with as much room as there is."""
    qpos: torch.Tensor
    qvel: torch.Tensor
    control: torch.Tensor
    broken: torch.Tensor
    bodies: Bodies
    crowded: torch.Tensor
    """(n,) int32: in how many steps there was no room for all contacts or constraints, since the start."""
    room: str
    """How much room there is, in words."""

    @abc.abstractmethod
    def step(self) -> None:
        """One control step of all worlds; `bodies` are those of the state afterwards."""

    @abc.abstractmethod
    def place(self, mask: torch.Tensor, qpos: torch.Tensor, qvel: torch.Tensor) -> None:
        """Put the worlds of `mask` (n,) into these states (n, ...), with no memory of what was before. The others stay
        as they are. `settle` is to be called afterwards. This is part of a captured program: it launches nothing but
        torch's own operations."""

    @abc.abstractmethod
    def settle(self) -> None:
        """Compute `bodies` of the state now."""

    @abc.abstractmethod
    def change_models(self, rows: torch.Tensor, values: Mapping[str, np.ndarray]) -> None:
        """Give worlds (k,) other values (k, ...) of the fields that differ from world to world."""

    def close(self) -> None:  # noqa: B027 - optional to override
        """Let go of the device's memory."""


PACKAGES = {
    "warp": (("mujoco_warp", "warp"), "mujoco==3.17.0 mujoco-warp==3.17.0 'warp-lang==1.18.*'", "tracking-warp"),
    "mjx": (("mujoco.mjx", "jax"), "mujoco==3.17.0 mujoco-mjx==3.17.0 jax", "tracking-mjx"),
}
"""Physics -> the modules that it needs, what brings them, and the runtime that has them."""


def make_physics(name: str, setup: Setup) -> DevicePhysics:
    """The simulator `warp` or `mjx`. Raises InputError where its packages are absent, or where it cannot simulate the
    model."""
    modules, packages, runtime = PACKAGES[name]
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError:
            raise InputError(
                f"physics: {name} needs the package {module}, which this interpreter does not have; install it with: "
                f"pip install {packages}, or say runtime: {runtime} (proctor runtimes install {runtime})"
            ) from None
    made: Any = importlib.import_module(f"proctor.suites.tracking.device.{name}")
    return made.make(setup)


def device_named(name: str) -> torch.device:
    """The device of torch. Raises InputError where it is not there."""
    device = torch.device(name)
    if device.type != "cuda":
        return device
    if not torch.cuda.is_available():
        raise InputError(f"device: {name}: torch finds no GPU here; use device: cpu, or a torch that knows this GPU")
    number = torch.cuda.current_device() if device.index is None else device.index
    if number >= torch.cuda.device_count():
        raise InputError(f"device: {name}: there are {torch.cuda.device_count()} GPUs, counted from 0")
    return torch.device("cuda", number)
