"""The `mjlab/rsl_rl` loader: a checkpoint `model_*.pt` as mjlab's training writes it.

The actor is built from the shapes of its weights and from `params/agent.yaml` beside the checkpoint; neither mjlab nor
rsl_rl is imported. It acts by the mean of its action distribution, as mjlab plays its policies, behind the same clip of
actions. The file is read as tensors and plain containers, so it cannot run code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from proctor.errors import InputError
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, State
from proctor.policies.torch_tools import read_weights, torch_device
from proctor.suites.mjlab.loaders.actor import (
    CLASSES,
    DISTRIBUTIONS,
    EPSILON,
    Activation,
    Distribution,
    Head,
    Weights,
    build,
    read_weights_of,
)
from proctor.suites.mjlab.loaders.training import NOTES, Training, notes_beside, read_training
from proctor_host.arrays import is_tensor
from proctor_host.trials import Trial


class RslRlOptions(PolicyOptions):
    """`mjlab/rsl_rl` loader. What is null is as `params/agent.yaml` beside the checkpoint says."""

    activation: Activation | None = None
    """What stands between the layers."""
    distribution: Distribution | None = None
    """Of actions, where the network gives two numbers for each."""
    groups: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Observation groups that the actor sees, in its order."""
    clip_actions: float | Literal["as_trained"] | None = Field(default="as_trained")
    """The largest absolute value of an action; null: any."""


class RslRlLoader(Loader):
    """A checkpoint of rsl_rl, as mjlab's training writes it."""

    name: ClassVar[str] = "mjlab/rsl_rl"
    Options: ClassVar[type[PolicyOptions]] = RslRlOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("torch", "torch"),)

    def load(self, agent: Any, options: RslRlOptions, spaces: SpaceInfo, base: Path | None) -> Policy:
        self.require("torch")
        path, where = self.checkpoint(agent, base), f'agent "{agent.name}"'
        device, trained = torch_device(agent.device), read_training(path)
        weights = read_weights_of(read_weights(path, str(path), "cpu"), f"{where}: {path.name}")
        groups = _groups(options, trained, spaces, where)
        actions = _fits(weights, groups, spaces, f"{where}: {path.name}")
        head = _head(weights, actions, options, trained, f"{where}: {path.name}")
        activation = _activation(options, trained, f"{where}: {path.name}")
        memory, network = build(weights, activation, f"{where}: {path.name}")
        clip = trained.clip_actions if options.clip_actions == "as_trained" else options.clip_actions
        return RslRlPolicy(Net(weights, memory, network, head, actions, device), groups, clip)

    def files(self, agent: Any, options: RslRlOptions, base: Path | None) -> dict[str, Path]:
        """The checkpoint, and what its run says of it."""
        found = super().files(agent, options, base)
        notes = notes_beside(found["checkpoint"]) if "checkpoint" in found else None
        return found if notes is None else {**found, NOTES: notes}


def _activation(options: RslRlOptions, trained: Training, where: str) -> str:
    chosen = options.activation or trained.activation
    if chosen is None:
        raise InputError(
            f"{where}: there is no {NOTES} beside it that says what stands between the actor's layers; set "
            f"options.activation, one of {', '.join(CLASSES)} (mjlab's own tasks have elu)"
        )
    if chosen.lower() not in CLASSES:
        raise InputError(f'{where}: {NOTES} says activation "{chosen}"; known are {", ".join(CLASSES)}')
    return chosen.lower()


def _head(weights: Weights, actions: int, options: RslRlOptions, trained: Training, where: str) -> Head:
    """By the number of outputs, and by what is said of the distribution."""
    said = options.distribution
    if said is None and trained.distribution is not None:
        said = DISTRIBUTIONS.get(trained.distribution)
        if said is None:
            raise InputError(
                f"{where}: {NOTES} says that actions are drawn from a {trained.distribution}; supported are "
                f"{', '.join(DISTRIBUTIONS)}. Export the policy to ONNX, which has the mean in it"
            )
    wanted = actions if said == "gaussian" else 2 * actions
    if said is None and weights.outputs == 2 * actions:
        raise InputError(
            f"{where}: the network gives {weights.outputs} numbers for {actions} actions, and there is no {NOTES} "
            "beside it that says of which distribution; set options.distribution: heteroscedastic or beta"
        )
    if said is not None and weights.outputs != wanted:
        raise InputError(
            f"{where}: the network ({weights}) gives {weights.outputs} numbers; the distribution {said} of {actions} "
            f"actions takes {wanted}"
        )
    return Head(said or "gaussian", trained.action_range or (-1.0, 1.0))


def _groups(options: RslRlOptions, trained: Training, spaces: SpaceInfo, where: str) -> tuple[str, ...] | None:
    """The groups that are put together, in this order; None where every task's observation is one array."""
    entries = {task: getattr(space, "spaces", None) for task, space in spaces.observation.items()}
    if all(found is None for found in entries.values()):
        return None
    named = options.groups or trained.groups
    if named is None:
        task, found = next((task, found) for task, found in entries.items() if found is not None)
        raise InputError(
            f'{where}: task "{task}" shows the observation groups {", ".join(found)}, and nothing says which of them '
            "the actor sees; set options.groups"
        )
    for task, found in entries.items():
        missing = [name for name in named if found is None or name not in found]
        if missing:
            shown = "one array" if found is None else ", ".join(found)
            raise InputError(
                f'{where}: the actor sees the observation groups {", ".join(named)}; task "{task}" shows {shown}. Set '
                f"the task's observations: [{', '.join(named)}], or options.groups"
            )
    return named


def _fits(weights: Weights, groups: tuple[str, ...] | None, spaces: SpaceInfo, where: str) -> int:
    """How many actions there are. Raises InputError where a task shows or takes something else than the network."""
    counts = set()
    for task, space in spaces.observation.items():
        leaves = [space] if groups is None else [space.spaces[name] for name in groups]
        shapes = [tuple(leaf.shape) for leaf in leaves]
        if any(len(shape) != 1 for shape in shapes) or sum(shape[0] for shape in shapes) != weights.observed:
            shown = " + ".join(map(str, shapes))
            raise InputError(
                f'{where}: the network observes {weights.observed} numbers ({weights}); task "{task}" shows {shown}'
                f"{_told(spaces, task)}. Was it trained on another task, or with other observations?"
            )
        count = int(np.prod(spaces.action[task].shape)) if task in spaces.action else weights.outputs
        if weights.outputs not in (count, 2 * count):
            raise InputError(
                f'{where}: the network gives {weights.outputs} numbers ({weights}); task "{task}" takes {count} actions'
            )
        counts.add(count)
    if len(counts) > 1:
        raise InputError(f"{where}: the tasks take {', '.join(map(str, sorted(counts)))} actions; expected one number")
    return counts.pop() if counts else weights.outputs


def _told(spaces: SpaceInfo, task: str) -> str:
    """The terms of the task's observation, where it tells of them."""
    told = spaces.briefing[task]() if task in spaces.briefing else None
    terms = told.get("terms") if isinstance(told, Mapping) else None
    shown = ", ".join(f"{term['name']} {term['size']}" for term in terms or ())
    return f" ({shown})" if shown else ""


@dataclass
class Net:
    """The actor on its device. `actions`: how many it gives."""

    weights: Weights
    memory: Any
    network: Any
    head: Head
    actions: int
    device: Any

    def __post_init__(self) -> None:
        self.network = self.network.to(self.device)
        self.memory = None if self.memory is None else self.memory.to(self.device)
        state = self.weights.state
        if self.weights.normalised:
            self._mean = state["obs_normalizer._mean"].to(self.device).reshape(-1)
            self._scale = state["obs_normalizer._std"].to(self.device).reshape(-1) + EPSILON

    def __call__(self, observed: Any, state: Any) -> tuple[Any, Any]:
        """Actions and the next state, of observations `(rows, n)` and the state: a tuple of `(rows, layers, size)`."""
        if self.weights.normalised:
            observed = (observed - self._mean) / self._scale
        if self.memory is not None:
            before: Any = tuple(part.transpose(0, 1).contiguous() for part in state)
            out, after = self.memory(observed[None], before if len(before) > 1 else before[0])
            observed, after = out[0], after if isinstance(after, tuple) else (after,)
            state = tuple(part.transpose(0, 1) for part in after)
        return self.head(self.network(observed), self.actions), state


class RslRlPolicy(Policy):
    """State: of a memory, a tuple of arrays `(rows, layers, size)`."""

    def __init__(self, net: Net, groups: tuple[str, ...] | None, clip: float | None):
        import torch

        self._torch, self._net, self._groups, self._clip = torch, net, groups, clip
        if net.memory is None:
            kind, index = net.device.type, net.device.index
            self.device = "cuda:0" if kind == "cuda" and index is None else str(net.device)

    def reset(self, trials: Sequence[Trial]) -> State:
        if self._net.weights.memory is None:
            return None
        kind, count, size = self._net.weights.memory
        return tuple(np.zeros((len(trials), count, size), np.float32) for _ in range(2 if kind == "lstm" else 1))

    def act(self, batch: Batch) -> Actions:
        torch, seen = self._torch, batch.observation
        parts = [seen] if self._groups is None else [seen[name] for name in self._groups]
        here = is_tensor(parts[0])
        with torch.inference_mode():
            columns = [torch.as_tensor(np.array(part) if not here else part).to(self._net.device) for part in parts]
            observed = columns[0] if len(columns) == 1 else torch.cat(columns, dim=-1)
            before = batch.state
            if before is not None:
                before = tuple(torch.from_numpy(np.array(part)).to(self._net.device) for part in before)
            actions, after = self._net(observed.float(), before)
            if self._clip is not None:
                actions = actions.clamp(-self._clip, self._clip)
        if here:
            return Actions(actions)
        state = None if after is None else tuple(np.array(part.cpu().numpy()) for part in after)
        return Actions(np.array(actions.cpu().numpy()), state)
