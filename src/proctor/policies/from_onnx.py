"""The `onnx` loader: models run by onnxruntime.

A model takes one input for a plain observation, or one input per entry of a dict observation; inputs of recurrent state
(`state`) and of noise (`noise`) come beside them. A model exported with a fixed number of rows is run in blocks of it.
What an exporter of robot policies wrote into the file (`proctor.policies.robot_metadata`) is compared with the task's
robot; its observation names put the entries of a dict observation in order, its action scale is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.loader import Loader
from proctor.policies.options import ModelOptions, PolicyOptions
from proctor.policies.outputs import ActionHead, check_output_shape
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, State, by_task
from proctor.policies.robot_metadata import RobotFit, RobotMetadata
from proctor.policies.tree import leaves_of
from proctor.spaces import entries_of
from proctor_host.trials import Trial

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


Feed = dict[str, np.ndarray]
"""Input -> its rows."""


class OnnxOptions(ModelOptions):
    """`onnx` loader."""

    input: str | None = None
    """The observation's input, where the model has several inputs and the observation is one array."""
    inputs: dict[str, str] = Field(default_factory=dict)
    """For dict observations: model input -> entry (nested entries with dots); left out: the same name."""
    output: str | None = None
    """The output that holds actions; None: the first that is no state."""
    state: dict[str, str] = Field(default_factory=dict)
    """Recurrent state: input -> output. It starts at zero."""
    state_axis: int = Field(default=0, ge=0, le=16)
    """The axis of state inputs and outputs that counts rows."""
    noise: str | None = None
    """An input to be given standard normal noise from the trial's generator."""
    threads: int = Field(default=1, ge=1, le=1024)
    metadata: Literal["check", "ignore"] = "check"
    """What the file says of the robot it was made for: compared with the task's and used, or not looked at."""


@dataclass(frozen=True)
class Port:
    """An input of the model: dims after the row axis, with None where any size will do; `rows` where it is fixed."""

    name: str
    dtype: Any
    rows: int | None
    dims: tuple[int | None, ...]

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether rows of this shape may be given."""
        return len(shape) == len(self.dims) and all(d in (None, s) for d, s in zip(self.dims, shape, strict=True))

    def __str__(self) -> str:
        shown = ", ".join("?" if d is None else str(d) for d in self.dims)
        return f'input "{self.name}" (rows, {shown}) {np.dtype(self.dtype)}'


def in_blocks(run: Callable[[Feed], list[np.ndarray]], feed: Feed, size: int | None) -> list[np.ndarray]:
    """What `run` gives for all rows of `feed`, asked for `size` rows at a time (None: all); the last row fills up the
    last block."""
    rows = len(next(iter(feed.values())))
    size, blocks = size or rows, []
    for start in range(0, rows, size):
        index = np.minimum(np.arange(start, start + size), rows - 1)
        blocks.append(run({name: value[index] for name, value in feed.items()}))
    return [np.concatenate(parts)[:rows] for parts in zip(*blocks, strict=True)]


class OnnxPolicy(Policy):
    """Runs a session on blocks of rows. `observation` maps each observation input to an entry's path. `robot`: what
    follows from the file's metadata."""

    def __init__(self, session: Any, plan: OnnxPlan, head: ActionHead, robot: RobotFit):
        self.session, self.plan, self.head, self.robot = session, plan, head, robot

    def reset(self, trials: Sequence[Trial]) -> State:
        return {p.name: np.zeros((len(trials), *p.dims), p.dtype) for p in self.plan.state} or None  # type: ignore[arg-type]

    def act(self, batch: Batch) -> Actions:
        plan, robot = self.plan, self.robot
        entries = dict(leaves_of(robot.observed(batch.observation, batch.trials)))
        feed = {port.name: entries[path].astype(port.dtype, copy=False) for port, path in plan.observation}
        if plan.clock is not None:
            feed[plan.clock.name] = np.zeros((len(batch), *plan.clock.dims), plan.clock.dtype)  # type: ignore[arg-type]
        if plan.noise is not None:
            feed[plan.noise.name] = batch.normal(plan.noise.dims, np.float32).astype(plan.noise.dtype)  # type: ignore[arg-type]
        for port in plan.state:
            feed[port.name] = batch.state[port.name]
        output, *states = in_blocks(self._run, feed, plan.block)
        state = {port.name: value for port, value in zip(plan.state, states, strict=True)}
        actions = self.head(output, batch.trials)
        if robot.maps:
            actions = by_task(batch.trials, lambda task, rows: robot.maps[task](actions[rows]))
        return Actions(actions, state or None)

    def _run(self, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        axis, names = self.plan.state_axis, [p.name for p in self.plan.state]
        for name in names:
            feed[name] = np.ascontiguousarray(np.moveaxis(feed[name], 0, axis))
        action, *states = self.session.run(self.plan.outputs, feed)
        return [action, *(np.moveaxis(value, axis, 0) for value in states)]


@dataclass(frozen=True)
class OnnxPlan:
    """Which input gets what. `outputs`: the action output, then the state outputs in the order of `state`."""

    observation: tuple[tuple[Port, str], ...]
    state: tuple[Port, ...]
    noise: Port | None
    outputs: tuple[str, ...]
    state_axis: int
    clock: Port | None = None
    """The input that counts frames of the motion which a tracking policy has in its file. Its actions do not depend on
    it, so it is given zeros."""

    @property
    def block(self) -> int | None:
        """Rows of one run, where the model fixes them."""
        ports = [port for port, _ in self.observation] + list(self.state) + ([self.noise] if self.noise else [])
        return next((port.rows for port in ports if port.rows is not None), None)


class OnnxLoader(Loader):
    """A network in ONNX format, run by onnxruntime."""

    name: ClassVar[str] = "onnx"
    Options: ClassVar[type[PolicyOptions]] = OnnxOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("onnxruntime", "onnx"),)
    suffixes: ClassVar[tuple[str, ...]] = (".onnx",)

    def load(self, agent: AgentCfg, options: OnnxOptions, spaces: SpaceInfo, base: Path | None) -> Policy:
        path = self.checkpoint(agent, base)
        session = self.session(path, agent.device, options.threads)
        found = session.get_modelmeta().custom_metadata_map if options.metadata == "check" else {}
        metadata = RobotMetadata.read(found, path)
        robot = RobotFit.of(metadata, spaces, options, f'agent "{agent.name}"')
        seen = {task: robot.space(task, space) for task, space in spaces.observation.items()}
        plan = make_plan(session, options, replace(spaces, observation=seen), CLOCK if metadata.tells_robot else None)
        action = next(o for o in session.get_outputs() if o.name == plan.outputs[0])
        if options.discrete != "none":
            floats = action.type in ("tensor(float)", "tensor(double)", "tensor(float16)")
            check_output_shape(action.shape, floats, spaces, f'{path.name}: output "{action.name}"')
        return OnnxPolicy(session, plan, ActionHead(spaces, options.discrete), robot)

    def files(self, agent: AgentCfg, options: OnnxOptions, base: Path | None) -> dict[str, Path]:
        """The model, and the file of external tensors that exporters write beside a large one."""
        found = super().files(agent, options, base)
        path = found.get("checkpoint")
        for ending in (".data", "_data"):
            if path is not None and (beside := path.with_name(path.name + ending)).is_file():
                found[f"checkpoint{ending}"] = beside
        return found

    def session(self, path: Path, device: str, threads: int) -> Any:
        """An onnxruntime session of a model file. Raises InputError where it cannot be loaded."""
        runtime = self.require("onnxruntime")
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        try:
            return runtime.InferenceSession(str(path), settings, providers=_providers(runtime, device))
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{path} cannot be loaded by onnxruntime: {error}") from None


def _providers(runtime: Any, device: str) -> list[Any]:
    if device == "cpu":
        return ["CPUExecutionProvider"]
    kind, _, number = device.partition(":")
    if kind != "cuda" or "CUDAExecutionProvider" not in runtime.get_available_providers():
        available = ", ".join(runtime.get_available_providers())
        raise InputError(
            f'device "{device}" is not available to onnxruntime here (it has {available}); use device: cpu'
        )
    return [("CUDAExecutionProvider", {"device_id": int(number or 0)}), "CPUExecutionProvider"]


CLOCK = "time_step"
"""What exporters of tracking policies call the input that counts frames."""


def make_plan(session: Any, options: OnnxOptions, spaces: SpaceInfo, clock: str | None = None) -> OnnxPlan:
    """Match the model's inputs and outputs to the options and to the tasks' observations; an input called `clock`
    that no option names counts frames. Raises InputError where they do not fit."""
    inputs, outputs = {i.name: i for i in session.get_inputs()}, [o.name for o in session.get_outputs()]
    taken = (*options.state, *options.inputs, options.noise, options.input)
    counted = port_of(inputs[clock], 0) if clock in inputs and clock not in taken else None
    for name in (*options.state, *options.inputs, *filter(None, (options.noise, options.input))):
        _known(name, list(inputs), "input")
    for name in (*options.state.values(), *filter(None, (options.output,))):
        _known(name, outputs, "output")
    state = tuple(port_of(inputs[name], options.state_axis) for name in options.state)
    noise = port_of(inputs[options.noise], 0) if options.noise else None
    for port in (*state, *filter(None, (noise, counted))):
        if None in port.dims:
            raise InputError(f"{port} has an open size beside the rows; export the model with fixed sizes there")
    idle = (*options.state, options.noise, counted.name if counted else None)
    rest = [name for name in inputs if name not in idle]
    observation = tuple(
        _match(port_of(inputs[name], 0), name, options, spaces) for name in _observed(rest, options, spaces)
    )
    action = options.output or next((o for o in outputs if o not in options.state.values()), None)
    if action is None:
        raise InputError(f"every output of the model ({', '.join(outputs)}) is state; none is left for actions")
    return OnnxPlan(observation, state, noise, (action, *options.state.values()), options.state_axis, counted)


def _known(name: str, known: list[str], what: str) -> None:
    if name not in known:
        raise InputError(f'the model has no {what} "{name}" (it has {", ".join(known)})')


def _observed(rest: list[str], options: OnnxOptions, spaces: SpaceInfo) -> list[str]:
    """The inputs that get observations."""
    if options.input is not None:
        rest = [name for name in rest if name == options.input]
    plain = any(path == "" for task in spaces.observation for path, _ in _space_leaves(spaces.observation[task]))
    if plain and len(rest) != 1 and not options.inputs:
        raise InputError(
            f"the model has the inputs {', '.join(rest)}, but the observation is one array; name its input "
            "with options.input, recurrent ones with options.state, a noise input with options.noise"
        )
    return rest


def port_of(value: Any, axis: int) -> Port:
    """An input of a session as a Port; `axis` counts rows."""
    if value.type not in _DTYPES:
        raise InputError(f'input "{value.name}" has type {value.type}; supported: {", ".join(_DTYPES)}')
    dims = [d if isinstance(d, int) else None for d in value.shape]
    if len(dims) <= axis:
        raise InputError(f'input "{value.name}" has shape {value.shape}; expected an axis {axis} that counts rows')
    rows = dims.pop(axis)
    return Port(value.name, _DTYPES[value.type], rows, tuple(dims))


def _match(port: Port, name: str, options: OnnxOptions, spaces: SpaceInfo) -> tuple[Port, str]:
    """The observation entry that this input gets, after checking it against every task."""
    wanted = options.inputs.get(name, name)
    chosen = ""
    for task, space in spaces.observation.items():
        leaves = dict(_space_leaves(space))
        chosen = "" if "" in leaves else wanted
        if chosen not in leaves:
            raise InputError(
                f'{port} finds no entry "{wanted}" in the observation of task "{task}" (it has '
                f"{', '.join(leaves)}); map it with options.inputs"
            )
        _check_leaf(port, leaves[chosen], task, chosen)
    return port, chosen


def _check_leaf(port: Port, leaf: Any, task: str, entry: str) -> None:
    shape, dtype = tuple(leaf.shape or ()), np.dtype(leaf.dtype)
    given = f"observation{f' entry {entry!r}' if entry else ''} (rows{''.join(f', {d}' for d in shape)}) {dtype}"
    if not port.fits(shape):
        raise InputError(f'the model wants {port}; task "{task}" gives {given}')
    if not np.can_cast(dtype, port.dtype, "same_kind"):
        raise InputError(
            f'the model wants {port}; task "{task}" gives {given}, which cannot be cast without loss of kind'
        )


def _space_leaves(space: Any) -> list[tuple[str, Any]]:
    """(dotted path, space) of every array in an observation space; the path of a bare one is empty."""
    return [(".".join(map(str, path)), entry) for path, entry in entries_of(space)]
