"""MJX as a `DevicePhysics`: a control step is one function that JAX compiles. States go to JAX and back without leaving
the device, through DLPack. MJX keeps a place for every contact that could be, so none is ever left out."""

# pyright: reportMissingImports=false

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch wants memory of the same GPU

import jax
import jax.numpy as jnp
from mujoco import mjx

from proctor.errors import InputError
from proctor.suites.tracking.device.physics import BROKEN, Bodies, DevicePhysics, Setup


class MjxPhysics(DevicePhysics):
    """See the module."""

    def __init__(self, setup: Setup):
        if setup.contacts is not None or setup.constraints is not None:
            raise InputError("contacts and constraints: MJX has room for all of them; leave them out")
        self.setup, model, n = setup, setup.model, setup.n
        self.room = "room for all contacts"
        self._device = _device(setup.device)
        self._model = _put(model, self._device)
        self._data = mjx.make_data(model, impl="jax", device=self._device)
        self._roots = jnp.array(model.body_rootid[1:])
        self._make_tensors(model, n)
        self._compiled, self._looking = (jax.jit(_precise(jax.vmap(one))) for one in (self._one, self._look))
        self.step()
        self.crowded.zero_()

    def _make_tensors(self, model: Any, n: int) -> None:
        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.zeros((n, *shape), dtype=dtype, device=self.setup.device)

        self.qpos, self.qvel, self._warm = zeros(model.nq), zeros(model.nv), zeros(model.nv)
        self.qpos[:] = torch.tensor(model.qpos0, dtype=torch.float32)
        self.control, self.broken = zeros(model.nu), zeros(dtype=torch.bool)
        self.crowded = zeros(dtype=torch.int32)
        bodies = model.nbody - 1
        self.bodies = Bodies(zeros(bodies, 3), zeros(bodies, 4), zeros(bodies, 3), zeros(bodies, 3))
        self._fields: dict[str, torch.Tensor] = {}
        for name in self.setup.fields:
            one = torch.tensor(np.asarray(getattr(self._model, name)), device=self.setup.device)
            self._fields[name] = one.expand(n, *one.shape).clone()

    def _one(self, fields: dict[str, Any], qpos: Any, qvel: Any, warm: Any, control: Any) -> tuple[Any, ...]:
        """A control step of one world."""
        model = self._model.replace(**fields)
        data = self._data.replace(qpos=qpos, qvel=qvel, qacc_warmstart=warm, ctrl=control)
        data, _ = jax.lax.scan(lambda d, _: (mjx.step(model, d), None), data, None, length=self.setup.substeps)
        lost = ~(jnp.abs(data.qpos).sum() + jnp.abs(data.qvel).sum() < BROKEN)
        qpos, qvel = jnp.where(lost, qpos, data.qpos), jnp.where(lost, qvel, data.qvel)
        warm = jnp.where(lost, 0.0, data.qacc_warmstart)
        return qpos, qvel, warm, lost, *self._look(fields, qpos, qvel)

    def _look(self, fields: dict[str, Any], qpos: Any, qvel: Any) -> tuple[Any, ...]:
        """Poses and velocities of the bodies' origins."""
        model = self._model.replace(**fields)
        data = mjx.kinematics(model, self._data.replace(qpos=qpos, qvel=qvel))
        data = mjx.com_vel(model, mjx.com_pos(model, data))
        inner: Any = data if hasattr(data, "subtree_com") else data._impl
        turning, moving, pos = data.cvel[1:, :3], data.cvel[1:, 3:], data.xpos[1:]
        moving = moving + jnp.cross(turning, pos - inner.subtree_com[self._roots])
        return pos, data.xquat[1:], moving, turning

    def step(self) -> None:
        given = self._fields, self.qpos, self.qvel, self._warm, self.control
        found = self._compiled(*jax.tree.map(_to_jax, given))
        _take(found, (self.qpos, self.qvel, self._warm, self.broken, *self.bodies))

    def settle(self) -> None:
        found = self._looking(*jax.tree.map(_to_jax, (self._fields, self.qpos, self.qvel)))
        _take(found, self.bodies)

    def place(self, mask: torch.Tensor, qpos: torch.Tensor, qvel: torch.Tensor) -> None:
        rows = mask[:, None]
        torch.where(rows, qpos, self.qpos, out=self.qpos)
        torch.where(rows, qvel, self.qvel, out=self.qvel)
        self._warm.masked_fill_(rows, 0.0)
        self.broken.masked_fill_(mask, False)

    def change_models(self, rows: torch.Tensor, values: Mapping[str, np.ndarray]) -> None:
        for name, value in values.items():
            given = torch.as_tensor(value, dtype=torch.float32).reshape(len(rows), *self._fields[name].shape[1:])
            self._fields[name].index_copy_(0, rows, given.to(self.setup.device, non_blocking=True))


def _precise(function: Callable[..., Any]) -> Callable[..., Any]:
    """With products of matrices in float32, which a GPU would otherwise round to ten bits."""

    def precise(*args: Any) -> Any:
        with jax.default_matmul_precision("highest"):
            return function(*args)

    return precise


def _to_jax(tensor: torch.Tensor) -> Any:
    return jnp.from_dlpack(tensor.contiguous())


def _take(found: Any, into: Any) -> None:
    """Copy arrays of JAX into tensors. On the processor nobody else waits for JAX."""
    if into[0].device.type == "cpu":
        jax.block_until_ready(found)
    for array, tensor in zip(found, into, strict=True):
        tensor.copy_(torch.from_dlpack(array))


def _device(device: torch.device) -> Any:
    """JAX's device. Raises InputError where JAX does not see it."""
    try:
        devices = jax.devices("cpu" if device.type == "cpu" else "cuda")
    except RuntimeError as error:
        raise InputError(
            f"physics: mjx: JAX finds no GPU ({error}); install it with: pip install 'jax[cuda13]', or use device: cpu"
        ) from None
    return devices[device.index or 0]


def _put(model: Any, device: Any) -> Any:
    """Raises InputError for what MJX cannot simulate."""
    try:
        return mjx.put_model(model, impl="jax", device=device)
    except (NotImplementedError, ValueError) as error:
        raise InputError(f"physics: mjx cannot simulate this robot: {error}; use physics: warp or cpu") from None


def make(setup: Setup) -> MjxPhysics:
    return MjxPhysics(setup)
