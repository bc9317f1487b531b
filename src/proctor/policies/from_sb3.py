"""The `sb3` loader: zips of Stable-Baselines3 and sb3-contrib, rebuilt from their plain fields and weights without
unpickling.

Rebuilt are PPO, A2C and TRPO (MlpPolicy, CnnPolicy, MultiInputPolicy), DQN, SAC, TD3, DDPG, RecurrentPPO, MaskablePPO,
TQC, QRDQN, CrossQ and ARS. Actions are clipped or rescaled as SB3's `predict` does. With `deterministic: false` actions
are sampled from the policy's distribution, with noise from the trials' own generators, never from torch's.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, State
from proctor.policies.sb3_archive import Archive, policy_class, read_archive
from proctor.policies.sb3_sampling import into_space, require_noise_of_ours, sample_distribution, sampler
from proctor.policies.torch_tools import fill_module, read_weights, to_arrays, torch_device
from proctor.registry import import_object
from proctor.spaces import INFO, OBSERVATION, is_handed
from proctor_host.trials import Trial

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
    action_mask: str | None = None
    """MaskablePPO: the entry of the observation that says which actions are allowed, with dots (`info.action_mask`);
    None: all are."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if str(value.get("action_mask") or "").startswith(f"{INFO}."):
            value = {**value, "info": True}
        if value.get("vec_normalize") is None:
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
    needs: ClassVar[tuple[tuple[str, str], ...]] = (
        ("stable_baselines3", "sb3"),
        ("torch", "sb3"),
        ("sb3_contrib", "sb3"),
    )
    suffixes: ClassVar[tuple[str, ...]] = (".zip",)

    def load(self, agent: AgentCfg, options: Sb3Options, spaces: SpaceInfo, base: Path | None) -> Policy:
        self.require("stable_baselines3")
        path, device = self.checkpoint(agent, base), torch_device(agent.device)
        archive = read_archive(path)
        if (options.algorithm or archive.algorithm or "").startswith("sb3_contrib:"):
            self.require("sb3_contrib")
        mask = None if options.action_mask is None else Mask(options.action_mask, spaces)
        if options.trust:
            model = _load_trusted(archive, options, device)
        else:
            seen = spaces if mask is None else mask.model_spaces(spaces)
            model = _rebuild(archive, options, _one_space(seen, agent.name), device)
        if mask is None:
            return policy_of(model, options.deterministic, float(archive.data.get("exploration_rate", 0.0)))
        if archive.family != "maskable":
            raise InputError(f"{path} is no MaskablePPO; leave options.action_mask out")
        model.set_training_mode(False)
        return MaskedSb3Policy(model, mask, options.deterministic)


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
    factory = policy_class(archive, observation, weights)
    schedule = () if archive.family == "ars" else (lambda _: 0.0,)
    try:
        with torch.random.fork_rng(devices=[]):
            model = factory(observation, action, *schedule, **kwargs).to(device)
    except (AssertionError, TypeError, ValueError) as error:
        raise archive.refuse(f"its policy class does not accept the fields found ({error})") from None
    fill_module(model, weights, str(archive.path))
    return model


def _load_trusted(archive: Archive, options: Sb3Options, device: Any) -> Any:
    """Load as SB3 does, unpickling what the archive contains."""
    name = options.algorithm or archive.algorithm
    if name is None:
        raise InputError(f"{archive.path}: name its class with options.algorithm, such as sb3_contrib:TQC")
    algorithm = import_object(name)
    try:
        return algorithm.load(archive.path, device=device).policy
    except Exception as error:
        raise InputError(f"{archive.path} cannot be loaded by {algorithm.__name__}: {error!r}") from None


def policy_of(model: Any, deterministic: bool = True, exploration_rate: float = 0.0) -> Policy:
    """The policy of an SB3 policy network, in evaluation mode."""
    model.set_training_mode(False)
    if any("lstm" in name for name in model.state_dict()):
        return RecurrentSb3Policy(model, deterministic)
    return Sb3Policy(model, deterministic, exploration_rate)


class Sb3Policy(Policy):
    """`exploration_rate` is the share of random actions of a DQN that is not deterministic."""

    def __init__(self, model: Any, deterministic: bool, exploration_rate: float):
        self.model = model
        self._sample = None if deterministic else sampler(model, exploration_rate)

    def act(self, batch: Batch) -> np.ndarray:
        if self._sample is None:
            return self.model.predict(batch.observation, deterministic=True)[0]
        import torch

        observation, _ = self.model.obs_to_tensor(batch.observation)
        with torch.inference_mode():
            actions = self._sample(observation, batch)
        return into_space(self.model, np.asarray(actions))


class RecurrentSb3Policy(Policy):
    """RecurrentPPO. State: what its actor's LSTM remembers, a pair of arrays (rows, layers, hidden)."""

    def __init__(self, model: Any, deterministic: bool):
        self.model, self._deterministic = model, deterministic
        if not deterministic:
            require_noise_of_ours(model)

    def reset(self, trials: Sequence[Trial]) -> State:
        layers, _, hidden = self.model.lstm_hidden_state_shape
        zeros = np.zeros((len(trials), layers, hidden), np.float32)
        return zeros, zeros.copy()

    def act(self, batch: Batch) -> Actions:
        import torch

        memory = tuple(np.ascontiguousarray(np.moveaxis(part, 0, 1)) for part in batch.state)
        starts = np.zeros(len(batch), bool)
        if self._deterministic:
            actions, after = self.model.predict(batch.observation, memory, starts, deterministic=True)
        else:
            observation, _ = self.model.obs_to_tensor(batch.observation)
            tensors = tuple(torch.from_numpy(part).to(self.model.device) for part in memory)
            with torch.inference_mode():
                first = torch.zeros(len(batch), device=self.model.device)
                found, after = self.model.get_distribution(observation, tensors, first)
                drawn = sample_distribution(found, batch)
            actions, after = into_space(self.model, np.asarray(drawn)), to_arrays(after)
        return Actions(actions, tuple(np.moveaxis(np.asarray(part), 1, 0) for part in after))


class MaskedSb3Policy(Policy):
    """MaskablePPO with a mask from the observation."""

    def __init__(self, model: Any, mask: Mask, deterministic: bool):
        self.model, self._mask = model, mask
        if not deterministic:
            raise InputError("deterministic: false is not supported with options.action_mask")

    def act(self, batch: Batch) -> np.ndarray:
        observation, allowed = self._mask.split(batch.observation)
        return self.model.predict(observation, action_masks=allowed.astype(bool), deterministic=True)[0]


class Mask:
    """Where an observation says which actions are allowed: a dotted path to an entry with one number per choice, true
    for what may be done. The rest of the observation is the model's."""

    def __init__(self, name: str, spaces: SpaceInfo):
        self._path = name.split(".")
        for task, space in spaces.observation.items():
            entry: Any = space
            for part in self._path:
                inner = getattr(entry, "spaces", None)
                if not isinstance(inner, dict) or part not in inner:
                    known = f"it has {', '.join(inner)}" if isinstance(inner, dict) else f"it is {entry}"
                    raise InputError(
                        f'options.action_mask: the observation of task "{task}" has no "{name}" ({known}); a Gymnasium '
                        f"task hands on what its environment says in info: set the task's option info: "
                        f"[{self._path[-1]}]"
                    )
                entry = inner[part]

    def model_spaces(self, spaces: SpaceInfo) -> SpaceInfo:
        """What the model sees."""
        from gymnasium.spaces import Dict

        def rest(space: Any) -> Any:
            if is_handed(space):
                return space.spaces[OBSERVATION]
            return Dict({key: entry for key, entry in space.spaces.items() if key != self._path[0]})

        return replace(spaces, observation={task: rest(space) for task, space in spaces.observation.items()})

    def split(self, observation: Any) -> tuple[Any, np.ndarray]:
        """The model's part of an observation, and the mask."""
        mask = observation
        for part in self._path:
            mask = mask[part]
        if set(observation) == {OBSERVATION, INFO}:
            return observation[OBSERVATION], mask
        return {key: entry for key, entry in observation.items() if key != self._path[0]}, mask
