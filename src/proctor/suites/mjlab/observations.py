"""What a policy sees of mjlab's worlds, and what is recorded of them at every step, kept small.

Observation groups are one array, or a flat dict of them. A group whose terms mjlab joins is one array; else it is a
dict of its terms. Of several groups the arrays are named by group, and terms `GROUP/TERM`. Signals:

- `reward/NAME`: what each reward term contributed to the step's reward; together they are the reward.
- `termination/NAME`: whether each termination term holds, the time limit among them.
- `metric/NAME`: what the task measures of itself at every step (mjlab's metrics manager).
- `command/NAME`: what the policy is told to do.
- `root/height_m`, `root/linear_velocity_m_s`, `root/angular_velocity_rad_s`: of the robot's floating base; the height
  above the origin of its place, the velocities in its own frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from proctor.errors import InputError
from proctor_host import spaces


class Leaf(NamedTuple):
    """One array of the observation; `term` is None for a group that is an array."""

    group: str
    term: str | None
    shape: tuple[int, ...]


class Observations:
    """The chosen groups of an environment. Raises InputError for a group that the task does not have."""

    def __init__(self, env: Any, groups: Sequence[str]):
        known = env.single_observation_space.spaces
        missing = [group for group in groups if group not in known]
        if missing:
            raise InputError(f'the task has no observation group "{missing[0]}"; it has {", ".join(known)}')
        self._leaves: dict[str, Leaf] = {}
        for group in groups:
            terms: Mapping[str, Any] | None = getattr(known[group], "spaces", None)
            if terms is None:
                self._leaves[group] = Leaf(group, None, tuple(known[group].shape))
                continue
            for term, space in terms.items():
                key = term if len(groups) == 1 else f"{group}/{term}"
                self._leaves[key] = Leaf(group, term, tuple(space.shape))
        first = next(iter(self._leaves.values()))
        self._whole = first if len(groups) == 1 and first.term is None else None

    @property
    def space(self) -> Any:
        """Of one world."""
        if self._whole is not None:
            return box(self._whole.shape)
        return spaces.Dict({key: box(leaf.shape) for key, leaf in self._leaves.items()})

    def read(self, observed: Mapping[str, Any]) -> Any:
        """Out of what mjlab gave for all worlds: tensors where it has them, float32."""
        if self._whole is not None:
            return _read(observed, self._whole)
        return {key: _read(observed, leaf) for key, leaf in self._leaves.items()}


def part(column: Any, worlds: int | np.ndarray) -> Any:
    """One world's part of a column of all, which may be a dict of arrays; or that of some worlds."""
    return {name: values[worlds] for name, values in column.items()} if isinstance(column, dict) else column[worlds]


def box(shape: Sequence[int]) -> Any:
    """Numbers without bounds: mjlab declares none."""
    return spaces.Box(-np.inf, np.inf, tuple(shape), np.float32)


def _read(observed: Mapping[str, Any], leaf: Leaf) -> Any:
    group = observed[leaf.group]
    return (group if leaf.term is None else group[leaf.term]).detach().float()


def arrays(tensors: Any) -> Any:
    """Copies that stay as they are, of a tensor, or of a dict of them."""
    if isinstance(tensors, dict):
        return {name: arrays(tensor) for name, tensor in tensors.items()}
    return np.array(tensors.detach().cpu().numpy())


Reader = Callable[[], Any]
"""The values of all worlds now, as a tensor where mjlab has it."""


def readers(env: Any, wanted: Iterable[str]) -> dict[str, Reader]:
    """Name -> reader, of what is wanted and the task has."""
    kinds = {
        "rewards": _rewards, "terminations": _terminations, "metrics": _metrics, "commands": _commands, "root": _root,
    }  # fmt: skip
    found: dict[str, Reader] = {}
    for kind in wanted:
        found.update(kinds[kind](env))
    return found


def _rewards(env: Any) -> Mapping[str, Reader]:
    manager = env.reward_manager
    scale = env.step_dt if env.cfg.scale_rewards_by_dt else 1.0
    return {
        f"reward/{name}": lambda number=number: manager._step_reward[:, number] * scale
        for number, name in enumerate(manager.active_terms)
    }


def _terminations(env: Any) -> Mapping[str, Reader]:
    manager = env.termination_manager
    return {f"termination/{name}": lambda name=name: manager.get_term(name) for name in manager.active_terms}


def _metrics(env: Any) -> Mapping[str, Reader]:
    manager = env.metrics_manager
    return {
        f"metric/{name}": lambda number=number: manager._step_values[:, number]
        for number, name in enumerate(manager.active_terms)
    }


def _commands(env: Any) -> Mapping[str, Reader]:
    manager = env.command_manager
    return {f"command/{name}": lambda name=name: manager.get_command(name) for name in manager.active_terms}


def _root(env: Any) -> Mapping[str, Reader]:
    floating = [entity for entity in env.scene.entities.values() if not entity.is_fixed_base]
    if "robot" in env.scene.entities and not env.scene.entities["robot"].is_fixed_base:
        floating = [env.scene.entities["robot"]]
    if len(floating) != 1:
        return {}
    data, scene = floating[0].data, env.scene
    return {
        "root/height_m": lambda: data.root_link_pos_w[:, 2] - scene.env_origins[:, 2],
        "root/linear_velocity_m_s": lambda: data.root_link_lin_vel_b,
        "root/angular_velocity_rad_s": lambda: data.root_link_ang_vel_b,
    }
