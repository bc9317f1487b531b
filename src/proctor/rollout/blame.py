"""Who pays for what breaks, and how it is said.

What the environment raises is the environment's fault and costs an attempt; what the policy raises, or answers
instead of an action, is the policy's and ends its trial. Text of an error: first line what it is, then the traceback.
"""

from __future__ import annotations

from proctor.policies.protocol import Decision, Fail, Unavailable
from proctor_host.episode import Outcome

MAX_HOPS = 64
"""Stages that a policy may ask for one after the other without an action."""


def setback(decision: Decision | None, error: str | None) -> tuple[Outcome, str]:
    """What becomes of a trial whose policy gave neither an action nor another stage, and why. An outcome that is not
    scored ends this attempt only."""
    match decision:
        case Fail(reason):
            return Outcome.POLICY_ERROR, reason
        case Unavailable(reason):
            return Outcome.WORKER_LOST, reason
        case _:
            return Outcome.POLICY_ERROR, error or "the policy gave no answer"


def too_long(stage: str, limit_s: float) -> str:
    """The error of a forward that took longer than `limits.act_s`."""
    return f"TimeoutError: the policy's {stage} took longer than {limit_s:g} s"


def endless(stage: str) -> str:
    """The error of a policy that goes from stage to stage."""
    return f"the policy went through {MAX_HOPS} stages without an action; last {stage}"
