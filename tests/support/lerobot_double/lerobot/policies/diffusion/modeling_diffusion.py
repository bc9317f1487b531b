"""Diffusion's queues around one matrix, which noise is led through a few times."""

from __future__ import annotations

from collections import deque
from typing import Any

import torch

from lerobot.policies.pretrained import PreTrainedPolicy
from lerobot.policies.utils import populate_queues


class DiffusionPolicy(PreTrainedPolicy):
    def __init__(self, config: Any):
        super().__init__(config)
        self._queues: Any = None
        self.diffusion = Model(config)
        self.reset()

    def reset(self) -> None:
        self._queues = {
            "observation.state": deque(maxlen=self.config.n_obs_steps),
            "action": deque(maxlen=self.config.n_action_steps),
        }
        if self.config.image_features:
            self._queues["observation.images"] = deque(maxlen=self.config.n_obs_steps)

    def predict_action_chunk(self, batch: dict[str, Any], noise: Any = None) -> torch.Tensor:
        seen = {key: torch.stack(list(self._queues[key]), dim=1) for key in batch if key in self._queues}
        return self.diffusion.generate_actions(seen, noise=noise)

    def select_action(self, batch: dict[str, Any], noise: Any = None) -> torch.Tensor:
        batch = {key: value for key, value in batch.items() if key != "action"}
        if self.config.image_features:
            batch["observation.images"] = torch.stack([batch[key] for key in self.config.image_features], dim=-4)
        self._queues = populate_queues(self._queues, batch)
        if not self._queues["action"]:
            self._queues["action"].extend(self.predict_action_chunk(batch, noise=noise).transpose(0, 1))
        return self._queues["action"].popleft()


class Model(torch.nn.Module):
    def __init__(self, config: Any):
        super().__init__()
        self.config = config
        width = config.n_obs_steps * sum(one.shape[0] for one in config.input_features.values())
        size = config.horizon * config.action_feature.shape[0]
        self.net = torch.nn.Linear(width + size, size)

    def conditional_sample(self, rows: int, global_cond: Any = None, generator: Any = None, noise: Any = None) -> Any:
        """Each step but the last adds noise, from one generator for all rows or from one for each."""
        sample = noise
        for step in range(3):
            out = torch.tanh(self.net(torch.cat([global_cond, sample.flatten(1)], dim=1))).reshape(sample.shape)
            if step < 2 and self.config.noise_scheduler_type == "DDPM":
                shape = (1, *sample.shape[1:])
                assert isinstance(generator, list), "noise that is nobody's"
                out = out + 0.1 * torch.cat([torch.randn(shape, generator=one) for one in generator])
            sample = out
        return sample

    def generate_actions(self, batch: dict[str, Any], noise: Any = None) -> torch.Tensor:
        parts = [batch["observation.state"]]
        if "observation.images" in batch:
            parts.append(batch["observation.images"].mean(dim=(-2, -1)).flatten(2))
        rows, steps = parts[0].shape[:2]
        assert steps == self.config.n_obs_steps
        actions = self.conditional_sample(rows, global_cond=torch.cat(parts, dim=-1).flatten(1), noise=noise)
        return actions[:, steps - 1 : steps - 1 + self.config.n_action_steps]
