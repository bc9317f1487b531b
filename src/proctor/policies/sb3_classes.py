"""Which policy class of Stable-Baselines3 or sb3-contrib an archive was made by."""

from __future__ import annotations

import importlib
from typing import Any

from proctor.policies.sb3_archive import Archive


def policy_class(archive: Archive, observation: Any, weights: dict[str, Any]) -> Any:
    """Flat, image or dict policy: the archive does not name it, but its spaces and weights tell."""
    from gymnasium import spaces

    flat, image, multi = _contrib(archive, weights) if archive.is_contrib else _own(archive.family)
    if isinstance(observation, spaces.Dict):
        return multi
    return image if any("features_extractor.cnn." in name for name in weights) else flat


def _own(family: str) -> tuple[Any, Any, Any]:
    from stable_baselines3.common import policies
    from stable_baselines3.dqn import policies as dqn
    from stable_baselines3.sac import policies as sac
    from stable_baselines3.td3 import policies as td3

    return {
        "actor_critic": (
            policies.ActorCriticPolicy,
            policies.ActorCriticCnnPolicy,
            policies.MultiInputActorCriticPolicy,
        ),
        "dqn": (dqn.DQNPolicy, dqn.CnnPolicy, dqn.MultiInputPolicy),
        "sac": (sac.SACPolicy, sac.CnnPolicy, sac.MultiInputPolicy),
        "td3": (td3.TD3Policy, td3.CnnPolicy, td3.MultiInputPolicy),
    }[family]


def _contrib(archive: Archive, weights: dict[str, Any]) -> tuple[Any, Any, Any]:
    family = archive.family
    module = importlib.import_module(
        {"recurrent": "sb3_contrib.ppo_recurrent", "maskable": "sb3_contrib.ppo_mask"}.get(
            family, f"sb3_contrib.{family}"
        )
    )
    if family == "recurrent":
        return module.MlpLstmPolicy, module.CnnLstmPolicy, module.MultiInputLstmPolicy
    if family == "ars":
        linear = "net_arch" not in archive.policy_kwargs() and all("action_net.0." in name for name in weights)
        found = module.LinearPolicy if linear else module.MlpPolicy
        return found, found, found
    if family == "crossq":
        return module.MlpPolicy, module.MlpPolicy, module.MlpPolicy
    return module.MlpPolicy, module.CnnPolicy, module.MultiInputPolicy
