"""Policies and their processors by type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from lerobot.policies.act.configuration_act import ACTConfig  # noqa: F401
from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig  # noqa: F401


def get_policy_class(name: str) -> Any:
    if name == "act":
        from lerobot.policies.act.modeling_act import ACTPolicy

        return ACTPolicy
    from lerobot.policies.diffusion.modeling_diffusion import DiffusionPolicy

    return DiffusionPolicy


class Processor:
    """Normalises what goes in (`inwards`), or back what comes out, with mean and deviation."""

    def __init__(self, stats: dict[str, Any], inwards: bool):
        self.stats, self.inwards = stats, inwards
        self.file = f"policy_{'pre' if inwards else 'post'}processor.json"

    def save_pretrained(self, folder: Path) -> None:
        plain = {name: {key: value.tolist() for key, value in one.items()} for name, one in self.stats.items()}
        (Path(folder) / self.file).write_text(json.dumps(plain))

    def __call__(self, given: Any) -> Any:
        if not self.inwards:
            return given * self.stats["action"]["std"] + self.stats["action"]["mean"]
        out = {name: (given[name] - one["mean"]) / one["std"] for name, one in self.stats.items() if name in given}
        assert all(isinstance(word, str) for word in given["task"])
        return {**given, **out, "action": None, "next.reward": 0.0}


def make_pre_post_processors(config: Any, pretrained_path: str | None = None, **given: Any) -> tuple[Any, Any]:
    if pretrained_path is None:
        return Processor(given["dataset_stats"], True), Processor(given["dataset_stats"], False)
    found = []
    for inwards in (True, False):
        made = Processor({}, inwards)
        data = json.loads((Path(pretrained_path) / made.file).read_text())
        made.stats = {name: {key: torch.tensor(v) for key, v in one.items()} for name, one in data.items()}
        found.append(made)
    return found[0], found[1]
