"""The worlds of a `DeviceEnv`: stepped in columns as any batch, or where they are, as arrays of their device."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from proctor_host.batch import FLAGS, BatchWorlds
from proctor_host.environments import Columns, DeviceEnv
from proctor_host.kit import Kit
from proctor_host.limits import ALL_SLOTS, RESETTING, STEPPING
from proctor_host.tape import SIGNAL
from proctor_host.values import NUMBERS
from proctor_host.worlds import Reset


class Stepped(NamedTuple):
    """A step of all worlds, as arrays of the device. `leaves`: the observation as the task's space says it. `signals`
    are named as in a stretch."""

    leaves: list[Any]
    reward: Any
    terminated: Any
    truncated: Any
    success: Any
    signals: dict[str, Any]


class DeviceWorlds(BatchWorlds):
    """`kit` does what is to be done with its arrays."""

    kit: Kit

    @property
    def made(self) -> bool:
        return self._env is not None

    def begin_device(self, resets: Sequence[Reset]) -> tuple[Any, BaseException | None, float]:
        """Begin these trials, in ascending order of their slots: the leaves of what all worlds show, and what the
        environment says once of each; or what it raised, and the seconds."""
        found, problem, seconds = self._watch.call(RESETTING, ALL_SLOTS, self._begin_device, resets)
        if problem is not None:
            self.close()
        return found, problem, seconds

    def _begin_device(self, resets: Sequence[Reset]) -> tuple[list[Any], list[Mapping[str, Any]]]:
        env = self._environment(resets[0].task, films=False)
        assert isinstance(env, DeviceEnv)
        worlds = np.array([reset.slot for reset in resets], np.int64)
        seeds, indices = [reset.seed for reset in resets], [reset.index for reset in resets]
        seen = self._watch.alone(env.begin_device(worlds, seeds, indices))
        return self._leaves(seen, "begin_device"), [env.constants(reset.slot) for reset in resets]

    def step_device(self, actions: Any) -> tuple[Any, BaseException | None, float]:
        """A step of all worlds, with a row of actions for each: what it gave, or what was raised, and the seconds that
        the call took."""
        found, problem, seconds = self._watch.call(STEPPING, ALL_SLOTS, self._step_device, actions)
        if problem is not None:
            self.close()
        return found, problem, seconds

    def _step_device(self, actions: Any) -> Stepped:
        env, kit = self._env, self.kit
        assert isinstance(env, DeviceEnv)
        columns: Columns = env.step_device(actions)
        own = [kit.own(getattr(columns, name)) for name in ("reward", *FLAGS)]
        for name, array in zip(("reward", *FLAGS), own):
            wanted = "f" if name == "reward" else "b"
            if tuple(array.shape) != (env.num_worlds,) or kit.type_of(array).kind != wanted:
                found = f"{tuple(array.shape)} of {kit.type_of(array)}"
                kind = "floating-point numbers" if wanted == "f" else "bool"
                raise ValueError(f"step_device gave {name} {found}; expected ({env.num_worlds},) of {kind}")
        reward, terminated, truncated, success = own
        signals = {}
        for name, values in columns.signals.items():
            array = signals[SIGNAL + name] = kit.own(values)
            if tuple(array.shape[:1]) != (env.num_worlds,):
                raise ValueError(
                    f"step_device gave {name} {tuple(array.shape)}; expected {env.num_worlds} rows, one for each world"
                )
        leaves = self._leaves(columns.observation, "step_device")
        return Stepped(leaves, reward, terminated, truncated, success, signals)

    def _leaves(self, observation: Any, where: str) -> list[Any]:
        """The leaves of the observation of all worlds, of the types that the space says."""
        layout, kit = self.task.layout, self.kit
        assert layout is not None
        if layout.shapes is not None and not isinstance(observation, Mapping):
            raise ValueError(f"{where} gave an observation of type {type(observation).__name__}; expected a dict")
        found = []
        for leaf in layout.leaves:
            try:
                array = kit.own(observation if layout.shapes is None else observation[leaf.path[0]])
            except KeyError:
                raise ValueError(f"{where} gave an observation without {leaf.label}") from None
            expected = (self.task.worlds, *leaf.shape)
            if tuple(array.shape) != expected:
                raise ValueError(
                    f"{where} gave {leaf.label} of shape {tuple(array.shape)}; expected {expected}, a row for a world"
                )
            if kit.type_of(array).kind not in NUMBERS:
                raise ValueError(f"{where} gave {leaf.label} of {kit.type_of(array)}; expected {leaf.dtype}")
            found.append(kit.as_type(array, leaf.dtype))
        return found
