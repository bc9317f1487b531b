"""What an SB3 zip says about itself in plain JSON, the class of its policy among it.

The archive's `data` entry is JSON in which everything that JSON cannot hold is stored twice: as a base64 pickle under
`:serialized:`, never touched here, and as readable fields (attributes, or their printed form). The readable fields are
enough for spaces, network sizes and the usual classes. What they do not tell raises InputError.
"""

from __future__ import annotations

import importlib
import json
import re
import zipfile
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.foreign import check_weights, read_text

_MODULES = {
    "stable_baselines3.common.policies": "actor_critic",
    "stable_baselines3.dqn.policies": "dqn",
    "stable_baselines3.sac.policies": "sac",
    "stable_baselines3.td3.policies": "td3",
    "sb3_contrib.ars.policies": "ars",
    "sb3_contrib.common.maskable.policies": "maskable",
    "sb3_contrib.common.recurrent.policies": "recurrent",
    "sb3_contrib.crossq.policies": "crossq",
    "sb3_contrib.qrdqn.policies": "qrdqn",
    "sb3_contrib.tqc.policies": "tqc",
}
_CONTRIB = {
    "ars": "ARS",
    "maskable": "MaskablePPO",
    "recurrent": "RecurrentPPO",
    "crossq": "CrossQ",
    "qrdqn": "QRDQN",
    "tqc": "TQC",
}
_WITH_SDE = ("actor_critic", "sac", "tqc", "crossq", "recurrent")
_CLASS = re.compile(r"<class '([\w.]+)\.(\w+)'>")
_SUBSPACE = re.compile(r"'([^']+)': (\w+)\(")
_BOX_TAIL = re.compile(r"\((\d+(?:, ?\d+)*,?|)\), (\w+)\)")
_UNUSED_KWARGS = frozenset({"optimizer_class", "optimizer_kwargs", "ortho_init", "use_sde"})
_EXTRACTORS = ("FlattenExtractor", "NatureCNN", "CombinedExtractor")


@dataclass(frozen=True)
class Archive:
    """The readable part of a zip: `data` is its JSON."""

    path: Path
    data: dict[str, Any]

    @property
    def family(self) -> str:
        """`actor_critic` (PPO, A2C, TRPO), `dqn`, `sac`, `td3` (TD3, DDPG), or one of sb3-contrib: `ars`, `maskable`,
        `recurrent`, `crossq`, `qrdqn`, `tqc`. Raises InputError for a policy class of somebody else."""
        module = self._fields("policy_class").get("__module__", "")
        if module not in _MODULES:
            raise InputError(
                f"{self.path}: its policy class is from {module or 'an unknown module'}; the sb3 loader runs those of "
                "Stable-Baselines3 and sb3-contrib. Export the policy to ONNX, or load it in Python "
                "(policy: file.py:function)"
            )
        return _MODULES[module]

    @property
    def is_contrib(self) -> bool:
        """Whether its policy class is one of sb3-contrib."""
        return self.family in _CONTRIB

    @property
    def algorithm(self) -> str | None:
        """Import string of the class that reads this archive, by its policy or by fields that only it has; None where
        they do not tell."""
        family = _MODULES.get(self._fields("policy_class").get("__module__", ""))
        if family in _CONTRIB:
            return f"sb3_contrib:{_CONTRIB[family]}"
        if "cg_max_steps" in self.data:
            return "sb3_contrib:TRPO"
        signs = {
            "clip_range": "PPO",
            "exploration_schedule": "DQN",
            "target_policy_noise": "TD3",
            "use_rms_prop": "A2C",
        }
        signs |= {"ent_coef_optimizer": "SAC", "target_entropy": "SAC", "gae_lambda": "A2C"}
        found = next((name for field, name in signs.items() if field in self.data), None)
        return None if found is None else f"stable_baselines3:{found}"

    def refuse(self, reason: str) -> InputError:
        """For what the archive does not say, or says otherwise than its class takes it."""
        return InputError(
            f"{self.path} cannot be rebuilt from its plain fields: {reason}. Save the model again with the installed "
            "Stable-Baselines3, or export the policy to ONNX"
        )

    def unreadable(self, name: str, value: Any) -> InputError:
        """For a keyword argument that only its pickle tells."""
        return InputError(
            f'{self.path} cannot be rebuilt from its plain fields: policy_kwargs["{name}"] is {value}. If you trust '
            "the file, set options.trust: true; it is then loaded by Stable-Baselines3 itself, which unpickles what it "
            "contains"
        )

    def _fields(self, name: str) -> dict[str, Any]:
        found = self.data.get(name)
        return found if isinstance(found, dict) else {}

    def policy_kwargs(self) -> dict[str, Any]:
        """Keyword arguments of the policy class, with classes resolved from their printed names. What only
        concerns training is left out."""
        raw = self.data.get("policy_kwargs") or {}
        kwargs = {k: v for k, v in raw.items() if not k.startswith(":") and k not in _UNUSED_KWARGS}
        for name, value in kwargs.items():
            if name in ("activation_fn", "features_extractor_class"):
                kwargs[name] = self._class(name, value)
            elif isinstance(value, str):
                raise self.unreadable(name, value)
        if self.data.get("use_sde") and self.family in _WITH_SDE:
            kwargs["use_sde"] = True
        return kwargs

    def _class(self, name: str, text: Any) -> Any:
        import torch
        from stable_baselines3.common import torch_layers

        match = _CLASS.fullmatch(str(text))
        module, kind = match.groups() if match else ("", "")
        if name == "activation_fn" and module == "torch.nn.modules.activation":
            return getattr(torch.nn, kind)
        if module == "stable_baselines3.common.torch_layers" and kind in _EXTRACTORS:
            return getattr(torch_layers, kind)
        raise self.unreadable(name, text)

    def observation_space(self, given: Any) -> Any:
        """The space the policy was trained on: the task's, checked against the archive, with channel order
        and entry order as the archive has them."""
        fields = self._fields("observation_space")
        kind = self._kind("observation_space")
        if kind == "Dict":
            return self._dict_space(str(fields.get("spaces", "")), given)
        return self._leaf_space(kind, fields, given, "observation")

    def action_space(self, given: Any, *, same_bounds: bool) -> Any:
        """The task's action space, checked against the archive. Where `same_bounds` is false (the agent
        rescales actions), a Box may have other bounds, and the archive's are used."""
        from gymnasium import spaces

        fields, kind = self._fields("action_space"), self._kind("action_space")
        checked = self._leaf_space(kind, fields, given, "action")
        if not isinstance(checked, spaces.Box):
            return checked
        low, high = (self._bound(fields, side, checked.shape) for side in ("low", "high"))
        if _close(low, checked.low) and _close(high, checked.high):
            return checked
        if same_bounds or low is None or high is None:
            raise InputError(
                f"{self.path} was trained with action bounds {fields.get('low_repr')} to "
                f"{fields.get('high_repr')}; the task has {checked}. Wrap the task as in training, or set "
                "options.action_scale"
            )
        return spaces.Box(low.astype(np.float32), high.astype(np.float32), checked.shape, np.float32)

    def _kind(self, name: str) -> str:
        match = _CLASS.fullmatch(str(self._fields(name).get(":type:", "")))
        if match is None:
            raise self.refuse(f"it does not say what its {name} is")
        return match.group(2)

    def _leaf_space(self, kind: str, fields: dict[str, Any], given: Any, role: str) -> Any:
        """`given` if the archive's fields agree with it; a transposed image space where only the channels moved."""
        if kind != type(given).__name__:
            raise self._misfit(role, kind, given)
        if kind == "Box":
            return self._box(tuple(fields.get("_shape") or fields.get("shape") or ()), given, role)
        for name in ("n", "nvec", "start"):
            if name in fields and not np.array_equal(_numbers(str(fields[name])), np.ravel(getattr(given, name))):
                raise self._misfit(role, f"{kind} with {name} {fields[name]}", given)
        return given

    def _box(self, shape: tuple[int, ...], given: Any, role: str) -> Any:
        from gymnasium import spaces

        if shape == given.shape:
            return given
        if len(shape) == 3 and (given.shape[2:] + given.shape[:2]) == shape:
            low, high = (np.transpose(bound, (2, 0, 1)) for bound in (given.low, given.high))
            return spaces.Box(low, high, dtype=given.dtype.type)
        raise self._misfit(role, f"Box of shape {shape}", given)

    def _dict_space(self, printed: str, given: Any) -> Any:
        from gymnasium import spaces

        found = list(_SUBSPACE.finditer(printed))
        names = [match.group(1) for match in found]
        if not isinstance(given, spaces.Dict) or set(names) != set(given.spaces):
            raise self._misfit("observation", f"Dict with {', '.join(names)}", given)
        entries = OrderedDict()
        for match, after in zip(found, [*(m.start() for m in found[1:]), len(printed)], strict=True):
            name, kind = match.groups()
            tail = _BOX_TAIL.search(printed, match.start(), after) if kind == "Box" else None
            shape = [int(n) for n in re.findall(r"\d+", tail.group(1))] if tail else None
            entries[name] = self._leaf_space(kind, {"_shape": shape}, given.spaces[name], f'observation entry "{name}"')
        return spaces.Dict(entries)

    def _bound(self, fields: dict[str, Any], side: str, shape: tuple[int, ...]) -> np.ndarray | None:
        """A bound from its printed form; None where the print was shortened."""
        values = _numbers(str(fields.get(f"{side}_repr") or fields.get(side) or ""))
        if values.size == 1:
            return np.full(shape, values[0])
        return values.reshape(shape) if values.size == int(np.prod(shape)) else None

    def _misfit(self, role: str, expected: str, given: Any) -> InputError:
        return InputError(f"{self.path} was trained with the {role} space {expected}; the task has {given}")


def read_archive(path: Path) -> Archive:
    """The JSON of an SB3 zip. Raises InputError where the file is something else."""
    try:
        check_weights(path)
        with zipfile.ZipFile(path) as archive:
            data = json.loads(read_text(archive, "data"))
            archive.getinfo("policy.pth")
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        RecursionError,
        NotImplementedError,
        zlib.error,
        OSError,
    ) as error:
        raise InputError(f"{path} is no SB3 model: {error} (expected a zip with data and policy.pth)") from None
    if not isinstance(data, dict):
        raise InputError(f"{path} is no SB3 model: its data is a {type(data).__name__}")
    return Archive(path, data)


def _numbers(text: str) -> np.ndarray:
    if "..." in text:
        return np.empty(0)
    return np.array([float(n) for n in re.findall(r"[-+]?(?:inf|nan|\d+\.?\d*(?:e[-+]?\d+)?)", text)])


def _close(printed: np.ndarray | None, exact: np.ndarray) -> bool:
    """Equal up to how many digits were printed; a shortened print cannot contradict."""
    return printed is None or np.allclose(printed, exact, rtol=1e-5, atol=1e-7)


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
