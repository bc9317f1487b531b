"""MuJoCo Warp as a `DevicePhysics`. A control step is captured once as a graph, on a GPU and on the processor alike.

On a GPU, sums are made in the order in which threads come by. On the processor a world's numbers depend on it alone:
there MuJoCo Warp splits sums over constraints into as many parts as it would for one world, for else the number of
worlds would show in the last bits.
"""

# pyright: reportMissingImports=false, reportInvalidTypeForm=false

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import mujoco_warp as mjw
import numpy as np
import torch
import warp as wp
from mujoco_warp._src import solver

from proctor.errors import InputError
from proctor.suites.tracking.device.kinematics import Kinematics
from proctor.suites.tracking.device.physics import BROKEN, Bodies, DevicePhysics, Setup

_NO_ROOM = (
    mjw.OverflowType.NEFC | mjw.OverflowType.NJMAX_NNZ | mjw.OverflowType.BROADPHASE | mjw.OverflowType.NARROWPHASE
    | mjw.OverflowType.CCD | mjw.OverflowType.HFIELD | mjw.OverflowType.NVMAX | mjw.OverflowType.EPA_HORIZON
)  # fmt: skip
"""What of MuJoCo Warp's overflows leaves something out of the simulation."""
LEAST_CONSTRAINTS = 128
LEAST_CONTACTS = 48


@wp.kernel
def _judge(
    qpos_before: wp.array2d(dtype=float),
    qvel_before: wp.array2d(dtype=float),
    most: float,
    no_room: int,
    qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    warm: wp.array2d(dtype=float),
    overflow: wp.array(dtype=int),
    broken: wp.array(dtype=wp.bool),
    crowded: wp.array(dtype=int),
):
    """Put a world that broke down back to where it was, and say which did."""
    world = wp.tid()
    total = float(0.0)  # noqa: UP018 - a variable to Warp, not a constant
    for i in range(qpos.shape[1]):
        total += wp.abs(qpos[world, i])
    for i in range(qvel.shape[1]):
        total += wp.abs(qvel[world, i])
    lost = not (total < most)
    if lost:
        for i in range(qpos.shape[1]):
            qpos[world, i] = qpos_before[world, i]
        for i in range(qvel.shape[1]):
            qvel[world, i] = qvel_before[world, i]
            warm[world, i] = 0.0
    full = (overflow[world] & no_room) != 0
    if full:
        crowded[world] = crowded[world] + 1
    overflow[world] = 0
    broken[world] = lost or full


class WarpPhysics(DevicePhysics):
    """See the module."""

    def __init__(self, setup: Setup):
        model, n = setup.model, setup.n
        wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING if setup.device.type == "cuda" else wp.LOG_ERROR)
        self._torch_device = setup.device
        self._device = wp.get_device(str(setup.device))
        self._substeps = setup.substeps
        self._streams: dict[int, Any] = {}
        contacts = setup.contacts or LEAST_CONTACTS
        constraints = setup.constraints or most_constraints(model, contacts)
        self.setup = dataclasses.replace(setup, contacts=contacts, constraints=constraints)
        self.room = f"{contacts} contacts and {constraints} constraints for each world"
        with wp.ScopedDevice(self._device), quiet():
            self._model = _put(model, setup.fields, n)
            self.data = mjw.make_data(model, nworld=n, nconmax=contacts, njmax=constraints)
            self._make_tensors(model, n)
            self._steps, self._looks = self._graph(self._step), self._graph(self._look)
            self._crowded.zero_()
            wp.synchronize_device(self._device)

    def _make_tensors(self, model: Any, n: int) -> None:
        data, tensor = self.data, wp.to_torch
        self.qpos, self.qvel, self.control = tensor(data.qpos), tensor(data.qvel), tensor(data.ctrl)
        self._warm, self._time = tensor(data.qacc_warmstart), tensor(data.time)
        self._before = wp.zeros_like(data.qpos), wp.zeros_like(data.qvel)
        self._broken, self._crowded = wp.zeros(n, dtype=wp.bool), wp.zeros(n, dtype=int)
        self.broken, self.crowded = tensor(self._broken), tensor(self._crowded)
        self._kinematics = Kinematics(model, n)
        self.bodies = Bodies(*map(tensor, self._kinematics.seen))

    def _step(self) -> None:
        data = self.data
        wp.copy(self._before[0], data.qpos)
        wp.copy(self._before[1], data.qvel)
        for _ in range(self._substeps):
            mjw.step(self._model, data)
        wp.launch(
            _judge,
            dim=data.nworld,
            inputs=[*self._before, BROKEN, int(_NO_ROOM)],
            outputs=[data.qpos, data.qvel, data.qacc_warmstart, data.overflow, self._broken, self._crowded],
        )
        self._look()

    def _look(self) -> None:
        self._kinematics.look(self.data.qpos, self.data.qvel)

    def _graph(self, launch: Callable[[], None]) -> Any:
        """Its launches, to be replayed. They are done once before, so that everything is compiled and loaded."""
        with contextlib.nullcontext() if self._device.is_cuda else split_as_for_one_world():
            launch()
            with wp.ScopedCapture(self._device) as capture:
                launch()
        return capture.graph

    def _replay(self, graph: Any) -> None:
        """In the order of torch's current stream."""
        if not self._device.is_cuda:
            wp.capture_launch(graph)
            return
        current = torch.cuda.current_stream(self._torch_device)
        if current.cuda_stream not in self._streams:
            self._streams[current.cuda_stream] = wp.stream_from_torch(current)
        wp.capture_launch(graph, stream=self._streams[current.cuda_stream])

    def step(self) -> None:
        self._replay(self._steps)

    def settle(self) -> None:
        self._replay(self._looks)

    def place(self, mask: torch.Tensor, qpos: torch.Tensor, qvel: torch.Tensor) -> None:
        rows = mask[:, None]
        torch.where(rows, qpos, self.qpos, out=self.qpos)
        torch.where(rows, qvel, self.qvel, out=self.qvel)
        self._warm.masked_fill_(rows, 0.0)
        self._time.masked_fill_(mask, 0.0)
        self.broken.masked_fill_(mask, False)

    def change_models(self, rows: torch.Tensor, values: Mapping[str, np.ndarray]) -> None:
        for name, value in values.items():
            whole = wp.to_torch(getattr(self._model, name))
            given = torch.as_tensor(value, dtype=torch.float32).reshape(len(rows), *whole.shape[1:])
            whole.index_copy_(0, rows, given.to(whole.device, non_blocking=True))


def _put(model: Any, fields: tuple[str, ...], n: int) -> Any:
    """The model on the current device, with these fields for each world. Raises InputError for what MuJoCo Warp cannot
    simulate."""
    try:
        found = mjw.put_model(model)
    except (NotImplementedError, ValueError) as error:
        raise InputError(f"physics: warp cannot simulate this robot: {error}; use physics: cpu") from None
    found.opt.warn_overflow = 0
    for name in fields:
        one = getattr(found, name)
        rows = np.repeat(one.numpy()[:1], n, axis=0)
        setattr(found, name, wp.array(rows, dtype=one.dtype))
    return found


def most_constraints(model: Any, contacts: int) -> int:
    """Room for every joint at a limit and with friction, and for so many contacts."""
    limits = int(model.jnt_limited.sum()) + int((model.dof_frictionloss > 0).sum())
    widest = int(model.geom_condim.max(initial=1))
    rows = 1 if widest == 1 else 2 * (widest - 1)
    return max(LEAST_CONSTRAINTS, limits + rows * contacts)


@contextlib.contextmanager
def split_as_for_one_world() -> Iterator[None]:
    """Sums over constraints that are launched meanwhile are split as if there were one world."""
    split = solver._jtdaj_groups_per_world

    def alone(_: int, njmax: int, kernel: Any) -> int:
        return split(1, njmax, kernel)

    solver._jtdaj_groups_per_world = alone
    try:
        yield
    finally:
        solver._jtdaj_groups_per_world = split


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What Warp says of kernels that it compiles goes where errors go."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def make(setup: Setup) -> WarpPhysics:
    return WarpPhysics(setup)
