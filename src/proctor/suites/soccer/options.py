"""Options of the `soccer` suite, as data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from proctor.suites.gymnasium.options import Handed
from proctor.suites.protocol import SuiteOptions
from proctor.suites.soccer.tasks import MASTER_BYTES, OFFICIAL, code_index, has_legs_only, task_id


class MatchSeedsCfg(SuiteOptions):
    """Trial i is reset with the seed of match i of an official run with this master seed."""

    master: int = Field(ge=0, lt=2 ** (8 * MASTER_BYTES))


class EvaluationCfg(SuiteOptions):
    """An evaluation function of the user's: `function(env, eval_state) -> (reward, eval_state)` in a Python file."""

    file: str = Field(min_length=1)
    function: str = Field(default="evaluation_fn", pattern=r"^[A-Za-z_]\w*$")
    trust: bool = False
    """The file may run. It has the rights of whoever starts the run."""
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """Of the file; filled in when the config is loaded. A file with another hash is refused."""


class SoccerOptions(SuiteOptions):
    """One task of the suite."""

    task: str = OFFICIAL[0]
    """An id of sai-mujoco or a short name; the resolved config shows the id."""
    preprocessor: Literal["none", "official"] = "none"
    """The environment's own observation, or the one that the competition's preprocessor builds."""
    task_count: int = Field(default=len(OFFICIAL), ge=0, le=100)
    """With the official preprocessor: entries of its one-hot task code. 0: no code."""
    task_index: int | None = Field(default=None, ge=0, le=100)
    """Which of them is 1. None: the task's place in the competition."""
    info: Handed = None
    """What of `info` policies see beside the observation: names, or true for all that is made of numbers; `task_index`
    is the one-hot task code."""
    match_seeds: MatchSeedsCfg | None = None
    """None: a trial is reset with its own seed."""
    evaluation: EvaluationCfg | None = None

    @field_validator("preprocessor", mode="before")
    @classmethod
    def _own(cls, value: object) -> object:
        if isinstance(value, str) and ":" in value:
            raise ValueError(
                f"found {value}; expected none or official. A preprocessor of an agent belongs to it: options: "
                f"{{preprocessor: {value}}}; the task hands it info with info: true"
            )
        return value

    @field_validator("task")
    @classmethod
    def _task(cls, name: str) -> str:
        return task_id(name)

    @model_validator(mode="after")
    def _check_code(self) -> SoccerOptions:
        if self.preprocessor == "none":
            return self
        if not has_legs_only(self.task):
            raise ValueError(f"the official preprocessor is for the robot with legs only, not for {self.task}")
        index = self.code_index
        if self.task_count and index is None:
            expected = f"task_index: 0 to {self.task_count - 1}, or task_count: 0"
            raise ValueError(f"{self.task} has no place in the competition's task code; expected {expected}")
        if self.task_count and index is not None and index >= self.task_count:
            raise ValueError(f"the task code has {self.task_count} entries and task_index is {index}; count from 0")
        return self

    @property
    def code_index(self) -> int | None:
        """Which entry of the task code is 1; None where nobody knows."""
        return code_index(self.task, self.task_index)
