"""Latent-conditioned models behind one interface on numpy arrays: observation entries in, z or actions out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from proctor.errors import InputError
from proctor.policies.from_onnx import Port, in_blocks, port_of
from proctor.policies.latent import project_z
from proctor.policies.torch_tools import to_arrays, to_tensors

Z = "z"
"""How the latent is called among the entries that an input is made of."""

Inputs = Mapping[str, str | Sequence[str]]
"""Input of a network -> the observation entry it gets, or the entries that are concatenated for it."""


@runtime_checkable
class _Latent(Protocol):
    def backward_map(self, obs: Any) -> Any: ...

    def act(self, obs: Any, z: Any, mean: bool = True) -> Any: ...


@runtime_checkable
class _Projects(Protocol):
    def project_z(self, z: Any) -> Any: ...


class TorchNet:
    """A module, or a TorchScript archive, that has `backward_map(obs)` and `act(obs, z, mean=True)`, and `project_z(z)`
    where it differs from the formula. Observations are dicts of tensors."""

    def __init__(self, module: Any, device: Any, dtype: Any, where: str):
        if not isinstance(module, _Latent):
            raise InputError(
                f"{where} holds a {type(module).__name__} without backward_map(obs) and act(obs, z); write them "
                "(TorchScript: mark them with @torch.jit.export), or give backward_file and actor_file"
            )
        net: Any = module
        self._module: Any = net.to(device).eval()
        self._device, self._dtype = device, dtype

    def backward_map(self, obs: Mapping[str, np.ndarray]) -> np.ndarray:
        return self._run(self._module.backward_map, dict(obs))

    def project_z(self, z: np.ndarray) -> np.ndarray:
        return self._run(self._module.project_z, z) if isinstance(self._module, _Projects) else project_z(z)

    def act(self, obs: Mapping[str, np.ndarray], z: np.ndarray, mean: bool = True) -> np.ndarray:
        return self._run(lambda entries, latent: self._module.act(entries, latent, mean), dict(obs), z)

    def _run(self, function: Any, *arguments: Any) -> np.ndarray:
        import torch

        with torch.inference_mode():
            return to_arrays(function(*(to_tensors(a, self._device, self._dtype) for a in arguments)))


class Pair:
    """A backward network and an actor, from files of their own; z is projected by the formula."""

    def __init__(self, backward: Any, actor: Any):
        self._backward, self._actor = backward, actor

    def backward_map(self, obs: Mapping[str, np.ndarray]) -> np.ndarray:
        return self._backward(obs)

    def project_z(self, z: np.ndarray) -> np.ndarray:
        return project_z(z)

    def act(self, obs: Mapping[str, np.ndarray], z: np.ndarray, mean: bool = True) -> np.ndarray:
        return self._actor({**obs, Z: z})


class ScriptNet:
    """The `forward` of a TorchScript file: its arguments in the order of `inputs`, or, where none are named, a dict of
    the observation entries and then z if there is one."""

    def __init__(self, module: Any, inputs: Inputs, device: Any, dtype: Any):
        self._module, self._inputs = module.to(device).eval(), inputs
        self._device, self._dtype = device, dtype

    def __call__(self, entries: Mapping[str, np.ndarray]) -> np.ndarray:
        import torch

        if self._inputs:
            arguments: list[Any] = [join(entries, wanted, name) for name, wanted in self._inputs.items()]
        else:
            rest = {key: value for key, value in entries.items() if key != Z}
            arguments = [rest, entries[Z]] if Z in entries else [rest]
        with torch.inference_mode():
            return to_arrays(self._module(*(to_tensors(a, self._device, self._dtype) for a in arguments)))


class OnnxNet:
    """The first output of an ONNX file. Inputs that `inputs` does not name get the entry of their own name. A model
    that was exported with a fixed number of rows is run in blocks of it."""

    def __init__(self, session: Any, inputs: Inputs, path: Path):
        self._session, self._path = session, path
        self._ports = [port_of(value, 0) for value in session.get_inputs()]
        known = [port.name for port in self._ports]
        for name in inputs:
            if name not in known:
                raise InputError(f'{path.name} has no input "{name}" (it has {", ".join(known)})')
        self._wanted = {name: inputs.get(name, name) for name in known}
        self._output = session.get_outputs()[0].name
        self._block = next((port.rows for port in self._ports if port.rows is not None), None)

    @property
    def metadata(self) -> dict[str, str]:
        return dict(self._session.get_modelmeta().custom_metadata_map)

    def __call__(self, entries: Mapping[str, np.ndarray]) -> np.ndarray:
        feed = {port.name: self._input(port, entries) for port in self._ports}
        return in_blocks(lambda part: self._session.run([self._output], part), feed, self._block)[0]

    def _input(self, port: Port, entries: Mapping[str, np.ndarray]) -> np.ndarray:
        values = join(entries, self._wanted[port.name], port.name, self._path.name)
        shape = values.shape[1:]
        if not port.fits(shape):
            given = self._wanted[port.name]
            said = given if isinstance(given, str) else " + ".join(given)
            raise InputError(f"{self._path.name} wants {port}; {said} gives (rows{''.join(f', {s}' for s in shape)})")
        return values.astype(port.dtype, copy=False)


def join(
    entries: Mapping[str, np.ndarray], wanted: str | Sequence[str], name: str, where: str = "the model"
) -> np.ndarray:
    """The entry that an input gets, or several of them side by side (each flattened)."""
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if missing := [key for key in names if key not in entries]:
        raise InputError(
            f'input "{name}" of {where} finds no {", ".join(missing)} among {", ".join(entries)}; say what it is made '
            "of with actor_inputs or backward_inputs, or let the task observe it"
        )
    if isinstance(wanted, str):
        return entries[wanted]
    return np.concatenate([entries[key].reshape(len(entries[key]), -1) for key in names], axis=1)
