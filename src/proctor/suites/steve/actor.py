"""eve_rl's Gaussian actor as a module: parameters have the names that its checkpoints use. Imported where torch is."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Layers(nn.Module):
    """An input layer, hidden layers with a ReLU behind each but not behind the first, and output layers if any."""

    def __init__(self, weights: dict[str, torch.Tensor], prefix: str):
        super().__init__()

        def linear(name: str) -> nn.Linear:
            out, into = weights[f"{prefix}.{name}.weight"].shape
            return nn.Linear(into, out)

        self._input_layer = linear("_input_layer")
        self._layers = nn.ModuleList(linear(f"_layers.{i}") for i in _numbers(weights, f"{prefix}._layers."))
        outputs = _numbers(weights, f"{prefix}._output_layers.")
        if outputs:
            self._output_layers = nn.ModuleList(linear(f"_output_layers.{i}") for i in outputs)

    def hidden(self, flat: torch.Tensor) -> torch.Tensor:
        flat = self._input_layer(flat)
        for layer in self._layers:
            flat = torch.relu(layer(flat))
        return flat


class Memory(nn.Module):
    """An LSTM."""

    def __init__(self, weights: dict[str, torch.Tensor], prefix: str):
        super().__init__()
        first = weights[f"{prefix}._lstm.weight_ih_l0"]
        layers = len([name for name in weights if name.startswith(f"{prefix}._lstm.weight_ih_l")])
        self._lstm = nn.LSTM(first.shape[1], first.shape[0] // 4, layers, batch_first=True)


class Actor(nn.Module):
    """The tanh of the mean, times `scaling`. Entries of a dict observation are flattened in `order`, or in their own.
    With an LSTM: (observation, state) to (action, state), states (rows, layers, nodes)."""

    def __init__(
        self, weights: dict[str, torch.Tensor], scaling: float, order: list[str] | None, double_step: bool
    ) -> None:
        super().__init__()
        self.recurrent = any(name.startswith("head._lstm.") for name in weights)
        if self.recurrent:
            self.head: nn.Module | None = Memory(weights, "head")
        else:
            self.head = Layers(weights, "head") if any(name.startswith("head.") for name in weights) else None
        self.body = Layers(weights, "body")
        self._scaling, self.order, self._passes = scaling, order, 2 if double_step else 1
        first = (
            "head._lstm.weight_ih_l0" if self.recurrent else f"{'head' if self.head else 'body'}._input_layer.weight"
        )
        self.n_observations = int(weights[first].shape[1])

    def initial_state(self) -> tuple[torch.Tensor, torch.Tensor]:
        """One trial's."""
        lstm: Any = self.head._lstm  # type: ignore[union-attr]
        shape = (lstm.num_layers, lstm.hidden_size)
        return torch.zeros(shape), torch.zeros(shape)

    def forward(self, observation: Any, state: Any = None) -> Any:
        flat = observation
        if isinstance(observation, dict):
            flat = torch.cat([observation[name].flatten(1) for name in self.order or observation], dim=1)
        if not self.recurrent:
            return self._act(self.head.hidden(flat) if isinstance(self.head, Layers) else flat)
        assert isinstance(self.head, Memory)
        inner = tuple(part.transpose(0, 1).contiguous() for part in state)
        out = flat
        for _ in range(self._passes):
            out, inner = self.head._lstm(flat[:, None], inner)
        return self._act(out[:, 0]), tuple(part.transpose(0, 1).contiguous() for part in inner)

    def _act(self, flat: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.body._output_layers[0](self.body.hidden(flat))) * self._scaling


def _numbers(weights: dict[str, Any], prefix: str) -> list[int]:
    return sorted({int(name[len(prefix) :].split(".")[0]) for name in weights if name.startswith(prefix)})
