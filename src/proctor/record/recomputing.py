"""What the ledger says of a trial, from its recorded arrays: how it ended, its steps, success and reward.

Two things are in no array and are taken from the ledger: that the policy broke a trial which has not ended by itself,
and that nothing says what success is.
"""

from __future__ import annotations

import math
from dataclasses import replace

from proctor_host.episode import Episode, Outcome
from proctor_host.result import TrialResult

FIELDS = ("outcome", "success", "steps_total", "steps_to_success", "first_success", "episode_reward", "case")
"""Of a result, what follows from its record."""


def recomputed(result: TrialResult, episode: Episode, success_rule: str) -> TrialResult:
    """The result as its record has it, by the success rule of its task."""
    reached = episode.reached(success_rule)
    reward = episode.total_reward
    outcome, success = result.outcome, result.success
    if outcome.broken_by_policy and not _ended(episode):
        reached, success = None, False if success else success
    elif episode.succeeded(success_rule):
        outcome, success = Outcome.SUCCESS, True
    elif outcome is not Outcome.DONE or success is not None:
        outcome, success = _missed(result, episode), False
    return replace(
        result,
        outcome=outcome,
        success=success,
        steps_total=episode.n_steps,
        steps_to_success=reached,
        first_success=episode.first_success,
        episode_reward=None if reward is None or math.isnan(reward) else reward,
        case=episode.case,
    )


def differences(ledger: TrialResult, record: TrialResult) -> str:
    """In what a ledger's result differs from the one that its record gives, in words; empty where it does not."""
    pairs = [(name, getattr(ledger, name), getattr(record, name)) for name in FIELDS]
    return ", ".join(f"{name} was {_shown(old)} and is {_shown(new)}" for name, old, new in pairs if old != new)


def _ended(episode: Episode) -> bool:
    """Whether the environment, or the step limit, ended it."""
    return episode.n_steps > 0 and bool(episode.arrays["terminals"][-1] or episode.arrays["truncations"][-1])


def _missed(result: TrialResult, episode: Episode) -> Outcome:
    """How a trial without success ended. Where nothing in it said what success is, and other trials of its task did,
    the ledger goes by the number of steps (`Ledger.settle_success`), and that is left as it is."""
    by_limit = Outcome.TRUNCATED if episode.n_steps >= episode.max_steps else Outcome.FAILURE
    only_time = episode.n_steps > 0 and episode.arrays["truncations"][-1] and not episode.arrays["terminals"][-1]
    by_flags = Outcome.TRUNCATED if only_time else Outcome.FAILURE
    return result.outcome if result.outcome in (by_limit, by_flags) else by_flags


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
