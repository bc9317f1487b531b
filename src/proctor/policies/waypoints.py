"""Plans of waypoints: a planner now and then, an action expert for each waypoint.

    WAIT -> NEED(plan) -> NEED(act) -> EXECUTE -> NEED(act) | NEED(plan) | DONE

`WaypointPolicy` is the machine; a subclass writes two forwards, `plan(batch)` and `act(batch)`, both on rows of many
trials. A plan is a list of waypoints, each with the number of steps that the expert has to reach it:

- duration 0 ends the plan, a negative one skips its waypoint, one above `max_duration` is clamped to it;
- a plan of no waypoints is a failed plan: the planner is asked once more, then the trial fails;
- a plan that has waypoints but asks for no step takes one no-op (the environment's dummy action), then plans again.

The observation is the freshest one whenever `plan` or `act` is asked. Which trials share a forward changes nothing.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from proctor.policies.arrays import to_host
from proctor.policies.protocol import (
    Actions,
    Batch,
    Decision,
    Execute,
    Fail,
    Goto,
    Idle,
    Stage,
    StagedPolicy,
    StageOutput,
    State,
)
from proctor.policies.tree import tree_map
from proctor_host.trials import Trial

PLAN, ACT = "plan", "act"
MAX_EMPTY_PLANS = 2


@dataclass(frozen=True)
class WaypointCfg:
    """`waypoints`: the most that a plan has; `waypoint_dim`: numbers of one. `execute_steps`: ask the expert again
    after so many steps of its chunk, with the steps that are left as duration; None: when the chunk is used up. `plan`
    and `act` say how the two stages are batched."""

    waypoints: int
    waypoint_dim: int
    max_duration: int = 32
    execute_steps: int | None = None
    plan: Stage = field(default_factory=lambda: Stage(PLAN))
    act: Stage = field(default_factory=lambda: Stage(ACT))

    def __post_init__(self) -> None:
        for name in ("waypoints", "waypoint_dim", "max_duration", "execute_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"WaypointCfg.{name}: found {value}; expected at least 1")
        if (self.plan.name, self.act.name) != (PLAN, ACT):
            raise ValueError(f'found stages "{self.plan.name}" and "{self.act.name}"; expected "{PLAN}" and "{ACT}"')


@dataclass(frozen=True)
class WaypointPlan:
    """What the planner answers. `waypoints` (rows, k, waypoint_dim) with k up to the declared number; `durations`
    (rows, k) in steps, fractions rounded; `start` (rows, waypoint_dim): where the first leg begins, usually where the
    robot is; `lengths` (rows,): how many of the k there are (None: all), 0 for a planner that found nothing. `state`:
    the trials' memory from now on (None: as it was). Tensors are copied to the host, here and in `act`'s answer."""

    waypoints: np.ndarray
    durations: np.ndarray
    start: np.ndarray
    lengths: np.ndarray | None = None
    state: State = None


@dataclass(kw_only=True)
class Leg(Batch):
    """Rows for the action expert: a batch, and for each row the way it has to go. `start`, `end`
    (rows, waypoint_dim) float64: the waypoint before (for the first leg the plan's start) and the one to reach;
    `duration` (rows,) int64: steps left for it."""

    start: np.ndarray
    end: np.ndarray
    duration: np.ndarray


class WaypointPolicy(StagedPolicy):
    """Subclass with `plan` and `act`; with `memory` where trials carry something, with `tokens` where a stage takes
    them. `batch.state` is the memory; nothing else is kept between calls."""

    def __init__(self, cfg: WaypointCfg):
        self.cfg = cfg
        self.stages = (cfg.plan, cfg.act)

    @abc.abstractmethod
    def plan(self, batch: Batch) -> WaypointPlan:
        """Waypoints for every row."""

    @abc.abstractmethod
    def act(self, batch: Leg) -> np.ndarray | Actions:
        """Chunks `(rows, horizon, *action)` towards `batch.end`, horizon at least 1. Of each, the first `min(duration,
        horizon, execute_steps)` are executed; the expert is asked again for what is left of the duration."""

    def memory(self, trials: Sequence[Trial]) -> State:
        """What `batch.state` is at the first plan, rows first; None: nothing."""
        return None

    def reset(self, trials: Sequence[Trial]) -> State:
        return {**_no_plan(len(trials), self.cfg), **_remembered({}, self.memory(trials))}

    def forward(self, stage: str, batch: Batch) -> StageOutput:
        return self._planned(batch) if stage == PLAN else self._acted(batch)

    def _planned(self, batch: Batch) -> StageOutput:
        plan = _on_host(self.plan(_with_memory(batch)))
        lengths = _check_plan(plan, len(batch), self.cfg)
        state = {**_no_plan(len(batch), self.cfg), **_remembered(batch.state, plan.state)}
        decisions: list[Decision] = []
        for row, length in enumerate(lengths.tolist()):
            waypoints = np.asarray(plan.waypoints[row, :length], np.float64)
            durations = np.asarray(plan.durations[row, :length], np.float64)
            if not all(np.isfinite(part).all() for part in (waypoints, durations, plan.start[row])):
                decisions.append(Fail("the planner gave a waypoint, duration or start that is not finite"))
                continue
            empty = int(batch.state["empty"][row]) + 1 if length == 0 else 0
            legs = legs_of(durations, self.cfg.max_duration)
            for place, (waypoint, steps) in enumerate(legs):
                state["waypoints"][row, place], state["durations"][row, place] = waypoints[waypoint], steps
            state["left"][row], state["empty"][row] = legs[0][1] if legs else 0, empty
            decisions.append(_after_planning(legs, empty))
        state["start"] = np.array(plan.start, np.float64)
        return StageOutput(decisions, state)

    def _acted(self, batch: Batch) -> StageOutput:
        rows, old = np.arange(len(batch)), batch.state
        end = old["waypoints"][rows, old["leg"]]
        leg = Leg(**vars(_with_memory(batch)), start=old["start"], end=end, duration=old["left"])
        answer = self.act(leg)
        actions, memory = (answer.actions, answer.state) if isinstance(answer, Actions) else (answer, None)
        actions = to_host(actions)
        if actions.ndim < 2 or len(actions) != len(batch) or actions.shape[1] == 0:
            raise ValueError(
                f"act returned shape {actions.shape} for {len(batch)} rows; expected (rows, horizon, *action)"
            )
        steps = np.minimum(old["left"], min(actions.shape[1], self.cfg.execute_steps or actions.shape[1]))
        state = {**old, **_remembered(old, memory), **_moved_on(old, end, steps)}
        then = [ACT if left else PLAN for left in state["left"].tolist()]
        chunks = [actions[row, :n] for row, n in enumerate(steps.tolist())]
        return StageOutput([Execute(chunk, stage) for chunk, stage in zip(chunks, then, strict=True)], state)


def _no_plan(rows: int, cfg: WaypointCfg) -> dict[str, Any]:
    """The state of trials that have to plan."""
    return {
        "waypoints": np.zeros((rows, cfg.waypoints, cfg.waypoint_dim)),
        "durations": np.zeros((rows, cfg.waypoints), np.int64),
        "start": np.zeros((rows, cfg.waypoint_dim)),
        "leg": np.zeros(rows, np.int64),
        "left": np.zeros(rows, np.int64),
        "empty": np.zeros(rows, np.int64),
    }


def legs_of(durations: Sequence[float] | np.ndarray, max_duration: int) -> list[tuple[int, int]]:
    """The (waypoint, steps) that a plan comes to: fractions rounded, 0 ends it, negative ones skipped, long ones
    clamped."""
    legs = []
    for waypoint, steps in enumerate(np.rint(np.asarray(durations, np.float64)).tolist()):
        if steps == 0:
            break
        if steps > 0:
            legs.append((waypoint, int(min(steps, max_duration))))
    return legs


def _after_planning(legs: list[tuple[int, int]], empty: int) -> Decision:
    if empty >= MAX_EMPTY_PLANS:
        return Fail("the planner gave an empty plan, and another when it was asked again")
    return Goto(ACT) if legs else Goto(PLAN) if empty else Idle(PLAN)


def _moved_on(old: dict[str, Any], end: np.ndarray, steps: np.ndarray) -> dict[str, np.ndarray]:
    """Where each row stands when its steps are done: still on its leg, or at the beginning of the next."""
    rows, left = np.arange(len(steps)), old["left"] - steps
    there = left == 0
    last = old["durations"].shape[1] - 1
    following = np.where(old["leg"] < last, old["durations"][rows, np.minimum(old["leg"] + 1, last)], 0)
    return {
        "left": np.where(there, following, left),
        "leg": np.where(there & (following > 0), old["leg"] + 1, old["leg"]),
        "start": np.where(there[:, None], end, old["start"]),
    }


def _with_memory(batch: Batch) -> Batch:
    """The batch as a subclass sees it: its state is the memory alone."""
    return Batch(**{**vars(batch), "state": batch.state.get("memory")})


def _remembered(old: dict[str, Any], new: State) -> dict[str, Any]:
    """The entry of a state that holds the memory: what is new, else what was."""
    memory = old.get("memory") if new is None else tree_map(to_host, new)
    return {} if memory is None else {"memory": memory}


def _on_host(plan: WaypointPlan) -> WaypointPlan:
    """With arrays in the place of tensors."""
    lengths = None if plan.lengths is None else to_host(plan.lengths)
    return WaypointPlan(to_host(plan.waypoints), to_host(plan.durations), to_host(plan.start), lengths, plan.state)


def _check_plan(plan: WaypointPlan, rows: int, cfg: WaypointCfg) -> np.ndarray:
    """The plans' lengths. Raises ValueError where arrays do not have the promised shapes."""
    waypoints, durations, start = plan.waypoints.shape, plan.durations.shape, plan.start.shape
    k = waypoints[1] if len(waypoints) == 3 else -1
    fits = waypoints == (rows, k, cfg.waypoint_dim) and durations == (rows, k) and start == (rows, cfg.waypoint_dim)
    if not fits or k > cfg.waypoints:
        raise ValueError(
            f"plan returned waypoints {waypoints}, durations {durations} and start {start} for {rows} rows; expected "
            f"(rows, k, {cfg.waypoint_dim}), (rows, k) and (rows, {cfg.waypoint_dim}) with k up to {cfg.waypoints}"
        )
    lengths = np.full(rows, k) if plan.lengths is None else plan.lengths
    if lengths.shape != (rows,) or lengths.dtype.kind not in "iu" or not ((lengths >= 0) & (lengths <= k)).all():
        raise ValueError(f"plan returned lengths {lengths}; expected {rows} whole numbers from 0 to {k}")
    return lengths
