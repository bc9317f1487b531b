"""One finished trial as a row: what the ledger keeps, and what scoring and reports read.

`metrics` holds the value of every metric by name, None where it is not available. Success follows the task's rule; it
is None where nothing said in the trial what success is, False for what the policy broke, and says nothing for unscored
outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from proctor_host.episode import Outcome
from proctor_host.trials import Trial


@dataclass(frozen=True)
class TrialResult:
    """How a trial ended, what it took, and the value of every metric."""

    trial: Trial
    outcome: Outcome
    success: bool | None
    steps_total: int | None
    """None where it is not known, as in outcomes from elsewhere."""
    steps_to_success: int | None
    """1-based step at which the task's success rule was met for good: with `at_end` the step from which success held to
    the end, with `ever` the first one. None without success, and with `throughout`, where nothing is reached."""
    episode_reward: float | None
    """Sum of rewards; None where no step was taken or the record was lost."""
    max_steps: int | None
    """The step limit that applied; None where it is not known."""
    first_success: int | None = None
    """1-based first step with success, whether it lasted or not; None if never."""
    attempts: int = 1
    clipped_steps: int = 0
    wall_time_s: float | None = None
    sim_time_s: float | None = None
    metrics: dict[str, float | None] = field(default_factory=dict)
    error: str | None = None
    """Why, for what the policy or the infrastructure broke: first line, then the traceback."""
    npz: str | None = None
    """Where the recorded arrays are, as a path within the run folder."""
    npz_size: int | None = None
    npz_crc: int | None = None
    """Bytes and CRC-32 of that file, as it was written."""
    digest: str | None = None
    """The digest of the recorded arrays."""
    trace: str | None = None
    """Of the recorded arrays and the first and last observation: equal for episodes that are copies of each other."""
    video: str | None = None
    case: str | None = None
    """What the trial was about, where its task has named cases: a motion, an instruction."""
    after_stop: bool = False
    """The trial comes after the point where the run's `stop_when` stopped: it enters no rate and no verdict."""
