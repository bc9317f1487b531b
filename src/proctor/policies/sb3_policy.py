"""Acting with an SB3 policy: its own forward for deterministic actions, sampling from the trials' generators else."""

from __future__ import annotations

from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.policies.protocol import Batch, Policy
from proctor.policies.torch_tools import to_arrays


class Sb3Policy(Policy):
    """`exploration_rate` is the share of random actions of a DQN that is not deterministic."""

    def __init__(self, model: Any, deterministic: bool, exploration_rate: float):
        model.set_training_mode(False)
        if any("lstm" in name for name in model.state_dict()):
            raise InputError("this is a recurrent SB3 policy, which the sb3 loader does not run; export it to ONNX")
        self.model = model
        self._sample = None if deterministic else _sampler(model, exploration_rate)

    def act(self, batch: Batch) -> np.ndarray:
        if self._sample is None:
            return self.model.predict(batch.observation, deterministic=True)[0]
        import torch

        observation, _ = self.model.obs_to_tensor(batch.observation)
        with torch.inference_mode():
            actions = self._sample(observation, batch)
        return _into_space(self.model, np.asarray(actions))


def _into_space(model: Any, actions: np.ndarray) -> np.ndarray:
    """Reshape, then unscale (squashed policies) or clip, as SB3 does."""
    from gymnasium import spaces

    space = model.action_space
    actions = actions.reshape(len(actions), *space.shape)
    if not isinstance(space, spaces.Box):
        return actions
    return model.unscale_action(actions) if model.squash_output else np.clip(actions, space.low, space.high)


def _sampler(model: Any, exploration_rate: float) -> Any:
    """A function (observation tensors, batch) -> raw actions."""
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import DQNPolicy
    from stable_baselines3.sac.policies import SACPolicy
    from stable_baselines3.td3.policies import TD3Policy

    trained = model.actor if isinstance(model, SACPolicy) else model
    if isinstance(model, ActorCriticPolicy | SACPolicy) and trained.use_sde:
        raise InputError(
            "deterministic: false is not supported for a policy trained with use_sde; use deterministic: true"
        )
    if isinstance(model, ActorCriticPolicy):
        return lambda observation, batch: _sample_actor_critic(model, observation, batch)
    if isinstance(model, SACPolicy):
        return lambda observation, batch: _sample_sac(model, observation, batch)
    if isinstance(model, DQNPolicy):
        return lambda observation, batch: _sample_dqn(model, observation, batch, exploration_rate)
    if isinstance(model, TD3Policy):
        return lambda observation, batch: to_arrays(model.actor(observation))
    raise InputError(
        f"deterministic: false is not supported for {type(model).__name__}, whose samples would come from a "
        "global generator"
    )


def _sample_actor_critic(model: Any, observation: Any, batch: Batch) -> np.ndarray:
    from stable_baselines3.common import distributions as dist

    found = model.get_distribution(observation)
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


def _sample_dqn(model: Any, observation: Any, batch: Batch, rate: float) -> np.ndarray:
    best = to_arrays(model.q_net(observation).argmax(dim=1))
    explore = batch.uniform((2,))
    at_random = np.floor(explore[:, 1] * model.action_space.n).astype(best.dtype)
    return np.where(explore[:, 0] < rate, at_random, best)
