"""Which trial a free slot gets: every pending one exactly once, with few changes of environment."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.config.models import AgentCfg, EvalConfig, LimitsCfg, StopCfg, TaskCfg
from proctor.plan.plan import Plan
from proctor.rollout.crew import Member
from proctor.rollout.scheduler import Scheduler
from proctor.rollout.slots import Parted, Slot, SlotState
from proctor_host.trials import Trial


def plan(agents: int = 2, tasks: int = 2, n_trials: int = 3, group: int = 8, in_step: int | None = None) -> Plan:
    """With `in_step`, a run of so many slots that may stop early."""
    return Plan(
        EvalConfig(
            agents=tuple(AgentCfg(name=f"a{i}", policy="zero") for i in range(agents)),
            tasks=tuple(TaskCfg(suite="gymnasium", name=f"t{i}") for i in range(tasks)),
            n_trials=n_trials,
            limits=LimitsCfg(max_loaded_agents=group),
            stop_when=None if in_step is None else StopCfg(interval_width=0.1),
            num_parallel=in_step or 1,
        )
    )


def everything(p: Plan) -> set[tuple[str, str, int]]:
    return {(t.agent, t.task, t.index) for t in p}


class Floor:
    """Workers and slots without environments: trials start and end as the test says."""

    def __init__(self, scheduler: Scheduler, slots: list[int]):
        self.scheduler = scheduler
        tasks = dict.fromkeys(scheduler._plan.tasks)
        cfg = SimpleNamespace(tasks=tasks)
        backend: Any = SimpleNamespace(hire=lambda n: SimpleNamespace(slots=n, ready=True), cfg=cfg)
        self.members = [Member(backend, n) for n in slots]
        self.running: dict[int, tuple[Slot, Trial]] = {}

    @property
    def slots(self) -> list[Slot]:
        return [slot for member in self.members for slot in member.slots]

    def fill(self) -> list[Trial]:
        """Give every free slot what it can get."""
        started = []
        for slot in self.slots:
            if slot.state is SlotState.FREE and (trial := self.scheduler.pick(slot)) is not None:
                agent: Any = SimpleNamespace(first_stage="act", is_asked_in=lambda worker: False)
                slot.assign(trial, SimpleNamespace(layout=None), agent)  # type: ignore[arg-type]
                self.running[id(slot)] = (slot, trial)
                started.append(trial)
        return started

    def end(self, rng: np.random.Generator, *, retry: bool = False) -> Trial:
        """One running trial ends."""
        slot, trial = self.running.pop(rng.choice(sorted(self.running)))
        self.scheduler.ended(trial)
        slot.release()
        if retry:
            self.scheduler.retry(trial)
        return trial


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 20),
    st.integers(1, 3),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(0, 999),
    st.sets(st.integers(0, 2), max_size=2),
    st.none() | st.integers(1, 20),
)
def test_every_pending_trial_is_run_exactly_once_whatever_ends_first(
    agents: int, tasks: int, n: int, group: int, slots: list[int], seed: int, batched: set[int], in_step: int | None
) -> None:
    p, rng = plan(agents, tasks, n, group, in_step), np.random.default_rng(seed)
    pending = {key for key in everything(p) if rng.random() < 0.8}
    worlds = {f"t{i}": 2 for i in batched if i < tasks}
    scheduler = Scheduler(p, set(pending), worlds)
    floor, finished = Floor(scheduler, slots), []
    broken = {key for key in sorted(pending) if rng.random() < 0.1}
    while (loaded := scheduler.next_group()) is not None:
        assert 0 < len(loaded) <= group
        floor.fill()
        while not scheduler.exhausted:
            assert floor.running, "somebody is always at work"
            assert {trial.agent for _, trial in floor.running.values()} <= set(loaded)
            for member in floor.members:
                here = [trial.task for slot, trial in floor.running.values() if slot.member is member]
                assert len(set(here)) == 1 or not set(here) & worlds.keys(), "a batch environment has the worker alone"
                assert all(here.count(task) <= size for task, size in worlds.items())
            trial = floor.end(rng)
            key = (trial.agent, trial.task, trial.index)
            if key in broken:
                broken.discard(key)
                scheduler.retry(trial)
            else:
                finished.append(key)
            floor.fill()
    assert sorted(finished) == sorted(pending)


def test_a_slot_stays_with_its_task_while_that_has_trials() -> None:
    scheduler = Scheduler(plan(agents=1, tasks=2, n_trials=4), everything(plan(1, 2, 4)), {})
    scheduler.next_group()
    floor, rng = Floor(scheduler, [2]), np.random.default_rng(0)
    assert sorted(t.task for t in floor.fill()) == ["t0", "t1"]
    for _ in range(3):
        ended = floor.end(rng)
        assert [t.task for t in floor.fill()] == [ended.task]


def test_a_slot_whose_task_is_through_helps_where_most_is_left() -> None:
    pending = {("a0", "t0", 0), *(("a0", "t1", i) for i in range(2)), *(("a0", "t2", i) for i in range(9))}
    scheduler = Scheduler(plan(agents=1, tasks=3, n_trials=9), pending, {})
    scheduler.next_group()
    floor = Floor(scheduler, [4])
    assert [t.task for t in floor.fill()] == ["t2", "t2", "t2", "t1"]


def test_only_groups_with_work_are_loaded_and_only_their_busy_agents() -> None:
    p = plan(agents=5, tasks=1, n_trials=2, group=2)
    scheduler = Scheduler(p, {("a1", "t0", 0), ("a4", "t0", 1)}, {})
    assert scheduler.next_group() == ["a1"]
    assert scheduler.next_group() == ["a4"]
    assert scheduler.next_group() is None


def test_a_trial_that_must_be_run_again_comes_before_new_ones() -> None:
    scheduler = Scheduler(plan(1, 1, 5), everything(plan(1, 1, 5)), {})
    scheduler.next_group()
    floor, rng = Floor(scheduler, [1]), np.random.default_rng(0)
    (first,) = floor.fill()
    floor.end(rng, retry=True)
    assert floor.fill() == [first]
    floor.end(rng)
    assert floor.fill()[0].index == 1


def test_a_group_is_not_through_while_a_trial_may_come_back() -> None:
    scheduler = Scheduler(plan(1, 1, 1), everything(plan(1, 1, 1)), {})
    scheduler.next_group()
    floor, rng = Floor(scheduler, [1]), np.random.default_rng(0)
    floor.fill()
    assert not scheduler.exhausted
    floor.end(rng, retry=True)
    assert not scheduler.exhausted
    floor.fill()
    floor.end(rng)
    assert scheduler.exhausted


@pytest.mark.parametrize("worlds", [1, 2, 4])
def test_a_batch_environment_uses_its_worlds_and_no_more(worlds: int) -> None:
    scheduler = Scheduler(plan(1, 1, 9), everything(plan(1, 1, 9)), {"t0": worlds})
    scheduler.next_group()
    floor: Any = Floor(scheduler, [3])
    assert len(floor.fill()) == min(worlds, 3)


def test_tasks_keep_step_where_the_run_may_stop_early() -> None:
    p = plan(agents=2, tasks=3, n_trials=30, in_step=4)
    scheduler = Scheduler(p, everything(p), {})
    floor, rng, reached = Floor(scheduler, [2, 2]), np.random.default_rng(0), dict.fromkeys(p.tasks, 0)
    scheduler.next_group()
    while not scheduler.exhausted:
        for trial in floor.fill():
            reached[trial.task] = trial.index
        assert max(reached.values()) - min(reached.values()) <= 2 * p.block
        floor.end(rng)


def test_closed_agents_get_no_more_trials_and_others_do() -> None:
    p = plan(agents=3, tasks=2, n_trials=6, group=2)
    scheduler = Scheduler(p, everything(p), {})
    floor, rng = Floor(scheduler, [2]), np.random.default_rng(0)
    scheduler.next_group()
    floor.fill()
    floor.end(rng, retry=True)
    scheduler.close({"a0", "a2"})
    floor.end(rng, retry=True)
    started = []
    while not scheduler.exhausted:
        started += floor.fill()
        floor.end(rng)
    assert {trial.agent for trial in started} == {"a1"}
    assert len({trial.key for trial in started}) == 12
    assert scheduler.next_group() == []
    assert scheduler.exhausted
    assert scheduler.next_group() is None


def test_a_slot_goes_to_another_task_once_all_that_has_ended_in_its_worker_is_recorded() -> None:
    p = plan(agents=1, tasks=2, n_trials=1)
    scheduler = Scheduler(p, everything(p), {})
    scheduler.next_group()
    floor = Floor(scheduler, [1])
    (first,) = floor.fill()
    ((slot, _),) = floor.running.values()
    slot.release()
    slot.member.parted[first.key] = Parted(first, 0.0, False)
    assert floor.fill() == [], "to let go of its environment may take the worker with it"
    del slot.member.parted[first.key]
    assert [trial.task for trial in floor.fill()] == [{"t0": "t1", "t1": "t0"}[first.task]]
