"""The `torch` loader: a state dict into a module of yours, or (with `trust`) TorchScript or a pickled module.

The module is called with the observation (a tensor `(rows, ...)`, or a nested dict of such), then with the
state where `recurrent`, then with noise where `noise` asks for it. It returns actions or a chunk, or a tuple or dict in
which `output` says where they are; a recurrent one returns (that, state), where every tensor of the state has the row
as its first axis.

A TorchScript archive is a program: it runs when it is loaded (`__setstate__`), and its operators reach files
(`torch.from_file` writes any bytes into any file). It needs `trust: true`, as a pickle does.
"""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from proctor.config.models import AgentCfg, Frozen
from proctor.errors import InputError
from proctor.policies.files import source_file
from proctor.policies.loader import Loader
from proctor.policies.options import ModelOptions, PolicyOptions, Shape
from proctor.policies.outputs import ActionHead
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, State
from proctor.policies.torch_tools import fill_module, find_state_dict, read_weights, to_arrays, to_tensors, torch_device
from proctor.policies.tree import leaves_of, stack_rows
from proctor.registry import import_object
from proctor_host.arrays import is_tensor
from proctor_host.trials import Trial


class NoiseCfg(Frozen):
    """Standard normal noise for the module, `(rows, *shape)`, from the trials' own generators."""

    shape: Shape = Field(default_factory=list)


class TorchOptions(ModelOptions):
    """`torch` loader."""

    module: str | None = None
    """Import string to the nn.Module class, or to a factory; left out for TorchScript and pickled modules, which need
    `trust`."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    state_dict_key: str | None = None
    """Where the state dict is within the checkpoint, with dots."""
    strict: bool = True
    torchscript: bool | None = None
    """None: look at the file."""
    recurrent: bool = False
    state_shape: Shape | list[Shape] | None = None
    """Shape of a trial's initial (zero) state, or a list of shapes; None: the module's `initial_state()` says."""
    noise: NoiseCfg | None = None
    output: Annotated[int, Field(ge=0, le=1000)] | str | None = None
    """Where the actions are in what the module returns: a place in a tuple, a key of a dict. None: it returns them."""
    dtype: Literal["float32", "float64", "float16", "bfloat16"] = "float32"
    """What the module and its floating-point observations, state and noise are cast to. Integers stay as they are."""


class TorchPolicy(Policy):
    """A module in evaluation mode."""

    def __init__(self, module: Any, options: TorchOptions, head: ActionHead, device: Any):
        import torch

        self.options, self.head = options, head
        self._device = torch.device(device)
        self.device = _named(self._device)
        self.dtype = getattr(torch, options.dtype)
        self.module = module.to(device).eval()
        self._initial = self._initial_state() if options.recurrent else None

    def _initial_state(self) -> Any:
        """One trial's initial state, without a row axis."""
        shapes = self.options.state_shape
        if shapes is None:
            try:
                return to_arrays(self.module.initial_state())
            except AttributeError:
                raise InputError(
                    f"recurrent: true, but {type(self.module).__name__} has no initial_state() that gives "
                    "one trial's state; write it, or set options.state_shape"
                ) from None
        kind = {"float64": np.float64, "float16": np.float16}.get(self.options.dtype, np.float32)
        if shapes and isinstance(shapes[0], list):
            return tuple(np.zeros(shape, kind) for shape in shapes)
        return np.zeros(shapes, kind)  # type: ignore[arg-type]

    def reset(self, trials: Sequence[Trial]) -> State:
        return None if self._initial is None else stack_rows([self._initial] * len(trials))

    def act(self, batch: Batch) -> Actions:
        import torch

        on_device = any(is_tensor(leaf) for _, leaf in leaves_of(batch.observation))
        arguments = [to_tensors(batch.observation, self._device, self.dtype)]
        if self.options.recurrent:
            arguments.append(to_tensors(batch.state, self._device, self.dtype))
        if self.options.noise is not None:
            drawn = batch.normal(tuple(self.options.noise.shape))
            arguments.append(to_tensors(drawn, self._device, self.dtype))
        with torch.inference_mode():
            answer = self.module(*arguments)
            output, state = self._parts(answer)
            if on_device and state is None:
                output = output.float() if output.dtype is torch.bfloat16 else output
                return Actions(self.head.on_device(output, batch.trials))
        return Actions(self.head(to_arrays(output), batch.trials), to_arrays(state))

    def _parts(self, answer: Any) -> tuple[Any, Any]:
        """The output with the actions, and the next state."""
        if not self.options.recurrent:
            return self._picked(answer), None
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise TypeError(f"the recurrent module returned a {type(answer).__name__}; expected (actions, state)")
        return self._picked(answer[0]), answer[1]

    def _picked(self, answer: Any) -> Any:
        import torch

        wanted = self.options.output
        if wanted is None and isinstance(answer, tuple | list | dict):
            raise TypeError(f"the module returned {_described(answer)}; say where the actions are: options.output")
        if wanted is not None:
            entries: Any = dict(enumerate(answer)) if isinstance(answer, tuple | list) else answer
            if not isinstance(entries, dict) or wanted not in entries:
                raise TypeError(f"options.output is {wanted!r}, but the module returned {_described(answer)}")
            answer = entries[wanted]
        if not isinstance(answer, torch.Tensor):
            raise TypeError(f"the module returned {_described(answer)}; expected a tensor of actions")
        return answer


def _named(device: Any) -> str:
    """A device as contracts say it: `cpu`, `cuda:0`."""
    return device.type if device.type != "cuda" else f"cuda:{device.index or 0}"


def _described(answer: Any) -> str:
    if isinstance(answer, dict):
        return f"a dict with {', '.join(map(str, answer))}"
    return f"a {type(answer).__name__}" + (f" of {len(answer)}" if isinstance(answer, tuple | list) else "")


class TorchLoader(Loader):
    """A torch state dict or safetensors in a module of yours, or TorchScript with `trust`."""

    name: ClassVar[str] = "torch"
    Options: ClassVar[type[PolicyOptions]] = TorchOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("torch", "torch"), ("safetensors", "torch"))
    suffixes: ClassVar[tuple[str, ...]] = (".pt", ".pth", ".safetensors")

    def load(self, agent: AgentCfg, options: TorchOptions, spaces: SpaceInfo, base: Path | None) -> Policy:
        self.require("torch")
        device = torch_device(agent.device)
        module = self.module(self.checkpoint(agent, base), options, device, base)
        module = module.to(getattr(self.require("torch"), options.dtype))
        return TorchPolicy(module, options, ActionHead(spaces, options.discrete), device)

    def module(self, path: Path, options: TorchOptions, device: Any, base: Path | None) -> Any:
        """The module in a checkpoint: weights in a module of yours, or (with `trust`) TorchScript or a pickled one."""
        script = _is_torchscript(path) if options.torchscript is None else options.torchscript
        if script:
            if options.trust:
                _refuse_unused(options, f"{path} is TorchScript, which brings its own code and weights")
            return _load_torchscript(path, device, options.trust)
        if options.module is None:
            if options.trust:
                _refuse_unused(options, f"without options.module, {path} is read as a pickled module")
            return _load_pickled(path, device, options.trust)
        module = _make_module(options, base)
        fill_module(module, self._state_dict(path, options, device), str(path), strict=options.strict)
        return module

    def files(self, agent: AgentCfg, options: TorchOptions, base: Path | None) -> dict[str, Path]:
        source = {} if options.module is None else source_file(options.module, base)
        return {**super().files(agent, options, base), **source}

    def _state_dict(self, path: Path, options: TorchOptions, device: Any) -> dict[str, Any]:
        if path.suffix == ".safetensors":
            self.require("safetensors")
            from safetensors.torch import load_file

            try:
                found: Any = load_file(path, device=str(device))
            except Exception as error:
                raise InputError(f"{path} cannot be read as safetensors: {error}") from None
        elif options.trust:
            found = _unrestricted(path, device)
        else:
            found = read_weights(path, str(path), device)
        return find_state_dict(found, options.state_dict_key, str(path))


def _refuse_unused(options: TorchOptions, why: str) -> None:
    """Raise InputError where options are given that are for weights in a module of the user's."""
    unused = [key for key in ("module", "kwargs", "state_dict_key") if getattr(options, key)]
    if not options.strict:
        unused.append("strict")
    if unused:
        named = ", ".join(f"options.{key}" for key in unused)
        raise InputError(f"{why}, so {named} would be ignored; leave {'it' if len(unused) == 1 else 'them'} out")


def _is_torchscript(path: Path) -> bool:
    """Whether torch would take the file for TorchScript: it goes by this one entry."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.rpartition("/")[2] == "constants.pkl" for name in archive.namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return False


def _load_torchscript(path: Path, device: Any, trust: bool) -> Any:
    import torch

    if not trust:
        raise InputError(
            f"{path} is TorchScript, a program that runs as soon as it is loaded and can read and write files. If you "
            "trust it, set options.trust: true; else export the model to ONNX, or save its weights as safetensors "
            "and set options.module, which need no trust"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return torch.jit.load(str(path), map_location=device)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{path} cannot be read as TorchScript: {str(error).strip().splitlines()[0]}") from None


def _load_pickled(path: Path, device: Any, trust: bool) -> Any:
    import torch

    if not trust:
        raise InputError(
            f"{path} needs options.module. For a state dict or safetensors, set it to the import string of the "
            "nn.Module; a pickled module can run code and needs options.trust: true"
        )
    module = _unrestricted(path, device)
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"{path} holds a {type(module).__name__}, not a module; set options.module to its nn.Module")
    return module


def _unrestricted(path: Path, device: Any) -> Any:
    import torch

    try:
        return torch.load(path, map_location=device, weights_only=False)
    except Exception as error:
        raise InputError(f"{path} cannot be loaded by torch: {error!r}") from None


def _make_module(options: TorchOptions, base: Path | None) -> Any:
    import torch

    assert options.module is not None
    factory = import_object(options.module, base)
    try:
        with torch.random.fork_rng(devices=[]):
            module = factory(**options.kwargs)
    except TypeError as error:
        raise InputError(f"{options.module} cannot be called with options.kwargs: {error}") from None
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"{options.module} gave a {type(module).__name__}; expected a torch.nn.Module")
    return module
