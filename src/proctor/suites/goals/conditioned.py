"""The `goal` loader: an agent that is told what to do by a goal embedding, and by nothing else.

The inner policy is a Policy (or StagedPolicy) of yours. It gets the goal as the observation entry `goal`, float32
(rows, d); where the task's observation is no dict, that stands beside it as `observation`. A trial's goal is looked
up once, when the trial starts, and stays. What the inner policy could tell tasks apart by is taken away: the task's
name in `batch.trials`, and names and briefings in `spaces`.

Where goals come from (`source`):

- `prior`: the goal model is asked for the task's instruction, with a generator of the trial's own;
- `visual`: the mean success visual of the task, from `visuals_folder`: what a perfect prior would answer.

The instruction is what the suite's briefing says (a mapping with `instruction`), unless `instructions` gives another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from pydantic import Field, model_validator

from proctor.config.models import AgentCfg
from proctor.policies.from_python import PythonLoader
from proctor.policies.options import PolicyOptions, PythonOptions
from proctor.policies.protocol import Actions, AnyPolicy, Batch, Policy, SpaceInfo, StagedPolicy, StageOutput, State
from proctor.suites.goals.instructions import instructions_for
from proctor.suites.goals.models import GoalModelCfg, Surroundings, make_goal_model, source_of
from proctor.suites.goals.protocol import GOAL_STREAM, GoalModel, goals_of, task_rng
from proctor.suites.goals.visuals import INDEX, Visuals, read_visuals
from proctor_host.trials import Trial

GOAL, OBSERVATION = "goal", "observation"

GoalOf = Callable[[Trial], np.ndarray]
"""The goal of a trial, float32 (d,)."""
Inner = TypeVar("Inner", Policy, StagedPolicy)


class GoalOptions(PythonOptions):
    """`goal` loader. `target` makes the inner policy; it is told `goal_dim`, too, and `spaces` of what that sees."""

    goals: GoalModelCfg | None = None
    """The goal model; needed for `source: prior`."""
    source: Literal["prior", "visual"] = "prior"
    visuals_folder: str | None = None
    """Success visuals; needed for `source: visual`, and for a goal model that is made of them."""
    instructions: dict[str, str | dict[str, Any]] = Field(default_factory=dict)
    """Task -> what it asks for: a text, or a mapping with `instruction` and `paraphrases`."""

    @model_validator(mode="after")
    def _source_is_there(self) -> GoalOptions:
        if self.source == "prior" and self.goals is None:
            raise ValueError("source: prior needs a goal model; name one under goals")
        if self.source == "visual" and self.visuals_folder is None:
            raise ValueError("source: visual needs visuals_folder, a folder of `proctor goals collect`")
        return self


def prior_goals(model: GoalModel, texts: Mapping[str, str]) -> GoalOf:
    """Goals as the model gives them for each task's text, drawn from a generator of the trial's seed and task, the same
    for every agent. One text at a time: a trial's goal does not depend on who else is asked for."""

    def goal_of(trial: Trial) -> np.ndarray:
        rng = task_rng(trial.seed, GOAL_STREAM, trial.task)
        return goals_of(model, [texts[trial.task]], rng).vectors[0].astype(np.float32)

    return goal_of


def visual_goals(visuals: Visuals) -> GoalOf:
    """Goals as the success visuals show them, one for each task."""
    known = cache(visuals.goal)
    return lambda trial: known(trial.task)


class _Conditioned(Generic[Inner]):
    """An inner policy that sees the goal and not the task."""

    def __init__(self, inner: Inner, goal_of: GoalOf):
        self._inner, self._goal_of = inner, goal_of

    def reset(self, trials: Sequence[Trial]) -> State:
        goals = np.stack([self._goal_of(trial) for trial in trials])
        return _state(goals, self._inner.reset(_nameless(trials)))

    def close(self) -> None:
        self._inner.close()


class GoalConditioned(_Conditioned[Policy], Policy):
    """A policy of one stage."""

    def act(self, batch: Batch) -> Actions:
        answer = self._inner.act(_inner_batch(batch))
        answer = answer if isinstance(answer, Actions) else Actions(answer)
        return Actions(answer.actions, _state(batch.state[GOAL], answer.state))


class StagedGoalConditioned(_Conditioned[StagedPolicy], StagedPolicy):
    """A policy of several stages."""

    def __init__(self, inner: StagedPolicy, goal_of: GoalOf):
        super().__init__(inner, goal_of)
        self.stages = inner.stages

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        answer = self._inner.forward(stage, _inner_batch(batch))
        return StageOutput(answer.decisions, _state(batch.state[GOAL], answer.state))


def condition(inner: AnyPolicy, goal_of: GoalOf) -> AnyPolicy:
    """`inner` with the goal of each trial in its observations."""
    return GoalConditioned(inner, goal_of) if isinstance(inner, Policy) else StagedGoalConditioned(inner, goal_of)


def _nameless(trials: Sequence[Trial]) -> list[Trial]:
    return [replace(trial, agent="", task="") for trial in trials]


def _state(goals: np.ndarray, inner: State) -> State:
    return {GOAL: goals} if inner is None else {GOAL: goals, "inner": inner}


def _inner_batch(batch: Batch) -> Batch:
    own = batch.observation if isinstance(batch.observation, dict) else {OBSERVATION: batch.observation}
    return Batch({**own, GOAL: batch.state[GOAL]}, batch.state.get("inner"), batch.rngs, _nameless(batch.trials))


class GoalLoader(PythonLoader):
    """A policy of yours that is told what to do by a goal embedding."""

    name: ClassVar[str] = "goal"
    hosted: ClassVar[str] = "proctor.suites.goals.hosted:load"
    Options: ClassVar[type[PolicyOptions]] = GoalOptions

    def load(self, agent: AgentCfg, options: GoalOptions, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        goal_of = self._goals(agent, options, spaces, base)
        some = goal_of(Trial(agent.name, next(iter(spaces.observation)), 0, 0))
        told = {"spaces": inner_spaces(spaces, len(some)), "goal_dim": len(some)}
        return condition(self.make(agent, options, told, base), goal_of)

    def files(self, agent: AgentCfg, options: GoalOptions, base: Path | None) -> dict[str, Path]:
        found = super().files(agent, options, base)
        source = None if options.goals is None else source_of(options.goals, base)
        folder = None if options.visuals_folder is None else _under(options.visuals_folder, base)
        if source is not None:
            found["goal model"] = source
        if folder is not None and (folder / INDEX).is_file():
            files = sorted(folder.glob("*.npz"))
            found |= {f"visuals {path.name}": path for path in (folder / INDEX, *files)}
        return found

    def _goals(self, agent: AgentCfg, options: GoalOptions, spaces: SpaceInfo, base: Path | None) -> GoalOf:
        folder = options.visuals_folder
        visuals = None if folder is None else read_visuals(_under(folder, base))
        if options.source == "visual":
            assert visuals is not None
            for task in spaces.observation:
                visuals.goal(task)
            return visual_goals(visuals)
        assert options.goals is not None
        briefings = {task: spaces.briefing.get(task) for task in spaces.observation}
        instructions = instructions_for(briefings, options.instructions, f'agent "{agent.name}", options.instructions')
        around = Surroundings(instructions, visuals, agent.device, base, f'the goal model of agent "{agent.name}"')
        model = make_goal_model(options.goals, around)
        return prior_goals(model, {task: instruction.text for task, instruction in instructions.items()})


def _under(folder: str, base: Path | None) -> Path:
    return Path(folder) if base is None else base / folder


def inner_spaces(spaces: SpaceInfo, goal_dim: int) -> SpaceInfo:
    """What the inner policy is told of its tasks: their spaces with `goal`, under numbers instead of names."""
    from gymnasium.spaces import Box, Dict

    goal = Box(-np.inf, np.inf, (goal_dim,), np.float32)
    observation, action = {}, {}
    for number, (task, space) in enumerate(spaces.observation.items()):
        own = dict(space.spaces) if isinstance(space, Dict) else {OBSERVATION: space}
        observation[str(number)] = Dict({**own, GOAL: goal})
        action[str(number)] = spaces.action[task]
    return SpaceInfo(observation, action)
