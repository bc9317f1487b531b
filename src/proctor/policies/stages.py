"""The stages of an agent: what its policy declares, as far as its options leave it."""

from __future__ import annotations

from dataclasses import replace

from proctor.errors import InputError
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy, Stage, StagedPolicy

ACT = "act"
"""The one stage of a plain policy."""


def declared_stages(policy: AnyPolicy) -> tuple[Stage, ...]:
    return policy.stages if isinstance(policy, StagedPolicy) else (Stage(ACT),)


def stages_of(policy: AnyPolicy, options: PolicyOptions) -> tuple[Stage, ...]:
    """The policy's stages, each value from the first of `options.stages`, the policy's declaration and the options
    that has one. Raises InputError for options of a stage that the policy does not have."""
    declared = declared_stages(policy)
    names = [stage.name for stage in declared]
    unknown = [name for name in options.stages if name not in names]
    if unknown:
        raise InputError(f"options.stages: found {', '.join(unknown)}; the policy's stages are {', '.join(names)}")
    return tuple(_resolved(stage, options) for stage in declared)


def _resolved(stage: Stage, options: PolicyOptions) -> Stage:
    own = options.stages.get(stage.name)
    if own is not None:
        stage = replace(stage, **own.model_dump(exclude_none=True))
    pad_to = options.pad_to if stage.pad_to is None else stage.pad_to
    wait = options.max_wait_s if stage.max_wait_s is None else stage.max_wait_s
    return replace(stage, pad_to=pad_to, max_batch=stage.max_batch or options.max_batch or pad_to, max_wait_s=wait)
