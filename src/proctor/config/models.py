"""The configuration as data: frozen, typed, complete. No I/O and no hidden defaults here or below: what a run
used is what its `config.json` shows.

Free-form `options` are validated against the model of the loader or suite that they are for
(`proctor.config.load`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_TRIALS, MOST_STEPS, MOST_SECONDS = 10_000_000, 100_000_000, 100_000_000
LARGEST_SEED = 9_000_000_000_000_000
"""With the largest index added, a seed is still exact in every program that reads a run's JSON."""
LARGEST_LISTED_SEED, MOST_LISTED_SEEDS = 2**64 - 1, 100_000
"""Seeds that are listed one by one may be as large as those that a protocol draws from 64 bits."""

Seed = Annotated[int, Field(ge=0, le=LARGEST_LISTED_SEED)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def expand_runtime(value: Any) -> Any:
    """The long form of a `runtime`; anything else as it is. `NAME==VERSION` is `NAME@VERSION`."""
    return {"name": value.replace("==", "@")} if isinstance(value, str) else value


class RuntimeCfg(Frozen):
    """The Python that a task's environments, or an agent's policy, live in, where it is not this one: `name`, `python`,
    `packages` (with the version that is wanted as `python`), or `address`. YAML may also say `runtime: NAME`."""

    name: str | None = Field(default=None, min_length=1)
    """A recipe, such as that of a suite; `NAME@VERSION` where the recipe leaves the version open."""
    python: str | None = Field(default=None, min_length=1)
    """By itself, the path of an interpreter. With `packages`, the version of Python that they are installed for, such
    as `3.10` or `>=3.8,<3.11`; None: any."""
    packages: tuple[str, ...] | None = Field(default=None, min_length=1, strict=False)
    """Requirements as pip takes them."""
    address: str | None = Field(default=None, min_length=1)
    """Of a host that is served elsewhere: `HOST:PORT`."""
    token_file: str | None = Field(default=None, min_length=1)
    """With `address`: the file whose text a caller must know."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        return expand_runtime(value)

    @model_validator(mode="after")
    def check_one_form(self) -> RuntimeCfg:
        given = [name for name in ("name", "packages", "address") if getattr(self, name) is not None]
        given += ["python"] if self.python is not None and self.packages is None else []
        if len(given) != 1:
            raise ValueError(
                f"found {' and '.join(given) or 'none of its keys'}; expected one form: NAME, {{python: PATH}}, "
                '{packages: [...], python: "3.10"}, or {address: "HOST:PORT"}'
            )
        if self.token_file is not None and self.address is None:
            raise ValueError('found token_file without address; it goes with {address: "HOST:PORT"}')
        if self.address is not None and not self.address.rpartition(":")[2].isdecimal():
            raise ValueError(f'found the address "{self.address}"; expected "HOST:PORT", such as "127.0.0.1:7000"')
        for package in self.packages or ():
            if not package.strip() or package.lstrip().startswith("-"):
                raise ValueError(f'found the package "{package}"; expected a requirement such as "numpy>=2"')
        return self


class AgentCfg(Frozen):
    """A policy under examination."""

    name: str = Field(min_length=1)
    policy: str
    """A loader (`torch`, `onnx`, `sb3`, `random`, ...) or an import string (`pkg.module:Class`,
    `file.py:Class`)."""
    checkpoint: str | None = None
    group: str | None = Field(default=None, min_length=1)
    """The method that this agent is one training of: agents of one group are taken for a sample of it."""
    device: str = "cpu"
    runtime: RuntimeCfg | None = None
    """The Python that the policy lives in; None: this one where the loader's packages can be imported here, else the
    runtime of the loader's recipe."""
    options: dict[str, Any] = Field(default_factory=dict)
    task_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the task that this agent brings with it: they take the place of the task's own. A suite declares which
    of its options may be brought."""

    @model_validator(mode="after")
    def check_here(self) -> AgentCfg:
        if self.runtime is not None and self.runtime.address is not None:
            raise ValueError(
                "found runtime.address; a policy on another machine is served there (proctor serve) and asked with "
                "policy: remote"
            )
        return self


class TaskCfg(Frozen):
    """Where agents are examined: a suite and its options, with what holds for every suite beside them."""

    suite: str
    name: str = Field(min_length=1)
    """Filled in by the suite where the config gives none."""
    n_trials: int | None = Field(default=None, ge=1, le=MOST_TRIALS)
    """Trials of each agent on this task; None: the run's. Filled in by a suite whose tasks come as a known number of
    cases (the motions of a library), where the config gives none."""
    seeds: tuple[Seed, ...] | None = Field(default=None, min_length=1, max_length=MOST_LISTED_SEEDS, strict=False)
    """The seeds of this task's trials, in their order; None: the run's. Filled in by a suite whose protocol says them.
    YAML may also say a range or a file (`proctor.config.seeds`)."""
    max_episode_steps: int | None = Field(default=None, ge=1, le=MOST_STEPS)
    """Overrides the run's limit for this task."""
    wait_steps: int = Field(default=0, ge=0, le=MOST_STEPS)
    """Warm-up steps with a dummy action before the policy is asked; neither recorded nor counted."""
    out_of_range: Literal["clip", "reject"] = "clip"
    """An action outside a space of continuous actions: clip it and count the step, or end the trial as
    `invalid_action`."""
    nan_observations: Literal["fault", "allow"] = "fault"
    """NaN in an observation: a fault of the environment, or a value that policies are to deal with, such as that of a
    sensor which has nothing to say."""
    success_rule: Literal["at_end", "ever", "throughout"] = "at_end"
    stop_on_success: bool = False
    needs_reset: Literal["confirm"] | None = None
    """`confirm`: each trial begins when a person has confirmed that everything is in its initial state, as it has to be
    done in the real world. Such trials run one at a time, and none is tried again without asking."""
    success_by: Literal["environment", "operator"] = "environment"
    """Who says whether a trial was a success: `Step.success`, or a person who is asked at its end."""
    runtime: RuntimeCfg | None = None
    """The Python that environments run in; None: this one where the suite's packages can be imported here, else the
    runtime of the suite's recipe."""
    options: dict[str, Any] = Field(default_factory=dict)

    def with_options(self, brought: Mapping[str, Any]) -> TaskCfg:
        """The task as an agent that brings these options meets it."""
        return self.model_copy(update={"options": {**self.options, **brought}}) if brought else self

    def for_agent(self, agent: AgentCfg) -> TaskCfg:
        """The task as this agent meets it."""
        return self.with_options(agent.task_options)

    @model_validator(mode="after")
    def check_stop(self) -> TaskCfg:
        if self.stop_on_success and self.success_rule == "throughout":
            raise ValueError(
                "found stop_on_success: true with success_rule: throughout, which would end every trial at its first "
                "step; leave one of them out"
            )
        return self


class WorkersCfg(Frozen):
    """Where environments run. YAML may also say `workers: inline`, `workers: process` or `workers: 4`."""

    kind: str = "auto"
    """A registered worker backend: `process`, `inline`, or what a plug-in brings; `auto`: processes, or for a run that
    is shorter than starting them, and whose environments are known to be harmless, this process."""
    count: int | None = Field(default=None, ge=1, le=10_000)
    """How many workers; None: as many as the machine has cores, at most `num_parallel`."""
    records: int | None = Field(default=None, ge=0, le=1_000)
    """Processes of each worker that measure and write the trials which end on a device while others are stepped there;
    None: as many as there are cores where the device is a GPU, else none."""
    options: dict[str, Any] = Field(default_factory=dict)
    """For the backend."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """The long form of a short one; anything else as it is."""
        if isinstance(value, str):
            return {"kind": value}
        if isinstance(value, int) and not isinstance(value, bool):
            return {"kind": "process", "count": value}
        return value


class VideoCfg(Frozen):
    """Which trials get an mp4. Used when `record.level` is `video`."""

    trials: Literal["first", "failures", "all"] = "first"
    first: int = Field(default=1, ge=1, le=MOST_TRIALS)
    """With `trials: first`: how many trials of each (agent, task)."""
    every: int = Field(default=1, ge=1, le=MOST_STEPS)
    """One frame for every so many steps."""
    fps: float | None = Field(default=None, ge=0.01, le=1000)
    """None: real time where the environment has a clock, else 30."""


class RecordCfg(Frozen):
    """What is kept of each trial. YAML may also say `record: series`."""

    level: Literal["summary", "series", "video"] = "series"
    observations: bool = False
    states: bool = False
    """Where every body is at each step, with the shapes of the model, for MuJoCo-based tasks: what `proctor view` needs
    to show a trial in space."""
    video: VideoCfg = VideoCfg()

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """The long form of a short one; anything else as it is."""
        return {"level": value} if isinstance(value, str) else value


class ScoringCfg(Frozen):
    """How metrics become one number. YAML may also say `scoring: success`. `mode` is a registered scoring or an
    import string; a config that is loaded without one gets that of its tasks."""

    mode: str = "success"
    floor: float | None = None
    """Score of a trial that the policy broke. None: the scoring's own floor (`return` has none)."""
    metrics: tuple[str, ...] = Field(default=(), strict=False)
    """Further metrics by import string, beside the built-in ones."""
    targets: dict[str, float] = Field(default_factory=dict)
    """Metric -> what its mean should come to. They change no score: a report says which agents reach them."""
    options: dict[str, Any] = Field(default_factory=dict)
    """What the scoring itself can be set to: weights, scales, or keyword arguments of a function of your own."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """The long form of a short one; anything else as it is."""
        return {"mode": value} if isinstance(value, str) else value


class LimitsCfg(Frozen):
    """Time limits in seconds (None: none) and how often what the infrastructure broke is tried again."""

    step_s: float | None = Field(default=60.0, gt=0, le=MOST_SECONDS)
    reset_s: float | None = Field(default=300.0, gt=0, le=MOST_SECONDS)
    """Making an environment and resetting it; closing it, for which there are 20 s at most."""
    trial_s: float | None = Field(default=None, gt=0, le=MOST_SECONDS)
    act_s: float | None = Field(default=120.0, gt=0, le=MOST_SECONDS)
    """One forward of a policy; closing it, for which there are 20 s at most."""
    retries: int = Field(default=2, ge=0, le=1000)
    max_loaded_agents: int = Field(default=8, ge=1, le=10_000)
    """How many policies are in memory at once; more agents are examined in groups of this size."""


class StopCfg(Frozen):
    """When trials may end before all are run (`proctor.verdict.stopping`): by `compare` or by `interval_width`."""

    compare: tuple[str, ...] | None = Field(default=None, min_length=2, max_length=10)
    """Two agents or more: stop an agent as soon as it is settled, for each of its pairs, which one is better."""
    on: Literal["success", "score"] = "success"
    """What is compared: how often agents succeed, or their scores."""
    spend: Literal["late", "even"] = "late"
    """How alpha is spent over the looks of a comparison of success: `even` stops sooner where a difference is large."""
    futility: float | None = Field(default=None, gt=0, lt=1)
    """Stop a comparison also where the chance to settle it by the maximum, as things stand, is below this."""
    interval_width: float | None = Field(default=None, gt=0, lt=1)
    """Stop each agent as soon as the interval of its success rate is as narrow as this."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """The chance of a false difference; an interval holds the truth with 1 - alpha, at every look."""
    max_trials: int | None = Field(default=None, ge=1, le=100 * MOST_TRIALS)
    """Of each agent, over all tasks. Filled in where the config gives none: all that are planned."""

    @model_validator(mode="after")
    def check_one_rule(self) -> StopCfg:
        if (self.compare is None) == (self.interval_width is None):
            found = "both" if self.compare is not None else "neither"
            raise ValueError(
                f"found {found} of compare and interval_width; expected one: compare: [a, b] to settle a "
                "difference, or interval_width: 0.1 to measure each agent's rate"
            )
        defaults = {"on": "success", "spend": "late", "futility": None}
        chosen = [name for name, default in defaults.items() if getattr(self, name) != default]
        if self.compare is None and chosen:
            raise ValueError(f"found {chosen[0]} with interval_width; it goes with compare: [a, b]")
        if self.on == "score" and (self.futility is not None or self.spend != "late"):
            raise ValueError("spend and futility are for comparisons of success; leave them out with on: score")
        return self


class LoggerCfg(Frozen):
    """Where a run's numbers go while it goes on. YAML may also say `loggers: [csv]`."""

    kind: str
    """A registered logger (`csv`, `tensorboard`, `wandb`, `mlflow`) or an import string."""
    options: dict[str, Any] = Field(default_factory=dict)


AggregateName = Literal["mean", "iqm", "median", "trial_median", "optimality_gap"]


class ReportCfg(Frozen):
    """What is in the report of a run, and which files it is written to."""

    sections: tuple[str, ...] | None = None
    """Names of registered sections; None: all that apply to the run."""
    formats: tuple[str, ...] | None = None
    """Names of registered formats; `json` is written in any case. None: all that are written by default."""
    posterior: bool = False
    """Whether success rates are also shown as posterior distributions."""
    pictures: bool = True
    """Whether the worst trials are drawn from their records, where their suite can do so and the machine can draw."""
    aggregates: tuple[AggregateName, ...] = ()
    """What is made of an agent's scores over all tasks, beside their mean."""
    intervals: Literal["stratified", "hierarchical"] = "stratified"
    """Of the aggregates: of further trials on the same tasks, or of further tasks, too."""
    target: float = 1.0
    """The score that the optimality gap is measured from."""
    weights: Literal["tasks", "trials"] = "tasks"
    """Rates and scores over several tasks: every task counts alike, or every trial does."""


class DeclareCfg(Frozen):
    """What was decided before the first trial (`proctor.verdict.declared`). Whatever differs from it later is no error:
    the report lists it."""

    primary: str = Field(min_length=1)
    """What decides: `success`, `score`, or the name of a metric."""
    n: int = Field(ge=1, le=MOST_TRIALS)
    """Trials of each agent on each task; with `stop_when`, the most."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """The error rate of tests; intervals of the report have the level 1 - alpha."""
    margin: float | None = Field(default=None, gt=0)
    """The smallest difference that matters."""


class EvalConfig(Frozen):
    """A whole examination."""

    name: str = Field(default="evaluation", min_length=1)
    agents: tuple[AgentCfg, ...] = Field(min_length=1)
    tasks: tuple[TaskCfg, ...] = Field(min_length=1)
    n_trials: int = Field(default=10, ge=1, le=MOST_TRIALS)
    base_seed: int = Field(default=123, ge=0, le=LARGEST_SEED)
    seeds: tuple[Seed, ...] | None = Field(default=None, min_length=1, max_length=MOST_LISTED_SEEDS, strict=False)
    """The seeds of trials, in their order; None: those that follow `base_seed`. With seeds, `base_seed` has a part in
    resampling only. YAML may also say a range or a file (`proctor.config.seeds`)."""
    max_episode_steps: int | None = Field(default=None, ge=1, le=MOST_STEPS)
    """None: the environment's own limit, or 1000 where it has none."""
    num_parallel: int = Field(default=16, ge=1, le=100_000)
    workers: WorkersCfg = WorkersCfg()
    output_root: str = "results/eval_runs"
    python_path: tuple[str, ...] = ()
    """Folders in which modules of the user's lie, searched after everything that is installed, in workers too."""
    record: RecordCfg = RecordCfg()
    scoring: ScoringCfg = ScoringCfg()
    limits: LimitsCfg = LimitsCfg()
    stop_when: StopCfg | None = None
    loggers: tuple[LoggerCfg, ...] = ()
    report: ReportCfg = ReportCfg()
    declare: DeclareCfg | None = None

    def agent(self, name: str) -> AgentCfg:
        return next(a for a in self.agents if a.name == name)

    def task(self, name: str) -> TaskCfg:
        return next(t for t in self.tasks if t.name == name)

    def trials_of(self, task: TaskCfg) -> int:
        """How many trials each agent has on a task."""
        return task.n_trials or (self.n_trials if task.seeds is None else len(task.seeds))

    def seeds_of(self, task: TaskCfg) -> Sequence[int]:
        """The seeds of its trials, by index."""
        listed, n = self.seeds if task.seeds is None else task.seeds, self.trials_of(task)
        return range(self.base_seed, self.base_seed + n) if listed is None else listed[:n]

    @property
    def trials_per_agent(self) -> int:
        return sum(self.trials_of(task) for task in self.tasks)
