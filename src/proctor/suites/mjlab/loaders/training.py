"""What the folder of an mjlab run says of how its policy was trained: `params/agent.yaml` beside the checkpoints.

mjlab writes it with tags for Python's tuples, and others may stand in it. Tuples are read as lists; what any other tag
means is not looked at, so nothing runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from proctor.errors import InputError
from proctor.foreign import MOST_TEXT

NOTES = "params/agent.yaml"
"""Where it is, from the folder of a checkpoint on."""


@dataclass(frozen=True)
class Training:
    """None: nothing says so."""

    activation: str | None = None
    distribution: str | None = None
    """The class of the action distribution."""
    action_range: tuple[float, float] | None = None
    """Of a Beta distribution."""
    groups: tuple[str, ...] | None = None
    """Observation groups of the actor, in their order."""
    clip_actions: float | None = None


def notes_beside(checkpoint: Path) -> Path | None:
    """The file, where there is one."""
    path = checkpoint.parent / NOTES
    return path if path.is_file() else None


def read_training(checkpoint: Path) -> Training:
    """What the run's folder says; of nothing where it says nothing. Raises InputError for a file that is no YAML."""
    path = notes_beside(checkpoint)
    if path is None:
        return Training()
    found = _read(path)
    actor = found.get("actor", found.get("policy"))
    actor = actor if isinstance(actor, Mapping) else {}
    drawn = actor.get("distribution_cfg")
    drawn = drawn if isinstance(drawn, Mapping) else {}
    groups = found.get("obs_groups")
    groups = groups if isinstance(groups, Mapping) else {}
    observed = groups.get("actor", groups.get("policy"))
    clip, span = found.get("clip_actions"), drawn.get("action_range")
    distribution = _text(drawn.get("class_name"))
    if distribution is None and "state_dependent_std" in actor:
        distribution = "HeteroscedasticGaussianDistribution" if actor["state_dependent_std"] else "GaussianDistribution"
    return Training(
        activation=_text(actor.get("activation")),
        distribution=None if distribution is None else distribution.replace(":", ".").rpartition(".")[2],
        action_range=(float(span[0]), float(span[1])) if isinstance(span, list) and len(span) == 2 else None,
        groups=tuple(map(str, observed)) if isinstance(observed, list) and observed else None,
        clip_actions=float(clip) if isinstance(clip, int | float) else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _read(path: Path) -> Mapping[str, Any]:
    with path.open("rb") as file:
        data = file.read(MOST_TEXT + 1)
    if len(data) > MOST_TEXT:
        raise InputError(f"{path} has more than {MOST_TEXT:,} bytes; expected what mjlab's training wrote")
    try:
        found = yaml.load(data, _Plain)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read as YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(found, Mapping):
        raise InputError(f"{path} holds a {type(found).__name__}; expected the runner's config, as mjlab writes it")
    return found


class _Plain(yaml.SafeLoader):
    """Plain data, tuples as lists, and None for what only Python could make."""


def _listed(loader: yaml.SafeLoader, node: Any) -> list[Any]:
    return loader.construct_sequence(node, deep=True)


def _nothing(loader: yaml.SafeLoader, suffix: str, node: Any) -> None:
    return None


_Plain.add_constructor("tag:yaml.org,2002:python/tuple", _listed)
_Plain.add_multi_constructor("tag:yaml.org,2002:python/", _nothing)
