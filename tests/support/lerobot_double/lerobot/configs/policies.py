"""Configs, kept as `config.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from lerobot.configs.types import FeatureType, PolicyFeature


@dataclass
class PreTrainedConfig:
    input_features: dict[str, PolicyFeature] = field(default_factory=dict)
    output_features: dict[str, PolicyFeature] = field(default_factory=dict)
    device: str | None = None
    pretrained_backbone_weights: str | None = "ResNet18_Weights.IMAGENET1K_V1"
    n_obs_steps: int = 1
    n_action_steps: int = 1

    type: ClassVar[str]
    kinds: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        PreTrainedConfig.kinds[cls.type] = cls

    @property
    def action_feature(self) -> PolicyFeature:
        return self.output_features["action"]

    @property
    def image_features(self) -> dict[str, PolicyFeature]:
        return {key: one for key, one in self.input_features.items() if one.type == FeatureType.VISUAL}

    def save_pretrained(self, folder: Path) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "config.json").write_text(json.dumps({"type": self.type, **asdict(self)}))

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Any:
        import lerobot.policies.factory  # noqa: F401 - the kinds are known with it

        data = json.loads((Path(folder) / "config.json").read_text())
        kind = cls.kinds[data.pop("type")]
        for key in ("input_features", "output_features"):
            data[key] = {
                name: PolicyFeature(FeatureType(one["type"]), tuple(one["shape"])) for name, one in data[key].items()
            }
        return kind(**data)
