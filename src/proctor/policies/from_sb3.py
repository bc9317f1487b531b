"""The `sb3` loader: Stable-Baselines3 zips, rebuilt from their plain fields and weights without unpickling.

Rebuilt are PPO and A2C (MlpPolicy, CnnPolicy, MultiInputPolicy), DQN, SAC, TD3 and DDPG. Actions are clipped
or rescaled as SB3's `predict` does. With `deterministic: false` actions are sampled from the policy's
distribution, with noise from the trials' own generators, never from torch's.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Batch, Policy, SpaceInfo
from proctor.policies.sb3_archive import Archive, read_archive
from proctor.policies.torch_tools import fill_module, read_weights, to_arrays, torch_device
from proctor.registry import import_object

_ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU", "elu": "ELU", "gelu": "GELU", "silu": "SiLU", "leaky_relu": "LeakyReLU"}


class Sb3Options(PolicyOptions):
    """`sb3` loader."""

    deterministic: bool = True
    activation_fn: Literal["tanh", "relu", "elu", "gelu", "silu", "leaky_relu"] | None = None
    """None: what the archive says, else the default of the policy class."""
    vec_normalize: str | None = None
    """Short for `normalize: {file: ...}`: the pickle that `VecNormalize.save` wrote."""
    algorithm: str | None = None
    """Import string to the algorithm class, for `trust: true` with one that is not SB3's own."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("vec_normalize") is None:
            return value
        normalize = value.get("normalize") or {"file": value["vec_normalize"]}
        named = normalize.get("file") if isinstance(normalize, dict) else normalize.file
        if named != value["vec_normalize"]:
            raise ValueError("give either vec_normalize or normalize, not both")
        return {**value, "normalize": normalize}


class Sb3Loader(Loader):
    """A Stable-Baselines3 zip, rebuilt from its JSON fields and weights."""

    name: ClassVar[str] = "sb3"
    Options: ClassVar[type[PolicyOptions]] = Sb3Options
    needs: ClassVar[tuple[tuple[str, str], ...]] = (("stable_baselines3", "sb3"), ("torch", "sb3"))
    suffixes: ClassVar[tuple[str, ...]] = (".zip",)

    def load(self, agent: AgentCfg, options: Sb3Options, spaces: SpaceInfo, base: Path | None) -> Policy:
        self.require("stable_baselines3")
        path, device = self.checkpoint(agent, base), torch_device(agent.device)
        archive = read_archive(path)
        if options.trust:
            model = _load_trusted(archive, options, device)
        else:
            model = _rebuild(archive, options, _one_space(spaces, agent.name), device)
        return Sb3Policy(model, options.deterministic, float(archive.data.get("exploration_rate", 0.0)))


def _one_space(spaces: SpaceInfo, agent: str) -> tuple[Any, Any]:
    """The observation and action space that all tasks share."""
    if not spaces.observation or not spaces.action:
        raise InputError(f'agent "{agent}": the sb3 loader needs the spaces of at least one task')
    (first, observation), action = next(iter(spaces.observation.items())), next(iter(spaces.action.values()))
    for task in spaces.action:
        if spaces.action[task] != action or spaces.observation[task] != observation:
            raise InputError(
                f'agent "{agent}": an SB3 model has one observation and one action space, but tasks '
                f'"{first}" and "{task}" differ; give the agent only tasks that it was trained for'
            )
    return observation, action


def _rebuild(archive: Archive, options: Sb3Options, spaces: tuple[Any, Any], device: Any) -> Any:
    """The policy, made by SB3's own class and filled with the archive's weights."""
    import torch

    observation = archive.observation_space(spaces[0])
    action = archive.action_space(spaces[1], same_bounds=options.action_scale is None)
    kwargs = archive.policy_kwargs()
    if options.activation_fn is not None:
        kwargs["activation_fn"] = getattr(torch.nn, _ACTIVATIONS[options.activation_fn])
    with zipfile.ZipFile(archive.path) as zipped, zipped.open("policy.pth") as file:
        weights = read_weights(file, f"{archive.path}, policy.pth", device)
    factory = _policy_class(archive, observation, weights)
    try:
        with torch.random.fork_rng(devices=[]):
            model = factory(observation, action, lambda _: 0.0, **kwargs).to(device)
    except (AssertionError, TypeError, ValueError) as error:
        raise archive.refuse(f"its policy class does not accept the fields found ({error})") from None
    fill_module(model, weights, str(archive.path))
    return model


def _policy_class(archive: Archive, observation: Any, weights: dict[str, Any]) -> Any:
    """Flat, image or dict policy: the archive does not name it, but its spaces and weights tell."""
    from gymnasium import spaces
    from stable_baselines3.common import policies
    from stable_baselines3.dqn import policies as dqn
    from stable_baselines3.sac import policies as sac
    from stable_baselines3.td3 import policies as td3

    flat, image, multi = {
        "actor_critic": (
            policies.ActorCriticPolicy,
            policies.ActorCriticCnnPolicy,
            policies.MultiInputActorCriticPolicy,
        ),
        "dqn": (dqn.DQNPolicy, dqn.CnnPolicy, dqn.MultiInputPolicy),
        "sac": (sac.SACPolicy, sac.CnnPolicy, sac.MultiInputPolicy),
        "td3": (td3.TD3Policy, td3.CnnPolicy, td3.MultiInputPolicy),
    }[archive.family]
    if isinstance(observation, spaces.Dict):
        return multi
    return image if any("features_extractor.cnn." in name for name in weights) else flat


def _load_trusted(archive: Archive, options: Sb3Options, device: Any) -> Any:
    """Load as SB3 does, unpickling what the archive contains."""
    name = archive.algorithm
    if options.algorithm is None and name is None:
        raise InputError(f"{archive.path}: name its class with options.algorithm, such as sb3_contrib:TQC")
    algorithm = import_object(options.algorithm or f"stable_baselines3:{name}")
    try:
        return algorithm.load(archive.path, device=device).policy
    except Exception as error:
        raise InputError(f"{archive.path} cannot be loaded by {algorithm.__name__}: {error!r}") from None


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
