"""From the weights of a checkpoint of rsl_rl to the network that they belong to.

The shapes say how large the layers are, how many there are, whether observations are normalised and whether there is a
memory; they do not say what stands between two layers, nor which of two distributions needs twice as many outputs as
there are actions. rsl_rl 4 and 5 keep the actor by itself (`actor_state_dict`), 2 and 3 keep it with the critic
(`model_state_dict`) under other names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from proctor.errors import InputError

Activation = Literal[
    "elu", "selu", "relu", "crelu", "lrelu", "tanh", "sigmoid", "softplus", "gelu", "swish", "mish", "identity"
]
CLASSES = {
    "elu": "ELU",
    "selu": "SELU",
    "relu": "ReLU",
    "crelu": "CELU",
    "lrelu": "LeakyReLU",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "gelu": "GELU",
    "swish": "SiLU",
    "mish": "Mish",
    "identity": "Identity",
}
"""The activations of rsl_rl: its name, and the class of torch."""
Distribution = Literal["gaussian", "heteroscedastic", "beta"]
DISTRIBUTIONS: dict[str, Distribution] = {
    "GaussianDistribution": "gaussian",
    "HeteroscedasticGaussianDistribution": "heteroscedastic",
    "BetaDistribution": "beta",
}
EPSILON = 1e-2
"""What rsl_rl adds to the standard deviation of an observation before it divides by it."""
OLD_NAMES = {"actor.": "mlp.", "actor_obs_normalizer.": "obs_normalizer.", "memory_a.": "rnn."}
"""Names of rsl_rl 2 and 3, and those since 4."""
SUPPORTED = "supported are actors of linear layers, with a normaliser of observations and an LSTM or a GRU or without"


@dataclass(frozen=True)
class Weights:
    """An actor, as its weights tell. `layers`: the linear layers in their order, each the numbers it takes and gives.
    `memory`: `lstm` or `gru`, its layers and its size."""

    state: Mapping[str, Any]
    layers: tuple[tuple[int, int], ...]
    places: tuple[int, ...]
    normalised: bool
    memory: tuple[str, int, int] | None = None
    observed: int = field(init=False)
    """How many numbers it observes."""

    def __post_init__(self) -> None:
        first = self.layers[0][0] if self.memory is None else self.state["rnn.rnn.weight_ih_l0"].shape[1]
        object.__setattr__(self, "observed", int(first))

    @property
    def outputs(self) -> int:
        return self.layers[-1][1]

    def __str__(self) -> str:
        shown = " -> ".join(str(size) for size in (self.layers[0][0], *(out for _, out in self.layers)))
        if self.memory is None:
            return shown
        kind, count, size = self.memory
        return f"{self.observed} -> {kind} of {count} x {size} -> {shown.partition(' -> ')[2]}"


def read_weights_of(checkpoint: Any, where: str) -> Weights:
    """The actor in what `torch.save` wrote. Raises InputError for what is no checkpoint of rsl_rl's, and for an actor
    of a kind that is not built here."""
    state = _actor_state(checkpoint, where)
    known = re.compile(r"(mlp\.\d+\.(weight|bias)|obs_normalizer\.(_mean|_var|_std|count)|rnn\.rnn\..*)$")
    other = [name for name in state if not known.match(name)]
    if other:
        what = "an image encoder" if any("cnn" in name for name in other) else "parts that are not known"
        raise InputError(f"{where}: the actor has {what} ({', '.join(other[:4])}); {SUPPORTED}")
    places = sorted(int(name.split(".")[1]) for name in state if name.startswith("mlp.") and name.endswith(".weight"))
    if not places:
        raise InputError(
            f"{where}: the actor has no linear layers (found {', '.join(state) or 'nothing'}); {SUPPORTED}"
        )
    shapes = [tuple(state[f"mlp.{place}.weight"].shape) for place in places]
    layers = tuple((int(shape[1]), int(shape[0])) for shape in shapes if len(shape) == 2)
    chained = all(before[1] == after[0] for before, after in pairwise(layers))
    if len(layers) != len(shapes) or not chained or places != list(range(0, 2 * len(places), 2)):
        found = ", ".join(f"mlp.{place} {shape}" for place, shape in zip(places, shapes, strict=True))
        raise InputError(f"{where}: the actor's layers do not follow one another ({found}); {SUPPORTED}")
    weights = Weights(state, layers, tuple(places), "obs_normalizer._mean" in state, _memory(state))
    if weights.memory is not None and weights.memory[2] != layers[0][0]:
        raise InputError(
            f"{where}: the actor's memory gives {weights.memory[2]} numbers, its layers take {layers[0][0]}"
        )
    if weights.normalised and state["obs_normalizer._mean"].numel() != weights.observed:
        count = state["obs_normalizer._mean"].numel()
        raise InputError(f"{where}: the normaliser is of {count} observations, the network of {weights.observed}")
    return weights


def _actor_state(checkpoint: Any, where: str) -> dict[str, Any]:
    """The actor's weights under the names of rsl_rl 5, without those of the distribution, which no mean needs."""
    found = checkpoint if isinstance(checkpoint, Mapping) else {}
    if isinstance(found.get("actor_state_dict"), Mapping):
        state = dict(found["actor_state_dict"])
    elif isinstance(found.get("model_state_dict"), Mapping):
        whole = dict(found["model_state_dict"])
        if any(str(name).startswith("student.") for name in whole):
            raise InputError(f"{where} is a distillation of rsl_rl 3 or older, a student and its teacher; {SUPPORTED}")
        state = {
            new + name.removeprefix(old): value
            for name, value in whole.items()
            for old, new in OLD_NAMES.items()
            if str(name).startswith(old)
        }
        normaliser = found.get("obs_norm_state_dict")
        for name, value in (normaliser if isinstance(normaliser, Mapping) else {}).items():
            state[f"obs_normalizer.{name}"] = value
    else:
        has = ", ".join(map(str, found)) or f"a {type(checkpoint).__name__}"
        hint = "; a student is exported to ONNX or TorchScript by its runner" if "student_state_dict" in found else ""
        raise InputError(f"{where} is no checkpoint of rsl_rl: expected actor_state_dict in it, found {has}{hint}")
    drawn = ("distribution.", "std", "log_std")
    return {str(name): value for name, value in state.items() if not str(name).startswith(drawn)}


def _memory(state: Mapping[str, Any]) -> tuple[str, int, int] | None:
    if "rnn.rnn.weight_hh_l0" not in state:
        return None
    gates, size = state["rnn.rnn.weight_hh_l0"].shape
    count = sum(name.startswith("rnn.rnn.weight_hh_l") for name in state)
    return {4: "lstm", 3: "gru"}.get(gates // size, "rnn"), count, int(size)


@dataclass(frozen=True)
class Head:
    """From what the last layer gives to an action: the mean of a distribution."""

    kind: Distribution
    span: tuple[float, float] = (-1.0, 1.0)

    def __call__(self, output: Any, actions: int) -> Any:
        import torch

        if self.kind == "gaussian":
            return output
        pairs = output.unflatten(-1, (2, actions))
        if self.kind == "heteroscedastic":
            return pairs[..., 0, :]
        alpha, beta = (torch.nn.functional.softplus(raw) + 1.0 for raw in torch.unbind(pairs, dim=-2))
        return (alpha / (alpha + beta)) * (self.span[1] - self.span[0]) + self.span[0]


def build(weights: Weights, activation: str, where: str) -> tuple[Any, Any]:
    """The memory (None where there is none) and the network after it, with their weights, in evaluation mode; the
    normaliser is in front of both and made by `normaliser`."""
    from torch import nn

    from proctor.policies.torch_tools import fill_module

    parts: list[Any] = []
    for place, (taken, given) in enumerate(weights.layers):
        parts += [nn.Linear(taken, given), getattr(nn, CLASSES[activation])()]
        assert weights.places[place] == len(parts) - 2
    network = nn.Sequential(*parts[:-1])
    fill_module(network, _below(weights.state, "mlp."), where)
    memory = None
    if weights.memory is not None:
        kind, count, size = weights.memory
        if kind == "rnn":
            raise InputError(f"{where}: the actor's memory is neither an LSTM nor a GRU; {SUPPORTED}")
        memory = (nn.LSTM if kind == "lstm" else nn.GRU)(weights.observed, size, count)
        fill_module(memory, _below(weights.state, "rnn.rnn."), where)
        memory.eval()
    return memory, network.eval()


def _below(state: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
