"""The `soccer` suite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from proctor.suites.protocol import Suite, SuiteOptions
from proctor.suites.soccer.evaluating import with_hash
from proctor.suites.soccer.options import SoccerOptions
from proctor.suites.soccer.tasks import NAMES, OFFICIAL, match_seed


class SoccerSuite(Suite):
    """Penalty kicks and shots at a target with a Booster T1, on sai-mujoco."""

    name: ClassVar[str] = "soccer"
    Options: ClassVar[type[SuiteOptions]] = SoccerOptions
    environment: ClassVar[str | None] = "proctor.suites.soccer.env:make"
    portrayer: ClassVar[str | None] = "proctor.suites.soccer.portraits:SoccerPortrayer"
    runtime: ClassVar[str | None] = "soccer"

    def task_name(self, options: SoccerOptions) -> str:
        """The short name, such as `goalie_penalty_kick`."""
        return NAMES[options.task]

    def complete(self, options: SoccerOptions) -> SoccerOptions:
        """With the hash of the evaluation function's file."""
        if options.evaluation is None:
            return options
        return options.model_copy(update={"evaluation": with_hash(options.evaluation)})

    def isolated(self, options: SoccerOptions) -> bool:
        """An evaluation function runs in worker processes only."""
        return options.evaluation is not None

    def trial_seeds(self, options: SoccerOptions, n: int) -> Sequence[int] | None:
        """With match seeds, those of the matches of an official run."""
        if options.match_seeds is None:
            return None
        return [match_seed(options.match_seeds.master, index) for index in range(n)]

    def begins_by_seed(self, options: SoccerOptions) -> bool:
        return True

    def rows_alone(self, options: SoccerOptions) -> bool:
        """The competition's tasks: its runner asks for one row, and five hundred steps of a falling robot make a third
        digit of a last bit."""
        return options.task in OFFICIAL

    def scoring(self, options: SoccerOptions) -> str | None:
        """Tasks of the competition are scored as it scores them."""
        return "terminal" if options.task in OFFICIAL else None

    def needs(self) -> list[tuple[str, str]]:
        return [("sai_mujoco", "soccer"), ("imageio", "soccer")]
