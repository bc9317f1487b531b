"""Observations as LeRobot's evaluation names them."""

from __future__ import annotations

from typing import Any

import torch


def preprocess_observation(observations: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "pixels" in observations:
        pixels = observations["pixels"]
        several = isinstance(pixels, dict)
        for name, image in pixels.items() if several else [("", pixels)]:
            tensor = torch.from_numpy(image)
            assert tensor.dtype == torch.uint8
            assert tensor.shape[-1] < tensor.shape[-2]
            scaled = tensor.permute(0, 3, 1, 2).contiguous().type(torch.float32) / 255
            found[f"observation.images.{name}" if several else "observation.image"] = scaled
    if "environment_state" in observations:
        found["observation.environment_state"] = torch.from_numpy(observations["environment_state"]).float()
    if "agent_pos" in observations:
        found["observation.state"] = torch.from_numpy(observations["agent_pos"]).float()
    return found
