"""From an agent's config to a policy.

`load_policy` is the way in: it finds the loader, checks the options, loads the model and puts the pipeline
(frame stack, normalisation, action scaling) around it. Importing this package imports no model library.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.exports import lazily
from proctor.policies.files import conversion, find_file, sha256, source_file
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.padding import LeftPad
from proctor.policies.pipeline import Pipeline
from proctor.policies.protocol import (
    Actions,
    AnyPolicy,
    Batch,
    Execute,
    Fail,
    Goto,
    Idle,
    Policy,
    SpaceInfo,
    Stage,
    StagedPolicy,
    StageOutput,
    Unavailable,
)
from proctor.policies.stages import stages_of
from proctor.registry import LOADERS

if TYPE_CHECKING:
    from proctor.images import resize_with_padding, rotate_180
    from proctor.policies.noise import torch_normal
    from proctor.policies.padding import left_pad
    from proctor.policies.waypoints import Leg, WaypointCfg, WaypointPlan, WaypointPolicy
    from proctor.texts import bytes_to_text

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "Actions", "Batch", "Execute", "Fail", "Goto", "Idle", "LeftPad", "Leg", "Loader", "Policy", "PolicyOptions",
    "SpaceInfo", "Stage", "StageOutput", "StagedPolicy", "Unavailable", "WaypointCfg", "WaypointPlan",
    "WaypointPolicy", "bytes_to_text", "left_pad", "load_policy", "resize_with_padding", "rotate_180", "torch_normal",
]  # fmt: skip


Elsewhere = Callable[[AgentCfg, PolicyOptions, SpaceInfo], AnyPolicy]
"""Loads an agent in another interpreter: what stands for its policy here."""


def loader_for(policy: str) -> Loader:
    """The loader that `AgentCfg.policy` names; an import string means the python loader."""
    return LOADERS.load("python" if ":" in policy else policy)()


def options_for(agent: AgentCfg) -> PolicyOptions:
    """The agent's options, complete and checked. Raises pydantic's ValidationError, whose locations are paths
    within `agent.options`. An import string in `agent.policy` appears as the option `target`."""
    loader = loader_for(agent.policy)
    if ":" not in agent.policy:
        return loader.Options.model_validate(agent.options)
    if agent.options.get("target", agent.policy) != agent.policy:
        raise InputError(
            f'agent "{agent.name}": policy is {agent.policy} and options.target is {agent.options["target"]}; keep one'
        )
    return loader.Options.model_validate({**agent.options, "target": agent.policy})


def load_policy(
    agent: AgentCfg, spaces: SpaceInfo, base: Path | None = None, elsewhere: Elsewhere | None = None
) -> AnyPolicy:
    """Load an agent for the tasks in `spaces`. Relative paths start from `base`. `elsewhere` loads it in the place of
    its loader, which is asked here otherwise. Raises InputError for what the user can mend: a missing file, a
    checkpoint of another architecture, shapes that do not fit the task."""
    options = options_for(agent)
    pipeline = Pipeline(options, spaces, base)
    if elsewhere is not None:
        inner = elsewhere(agent, options, pipeline.model_spaces)
    else:
        inner = loader_for(agent.policy).load(agent, options, pipeline.model_spaces, base)
    stages_of(inner, options)
    return pipeline.around(inner)


def fingerprint(agent: AgentCfg, base: Path | None = None) -> dict[str, str]:
    """SHA-256 of everything outside the config that decides how the agent acts: checkpoint, normalisation file, the
    source file of a Python target. Keys name the role, so the dict is equal wherever the files lie."""
    options = options_for(agent)
    files = loader_for(agent.policy).files(agent, options, base)
    if options.normalize is not None and options.normalize.file is not None:
        files["normalize.file"] = find_file(
            options.normalize.file, base, f'agent "{agent.name}", options.normalize.file'
        )
    if options.preprocessor is not None:
        files |= {f"preprocessor {role}": path for role, path in source_file(options.preprocessor.target, base).items()}
    prints = {role: sha256(path) for role, path in sorted(files.items())}
    return {**prints, **loader_for(agent.policy).prints(options)}


def infer_loader(checkpoint: str, base: Path | None = None) -> str:
    """The loader that reads such a checkpoint, by the file's ending. A relative path starts from `base`."""
    known: dict[str, str] = {}
    for name in LOADERS.names():
        for suffix in LOADERS.load(name).suffixes:
            known.setdefault(suffix, name)
    suffix = Path(checkpoint).suffix.lower()
    if suffix in known:
        return known[suffix]
    if hint := conversion(checkpoint, base):
        raise InputError(hint)
    listed = ", ".join(f"{ending} ({name})" for ending, name in sorted(known.items()))
    raise InputError(f'no loader reads "{checkpoint}" by its ending; known: {listed}; or say which with policy: ...')
