"""Actions sampled from the distributions of SB3's policies, with noise from the trials' own generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.protocol import Batch
from proctor.policies.torch_tools import to_arrays


def into_space(model: Any, actions: np.ndarray) -> np.ndarray:
    """Reshape, then unscale (squashed policies) or clip, as SB3 does."""
    from gymnasium import spaces

    space = model.action_space
    actions = actions.reshape(len(actions), *space.shape)
    if not isinstance(space, spaces.Box):
        return actions
    return model.unscale_action(actions) if model.squash_output else np.clip(actions, space.low, space.high)


def sampler(model: Any, exploration_rate: float) -> Any:
    """A function (observation tensors, batch) -> raw actions."""
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import DQNPolicy
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import TD3Policy

    require_noise_of_ours(model)
    name = type(model).__name__
    if isinstance(model, ActorCriticPolicy):
        return lambda observation, batch: sample_distribution(model.get_distribution(observation), batch)
    if isinstance(model, SACPolicy) or name in ("TQCPolicy", "CrossQPolicy"):
        return lambda observation, batch: _sample_sac(model, observation, batch)
    if isinstance(model, DQNPolicy):
        return lambda observation, batch: _explore(model, model.q_net(observation), batch, exploration_rate)
    if model.__class__.__module__ == "sb3_contrib.qrdqn.policies":
        return lambda observation, batch: _explore(
            model, model.quantile_net(observation).mean(dim=1), batch, exploration_rate
        )
    if isinstance(model, TD3Policy):
        return lambda observation, batch: to_arrays(model.actor(observation))
    raise InputError(
        f"deterministic: false is not supported for {type(model).__name__}, whose samples would come from a "
        "global generator"
    )


def require_noise_of_ours(model: Any) -> None:
    """Raise InputError for a policy that was trained with state-dependent noise, which comes from torch's generator."""
    trained = getattr(model, "actor", None)
    if getattr(trained if hasattr(trained, "use_sde") else model, "use_sde", False):
        raise InputError(
            "deterministic: false is not supported for a policy trained with use_sde; use deterministic: true"
        )


def sample_distribution(found: Any, batch: Batch) -> np.ndarray:
    """Raw actions from an SB3 distribution."""
    from stable_baselines3.common import distributions as dist

    if isinstance(found, dist.DiagGaussianDistribution):
        mean, std = to_arrays(found.distribution.mean), to_arrays(found.distribution.stddev)
        return mean + std * batch.normal(mean.shape[1:], np.float32)
    if isinstance(found, dist.CategoricalDistribution):
        return pick(to_arrays(found.distribution.probs), batch.uniform())
    if isinstance(found, dist.MultiCategoricalDistribution):
        drawn = batch.uniform((len(found.distribution),))
        picked = [pick(to_arrays(part.probs), drawn[:, i]) for i, part in enumerate(found.distribution)]
        return np.stack(picked, axis=1)
    if isinstance(found, dist.BernoulliDistribution):
        probs = to_arrays(found.distribution.probs)
        return (batch.uniform(probs.shape[1:]) < probs).astype(np.float32)
    raise InputError(f"deterministic: false is not supported for {type(found).__name__}")


def pick(probs: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """One choice per row: the first whose cumulative probability exceeds the row's uniform number. Choices of
    probability 0 are never picked."""
    cumulative = np.cumsum(probs.astype(np.float64), axis=1)
    return (cumulative > uniform[:, None] * cumulative[:, -1:]).argmax(axis=1)


def _sample_sac(model: Any, observation: Any, batch: Batch) -> np.ndarray:
    import torch

    mean, log_std, _ = model.actor.get_action_dist_params(observation)
    noise = torch.from_numpy(batch.normal(tuple(mean.shape[1:]), np.float32)).to(mean.device)
    return to_arrays(torch.tanh(mean + log_std.exp() * noise))


def _explore(model: Any, values: Any, batch: Batch, rate: float) -> np.ndarray:
    """The action of the best value (rows, choices), or with probability `rate` any."""
    best = to_arrays(values.argmax(dim=1))
    explore = batch.uniform((2,))
    at_random = np.floor(explore[:, 1] * model.action_space.n).astype(best.dtype)
    return np.where(explore[:, 0] < rate, at_random, best)
