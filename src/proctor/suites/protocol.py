"""What a suite is. What an environment is says `proctor_host.environments`, whose contracts are offered here, too."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

from proctor.registry import import_object
from proctor_host.environments import (
    NO_SIGNALS,
    BatchEnv,
    ColumnEnv,
    Columns,
    DeviceEnv,
    Env,
    SheetEnv,
    Step,
    split_rows,
)

__all__ = [
    "NO_SIGNALS", "BatchEnv", "ColumnEnv", "Columns", "DeviceEnv", "Env", "Moment", "Portrayer", "SheetEnv", "Step",
    "Suite", "SuiteOptions", "split_rows",
]  # fmt: skip


class SuiteOptions(BaseModel):
    """Base of a suite's options: frozen data, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    places: ClassVar[frozenset[str]] = frozenset()
    """Options that hold paths, which start from the config's folder, or names with a scheme (`builtin:g1`)."""
    brought: ClassVar[frozenset[str]] = frozenset()
    """Options that an agent may bring with it (`task_options`), in the place of the task's own."""


@dataclass(frozen=True, eq=False)
class Moment:
    """A moment of a trial as it looked: its `name` (start, worst or end), `words` that say what happened, and when, and
    a `picture`, uint8 (height, width, 3)."""

    name: str
    words: str
    picture: np.ndarray


class Portrayer(abc.ABC):
    """Draws trials of one task from their records. It is made, used and closed in a process of its own, in which
    nothing else is drawn."""

    @abc.abstractmethod
    def __init__(self, options: Any):
        """For a task with these options. Raises ProctorError, with the reason, where nothing can be drawn here."""

    @abc.abstractmethod
    def moments(self, arrays: Mapping[str, np.ndarray]) -> Sequence[Moment]:
        """How a trial with this record looked at its start, at its worst moment and at its end. Raises InputError
        where the record does not say."""

    def close(self) -> None:  # noqa: B027 - optional to override
        """Let go of what it holds."""


class Suite(abc.ABC):
    """A family of tasks. Stateless: workers in other processes find it again by name."""

    name: ClassVar[str]
    Options: ClassVar[type[SuiteOptions]]
    reusable: ClassVar[bool] = True
    """False: an environment carries something over a reset, so each trial gets a fresh one."""
    seeds_matter: ClassVar[bool] = False
    """True: the suite knows that seeds change its trials. Otherwise a worker tries that out before the first one."""
    kernels: ClassVar[tuple[str, ...]] = ()
    """Functions, by import string, that compile what a trial needs, also for its metrics: called once on a machine,
    before the first trial."""
    environment: ClassVar[str | None] = None
    """The function, by import string, that makes an environment: `make(options, *, render, worlds)`, where `options`
    has the suite's options as attributes. A suite that says so can live in a runtime (docs/runtimes.md): there the
    function's module, and what it imports, has the standard library, numpy, `proctor_host` and the simulator. None:
    `make` is overridden, and the suite lives in the engine's interpreter only."""
    portrayer: ClassVar[str | None] = None
    """The `Portrayer` of its trials, by import string; None where their records do not say how they looked."""
    runtime: ClassVar[str | None] = None
    """The recipe of a runtime that has what it needs. Where that cannot be imported here, the suite's environments run
    in the runtime of this name, once it is installed."""
    install: ClassVar[str | None] = None
    """How to get what it needs, where no extra of Proctor's brings it."""

    @abc.abstractmethod
    def task_name(self, options: Any) -> str:
        """The default name of the task that these options describe."""

    def make(self, options: Any, *, render: bool, worlds: int) -> Env | BatchEnv:
        """Build the task's environment, by the function that `environment` names. `render`: frames will be asked for.
        `worlds`: how many a batch environment may have (an Env ignores it)."""
        if self.environment is None:
            raise NotImplementedError(f"{type(self).__name__} has neither `make` nor `environment`")
        return import_object(self.environment)(options, render=render, worlds=worlds)

    def is_batch(self, options: Any) -> bool:
        """Whether `make` returns a BatchEnv for these options."""
        return False

    def accelerator(self, options: Any) -> str | None:
        """The device that steps its worlds, such as `cuda:0`; None: the processor. One worker keeps a device busy, so
        there are no more where a config does not ask for them."""
        return None

    def expand(self, options: dict[str, Any]) -> list[dict[str, Any]]:
        """The tasks that one entry of a config stands for, as options that are yet to be checked: a group written out.
        Raises InputError for what the user can mend."""
        return [options]

    def task_defaults(self, options: Any) -> dict[str, Any]:
        """Keys of a task (`success_rule`, `n_trials`, ...) where neither the task nor the run gives them."""
        return {}

    def scoring(self, options: Any) -> str | None:
        """The scoring of a config that names none, where this suite has one of its own: a registered name."""
        return None

    def defines_success(self, options: Any) -> bool:
        """Whether `Step.success` means anything for this task. False: a config that names no scoring is scored by
        return."""
        return True

    def unsaid(self, options: Any) -> str | None:
        """What success goes by on this task and an environment may never give, such as an entry of `info`: a report
        names it where no trial had it. None: there is no such thing."""
        return None

    def default_trials(self, options: Any) -> int | None:
        """How many trials a task has where the config says nothing: the number of its cases; None: the run's."""
        return None

    def trial_seeds(self, options: Any, n: int) -> Sequence[int] | None:
        """The seeds that the task's own protocol gives its first n trials, each below 2**64; None: the run's. They are
        what `reset` gets and what every table shows."""
        return None

    def begins_by_seed(self, options: Any) -> bool:
        """Whether the seed alone decides how a trial begins, and its index nothing. Then trials of two runs are paired
        by their seeds, wherever these stand in the lists of the runs."""
        return False

    def rows_alone(self, options: Any) -> bool:
        """Whether the task's own protocol asks a policy for one row at a time, and its scores show the last bits of an
        answer: small differences grow from step to step. Then agents whose options do not say `pad_to` have 1."""
        return False

    def briefing(self, options: Any) -> Any:
        """What an agent may know of a task before its trials (reference motions, instructions). Asked in the main
        process, at most once for a task, and only where a policy wants it. What only an environment can tell, it says
        itself (`Env.briefing`)."""
        return None

    def complete(self, options: Any) -> Any:
        """The options with what only files can tell filled in, such as the hash of one. Asked once, when a config is
        loaded. Raises InputError for what the user can mend."""
        return options

    def isolated(self, options: Any) -> bool:
        """Whether the task's environments run code that must stay out of the main process."""
        return False

    def harmless(self, options: Any) -> bool:
        """Whether the task's environments are known to be plain Python that neither hangs nor takes its process down:
        a short run may then step them in the main process (`workers: auto`)."""
        return False

    def needs(self) -> list[tuple[str, str]]:
        """(package, extra) pairs that must be importable, for `proctor doctor`."""
        return []
