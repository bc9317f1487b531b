"""ACT's queue and ensemble around one matrix."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch

from lerobot.policies.pretrained import PreTrainedPolicy, features


class ACTPolicy(PreTrainedPolicy):
    def __init__(self, config: Any):
        super().__init__(config)
        width = sum(one.shape[0] for one in config.input_features.values())
        self.net = torch.nn.Linear(width, config.chunk_size * config.action_feature.shape[0])
        if config.temporal_ensemble_coeff is not None:
            self.temporal_ensembler = Ensembler(config.temporal_ensemble_coeff, config.chunk_size)
        self.reset()

    def reset(self) -> None:
        if self.config.temporal_ensemble_coeff is not None:
            self.temporal_ensembler.reset()
        else:
            self._action_queue: deque[Any] = deque(maxlen=self.config.n_action_steps)

    def predict_action_chunk(self, batch: dict[str, Any]) -> torch.Tensor:
        out = torch.tanh(self.net(features(batch, self.config.input_features)))
        return out.reshape(len(out), self.config.chunk_size, -1)

    def select_action(self, batch: dict[str, Any]) -> torch.Tensor:
        if self.config.temporal_ensemble_coeff is not None:
            return self.temporal_ensembler.update(self.predict_action_chunk(batch))
        if not self._action_queue:
            chunk = self.predict_action_chunk(batch)[:, : self.config.n_action_steps]
            self._action_queue.extend(chunk.transpose(0, 1))
        return self._action_queue.popleft()


class Ensembler:
    """A weighted mean of all that was said of a step, the oldest word counting most."""

    def __init__(self, coefficient: float, chunk_size: int):
        self.chunk_size = chunk_size
        self.weights = torch.exp(-coefficient * torch.arange(chunk_size))
        self.sums = torch.cumsum(self.weights, dim=0)
        self.reset()

    def reset(self) -> None:
        self.ensembled_actions: Any = None
        self.ensembled_actions_count: Any = None

    def update(self, actions: torch.Tensor) -> torch.Tensor:
        if self.ensembled_actions is None:
            mean, count = actions.clone(), torch.ones((self.chunk_size, 1), dtype=torch.long)
        else:
            known = self.ensembled_actions_count
            mean = self.ensembled_actions * self.sums[known - 1] + actions[:, :-1] * self.weights[known]
            mean = torch.cat([mean / self.sums[known], actions[:, -1:]], dim=1)
            count = torch.cat([torch.clamp(known + 1, max=self.chunk_size), torch.ones_like(known[-1:])])
        self.ensembled_actions, self.ensembled_actions_count = mean[:, 1:], count[1:]
        return mean[:, 0]
