"""The machine of planner and expert, by hand and by law."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st
from planners import Flowing, Scripted

from proctor import Batch, Execute, Fail, Goto, Stage, Trial
from proctor.policies.protocol import Idle
from proctor.policies.rows import row_dependence, sample_batch, stage_batches
from proctor.policies.waypoints import WaypointCfg, WaypointPlan, WaypointPolicy, legs_of
from proctor.testing import PolicyConformance

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="the extra `torch` is not installed")


class Walk:
    """Some trials of a policy, asked stage by stage as the engine would."""

    def __init__(self, policy: WaypointPolicy, trials: int = 1):
        self.policy = policy
        self.trials = [Trial("a", "t", i, i) for i in range(trials)]
        self.state = policy.reset(self.trials)

    def ask(self, stage: str) -> Any:
        """The first row's decision."""
        n = len(self.trials)
        batch = Batch(np.zeros((n, 6), np.float32), self.state, [t.policy_rng() for t in self.trials], self.trials)
        output = self.policy.forward(stage, batch)
        self.state = output.state
        return output.decisions[0]

    def steps(self, calls: int) -> list[Any]:
        """What the first row comes to in so many calls: chunk lengths, and the other decisions by name."""
        found, stage = [], "plan"
        for _ in range(calls):
            decision = self.ask(stage)
            match decision:
                case Execute(actions, then):
                    found.append(len(actions))
                    stage = then
                case Goto(then) | Idle(then):
                    found.append((type(decision).__name__, then))
                    stage = then
                case Fail():
                    return [*found, "fail"]
        return found


ACT, PLAN = ("Goto", "act"), ("Goto", "plan")


@pytest.mark.parametrize(
    ("durations", "legs"),
    [
        ([3, 2], [(0, 3), (1, 2)]),
        ([3, 0, 2], [(0, 3)]),
        ([-1, 4, -5, 2], [(1, 4), (3, 2)]),
        ([33, 32, 1000], [(0, 32), (1, 32), (2, 32)]),
        ([0, 5], []),
        ([-1, -2], []),
        ([], []),
        ([2.4, 0.6, 0.4, 7], [(0, 2), (1, 1)]),
        ([1e30], [(0, 32)]),
    ],
)
def test_durations_say_what_a_plan_comes_to(durations: list[float], legs: list[tuple[int, int]]) -> None:
    assert legs_of(durations, 32) == legs


@given(st.lists(st.integers(-40, 70), max_size=7))
def test_a_plan_asks_for_no_more_than_it_says(durations: list[int]) -> None:
    legs = legs_of(durations, 32)
    assert all(1 <= steps <= min(32, durations[waypoint]) for waypoint, steps in legs)
    assert [waypoint for waypoint, _ in legs] == sorted({waypoint for waypoint, _ in legs})
    assert legs_of([*durations, 0, 5], 32) == legs


def test_a_cycle_is_a_plan_then_an_expert_call_for_each_waypoint_then_a_plan() -> None:
    assert Walk(Scripted([3, -2, 2])).steps(7) == [ACT, 3, 2, ACT, 3, 2, ACT]


def test_a_chunk_shorter_than_the_duration_is_followed_by_another_for_the_rest() -> None:
    assert Walk(Scripted([7, 2], horizon=3)).steps(6) == [ACT, 3, 3, 1, 2, ACT]


def test_the_expert_may_be_asked_again_before_its_chunk_is_used_up() -> None:
    assert Walk(Scripted([5, 1], execute_steps=2)).steps(6) == [ACT, 2, 2, 1, 1, ACT]


def test_the_expert_is_told_the_steps_that_are_left() -> None:
    walk = Walk(Scripted([5], execute_steps=2))
    walk.ask("plan")
    assert [round(100 * walk.ask("act").actions[0, 0]) for _ in range(3)] == [5, 3, 1]


def test_legs_begin_where_the_last_one_ended_and_skipped_waypoints_are_nobodys_start() -> None:
    seen = []

    class Watching(Scripted):
        def act(self, batch: Any) -> Any:
            seen.append((float(batch.start[0, 0]), float(batch.end[0, 0]), int(batch.duration[0])))
            return super().act(batch)

    Walk(Watching([2, -1, 3, 40])).steps(4)
    assert seen == [(0.5, 1.0, 2), (1.0, 3.0, 3), (3.0, 4.0, 32)]


def test_an_empty_plan_is_asked_for_once_more() -> None:
    assert Walk(Scripted([3], lengths=[0, None, 0, None])).steps(6) == [PLAN, ACT, 3, PLAN, ACT, 3]


def test_a_second_empty_plan_in_a_row_fails_the_trial() -> None:
    walk = Walk(Scripted([3], lengths=[0, 0]))
    assert walk.steps(3) == [PLAN, "fail"]
    assert walk.ask("plan") == Fail("the planner gave an empty plan, and another when it was asked again")


@pytest.mark.parametrize("durations", [[0, 3], [-1, -1]])
def test_a_plan_without_a_step_takes_a_no_op_and_plans_again(durations: list[int]) -> None:
    assert Walk(Scripted(durations)).steps(3) == [("Idle", "plan")] * 3


def test_a_no_op_between_two_empty_plans_makes_them_no_row() -> None:
    walk = Walk(Scripted([0, 3], lengths=[0, None, 0, None]))
    assert walk.steps(4) == [PLAN, ("Idle", "plan"), PLAN, ("Idle", "plan")]


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_a_plan_that_is_not_finite_fails_its_own_row_only(number: float) -> None:
    class Broken(Scripted):
        def plan(self, batch: Batch) -> WaypointPlan:
            plan = super().plan(batch)
            plan.waypoints[0, 1] = number
            return plan

    walk = Walk(Broken([3, 2]), trials=2)
    decision = walk.ask("plan")
    assert decision == Fail("the planner gave a waypoint, duration or start that is not finite")
    assert walk.state["left"].tolist() == [0, 3]


def test_numbers_after_the_declared_length_do_not_matter() -> None:
    assert Walk(Scripted([3, np.nan], lengths=[1])).steps(3) == [ACT, 3, ACT]


def test_memory_comes_back_and_is_left_alone_where_nothing_is_said() -> None:
    walk = Walk(Scripted([1]))
    walk.steps(6)
    assert walk.state["memory"].tolist() == [3]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            WaypointPlan(np.zeros((1, 9, 1)), np.zeros((1, 9)), np.zeros((1, 1))),
            r"waypoints \(1, 9, 1\), durations \(1, 9\) and start \(1, 1\) for 1 rows; expected \(rows, k, 1\), "
            r"\(rows, k\) and \(rows, 1\) with k up to 4",
        ),
        (WaypointPlan(np.zeros((1, 2, 1)), np.zeros((1, 3)), np.zeros((1, 1))), r"durations \(1, 3\)"),
        (WaypointPlan(np.zeros((1, 2, 1)), np.zeros((1, 2)), np.zeros((1, 2))), r"start \(1, 2\)"),
        (
            WaypointPlan(np.zeros((1, 2, 1)), np.zeros((1, 2)), np.zeros((1, 1)), np.array([3])),
            r"lengths \[3\]; expected 1 whole numbers from 0 to 2",
        ),
    ],
)
def test_a_plan_of_another_shape_is_refused(answer: WaypointPlan, says: str) -> None:
    class Odd(Scripted):
        def plan(self, batch: Batch) -> WaypointPlan:
            return answer

    with pytest.raises(ValueError, match=says):
        Walk(Odd()).ask("plan")


def test_an_expert_without_a_horizon_is_refused() -> None:
    class Bare(Scripted):
        def act(self, batch: Any) -> np.ndarray:
            return np.zeros((len(batch), 0, 2))

    walk = Walk(Bare())
    walk.ask("plan")
    with pytest.raises(ValueError, match=r"act returned shape \(1, 0, 2\) for 1 rows; expected \(rows, horizon"):
        walk.ask("act")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"waypoints": 0}, "WaypointCfg.waypoints: found 0; expected at least 1"),
        ({"execute_steps": 0}, "WaypointCfg.execute_steps: found 0"),
        ({"plan": Stage("think")}, 'found stages "think" and "act"; expected "plan" and "act"'),
    ],
)
def test_a_config_that_makes_no_sense_is_refused(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        WaypointCfg(**{"waypoints": 2, "waypoint_dim": 1, **keys})


@needs_torch
def test_an_expert_whose_rows_depend_on_each_other_is_found_though_its_planner_is_not_to_blame() -> None:
    class Averaging(Flowing):
        def act(self, batch: Any) -> Any:
            return super().act(batch) - batch.observation.mean()

    trials = [Trial("a", "t", i, i) for i in range(4)]
    batches = [sample_batch(policy, TestFlowing.observation_space, trials) for policy in (Flowing(), Averaging())]
    assert row_dependence(Flowing(), batches[0]) is None
    found = row_dependence(Averaging(), batches[1])
    assert found == "stage act: a row's answer depends on the other rows' content (rows 0, 1, 2, 3 of 4)"


@needs_torch
def test_every_stage_is_reached_with_rows_that_came_there() -> None:
    trials = [Trial("a", "t", i, i) for i in range(4)]
    policy = Flowing()
    found = dict(stage_batches(policy, sample_batch(policy, TestFlowing.observation_space, trials)))
    assert list(found) == ["plan", "act"]
    assert found["act"].tokens.shape == (4, 8)
    assert (found["act"].state["left"] > 0).all()


class TestScripted(PolicyConformance):
    observation_space = Box(-1.0, 1.0, (6,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)

    def make(self) -> Scripted:
        return Scripted()


@needs_torch
class TestFlowing(PolicyConformance):
    observation_space = Box(-1.0, 1.0, (6,), np.float32)
    action_space = Box(-1.0, 1.0, (2,), np.float32)

    def make(self) -> Flowing:
        return Flowing()
