"""A report as data: everything that its files show, worked out once.

Every number carries its n; every mean and rate its interval, or None where it has none. `Summary` is the same
for one agent on one task and for an agent over all tasks. "Scored" trials say something about the agent; the
others are faults of the infrastructure and enter no rate, only the bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from proctor.metrics import MetricInfo
from proctor.report.section import Column, Shown
from proctor.stats import Estimate, Interval, Profile
from proctor.verdict.comparison import MEASURES, Comparison, Measure
from proctor.verdict.declared import Declared, Noted
from proctor.verdict.methods import Methods
from proctor.verdict.raters import Raters, Rating
from proctor.verdict.stopping import Stop
from proctor.verdict.trials import Planned


@dataclass(frozen=True)
class ReportContext:
    """What a report needs beside config and results. `planned` is the number of trials of the whole plan;
    `batch` holds statistics of batched inference by name; `base` is where import strings of the config are
    looked up."""

    generated_at: str
    environment: Mapping[str, Any] = field(default_factory=dict)
    planned: int | None = None
    duration_s: float | None = None
    batch: Mapping[str, Any] | None = None
    spent: Mapping[str, float] | None = None
    """Slot-seconds by place (`proctor.report.sections.timing`)."""
    rounding: tuple[str, ...] = ()
    """Which agents' numbers are rounded otherwise than a caller of the bare policy would find."""
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    """What a reader must know of how the run was made."""
    base: Path | None = None
    level: float = 0.95
    n_resamples: int = 2000
    stops: tuple[Stop, ...] = ()
    """What became of the config's `stop_when`."""
    spared: int = 0
    """Planned trials that it made unnecessary."""
    protocols: tuple[Noted, ...] | None = None
    """What was declared, planned and scored by, at the start and after every change; None where that is not known."""
    ratings: tuple[Rating, ...] = ()
    """Who judged imported trials."""
    looks: tuple[int, ...] = ()
    """Numbers of trials per agent at which results were seen before more were run."""
    initial_states: Mapping[str, int] = field(default_factory=dict)
    """How many initial states a task has, where that is known."""
    unfinished: Planned = field(default_factory=Planned)
    """What is planned and not finished, and which tasks begin by their seeds alone: decides who is paired, and how."""
    nodes: tuple[Mapping[str, Any], ...] = ()
    """The machines of a run that had several, as `Ledger.nodes` has them."""


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """`successes` of `n` scored trials. `rate` is the weighted mean over tasks, its interval Wilson's of the tasks,
    combined. `bounds`: the rate if all unscored trials had failed or succeeded; None where every trial is scored.
    Trials of tasks on which nothing says what success is are not in it; `n` is 0 and there is no rate where there are
    only such."""

    successes: int
    n: int
    rate: float | None
    interval: Interval | None
    bounds: Interval | None


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean of `n` values. `std` is the sample standard deviation (n - 1), None below two values.
    `n_missing` counts scored trials without a value. `degenerate`: all values are equal, and a
    bootstrap gives no interval."""

    mean: float | None
    n: int
    std: float | None = None
    interval: Interval | None = None
    n_missing: int = 0
    degenerate: bool = False
    doubtful: bool = False
    """The values are so skewed, for their number, that the interval may be too narrow."""
    method: Literal["bootstrap", "bca_expansion", "student_t", "wilson"] = "student_t"


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """`value` by the metric's own reducer over `n` trials; an interval for means only."""

    value: float | None
    n: int
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of one agent, on one task or pooled over all."""

    planned: int
    n_trials: int
    n: int
    success: RateEstimate
    score: MeanEstimate
    components: Mapping[str, MeanEstimate]
    steps_total: MeanEstimate
    steps_to_success: MeanEstimate
    wall_time_s: MeanEstimate
    metrics: Mapping[str, MetricEstimate]
    outcomes: Mapping[str, int]
    steps: int
    """Of all scored trials together; `clipped_steps` of them had an action out of range."""
    clipped_steps: int
    clipped_trials: int
    retried_trials: int
    n_repeats: int = 0
    """Further trials, each known to be an episode that is among these already; in none of the other numbers."""
    n_after_stop: int = 0
    """Further trials, that ran beyond the stop of `stop_when`; in none of the other numbers."""

    @property
    def n_unscored(self) -> int:
        return self.n_trials - self.n

    def metric(self, name: str) -> MetricEstimate:
        """Without a value, of no trial, where no trial has the metric."""
        return self.metrics.get(name, MetricEstimate(None, 0))

    def measure(self, name: str) -> MetricEstimate:
        """The success rate, the mean score, or a metric."""
        if name == "success":
            return MetricEstimate(self.success.rate, self.success.n, self.success.interval)
        if name == "score":
            return MetricEstimate(self.score.mean, self.score.n, self.score.interval)
        return self.metric(name)


@dataclass(frozen=True, slots=True)
class Mark:
    """One trial that is shown."""

    index: int
    seed: int
    outcome: str
    steps: int | None
    score: float | None
    npz: str | None
    video: str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One agent on one task. `marks` are its first trials, as many as the report has room for."""

    agent: str
    task: str
    summary: Summary
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class AgentReport:
    """`rank` counts the agents with a strictly better score, from 1; None without a score."""

    agent: str
    policy: str
    checkpoint: str | None
    rank: int | None
    overall: Summary
    cells: tuple[Cell, ...]
    texts: Mapping[str, str | None] = field(default_factory=dict)
    """What sections have to say of it in columns of their own."""


@dataclass(frozen=True, slots=True)
class TaskReport:
    """A task over all agents."""

    task: str
    suite: str
    success_rule: str
    max_steps: int | None
    n_trials: int
    n: int
    success: RateEstimate
    defines_success: bool
    """Whether something says what success is: the config, or the environment in some trial."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What broke trials: an outcome with the decisive line of its error, in which numbers that differ are left open,
    how often, and one trial to look at."""

    agent: str
    outcome: str
    message: str
    count: int
    example: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One plain sentence. `caution`: read it before you use the numbers."""

    level: Literal["caution", "note"]
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One agent on one case of a task: a motion, an instruction. `metrics` holds those that are shown by case;
    `npz` is the record of its worst trial."""

    case: str
    n: int
    successes: int | None
    score: MetricEstimate
    metrics: Mapping[str, MetricEstimate]
    npz: str | None


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The cases of one agent on one task, worst first by `order`: a metric of which less is better, or "score".
    Metrics in `shares` are shown as percentages."""

    agent: str
    task: str
    order: str
    cases: tuple[Case, ...]
    shares: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetResult:
    """Whether the mean of a metric reaches its target: at most it where lower is better, else at least. `n` of the
    `n_scored` trials of the tasks that have the metric gave a value; one without it, and the target is not met.
    `clear`: the whole interval is on the same side of the target as the mean."""

    agent: str
    metric: str
    unit: str
    direction: str
    target: float
    value: float | None
    interval: Interval | None
    n: int
    n_scored: int
    met: bool
    clear: bool


@dataclass(frozen=True, slots=True)
class ScoringInfo:
    name: str
    version: str
    components: tuple[str, ...]
    floor: float | None
    unit: str
    settings: Mapping[str, Any]
    limits: Interval | None = None
    """What scores lie within, the floor included; None where nothing says so."""


@dataclass(frozen=True, eq=False)
class AgentProfile:
    """Which share of an agent's trials scores above each threshold; thresholds are the same for all agents."""

    agent: str
    profile: Profile


@dataclass(frozen=True, slots=True)
class AgentAggregate:
    """One of the config's aggregates of an agent's scores over all tasks."""

    agent: str
    name: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Extreme(Mark):
    """A trial to look at: one of the `worst` by score, or of the `slowest`, of its agent."""

    kind: str
    agent: str
    task: str
    wall_time_s: float | None


@dataclass(frozen=True, slots=True)
class Picked(Mark):
    """A trial that is shown by itself."""

    agent: str
    task: str

    @property
    def name(self) -> str:
        return f"{self.agent} on {self.task}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Training:
    """Agents that are checkpoints of one training, in the order of the number in which their names differ."""

    name: str
    steps: tuple[int, ...]
    agents: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """`agents` are in rank order, those without a score last."""

    name: str
    n_trials: int
    planned: int
    finished: int
    scored: int
    verdict: str
    findings: tuple[Finding, ...]
    scoring: ScoringInfo
    agents: tuple[AgentReport, ...]
    tasks: tuple[TaskReport, ...]
    metrics: tuple[MetricInfo, ...]
    causes: tuple[Cause, ...]
    config: Mapping[str, Any]
    context: ReportContext
    targets: tuple[TargetResult, ...] = ()
    cases: tuple[CaseTable, ...] = ()
    """For tasks whose trials name their case; in the order of agents and tasks."""
    comparison: Comparison | None = None
    """None with fewer than two agents that have scored trials."""
    aggregates: tuple[AgentAggregate, ...] = ()
    """Those that the config asks for, agent by agent."""
    methods: Methods | None = None
    """None where no agent has a group."""
    declared: Declared | None = None
    """None where the config declares nothing."""
    primary: Comparison | None = None
    """By the metric that was declared to decide, as its score; None where that is success or the score itself."""
    raters: Raters | None = None
    """None where nothing is known of who judged the trials."""
    profiles: tuple[AgentProfile, ...] = ()
    trainings: tuple[Training, ...] = ()
    extremes: tuple[Extreme, ...] = ()
    filmed: tuple[Picked, ...] = ()
    """Some of the trials that have a video: failures first, every agent and task in turn."""
    n_filmed: int = 0
    worst: tuple[Picked, ...] = ()
    """Recorded trials to look at: failures first, of every agent in turn the worst, then the second worst."""
    sections: tuple[Shown, ...] = ()
    """Those that the config asks for, of all that apply to the run, in the order of the page."""
    columns: tuple[Column, ...] = ()
    """What all sections that apply to the run add to the table of trials."""
    agent_columns: tuple[Column, ...] = ()
    """What they add to the table of agents."""
    signal_units: Mapping[str, str] = field(default_factory=dict)
    """Units of recorded signals that those sections know."""

    @property
    def defines_success(self) -> bool:
        """Whether something says what success is on some task."""
        return any(task.defines_success for task in self.tasks)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What tables and plots show of an agent: no success where nothing says what it is, and no score that repeats
        it."""
        if not self.defines_success:
            return ("score",)
        repeats = self.scoring.name == "success" and self.scoring.floor == 0
        whole = all(task.defines_success for task in self.tasks)
        return ("success",) if repeats and whole else MEASURES

    def data(self, key: str) -> Any:
        """What the section of this key read from the run folder; None where it is not in the report."""
        return next((shown.data for shown in self.sections if shown.section.key == key), None)
