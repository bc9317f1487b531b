"""The plan holds every trial once, in whatever parts it is run, under names that files can have."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.config.models import AgentCfg, EvalConfig, LimitsCfg, StopCfg, TaskCfg
from proctor.errors import InputError
from proctor.plan.plan import BLOCK, Plan, Shard
from proctor_host.trials import Trial

names = st.lists(st.text(min_size=1, max_size=100), min_size=1, max_size=4, unique=True)


def config(agents: list[str], tasks: list[str], **keys: Any) -> EvalConfig:
    return EvalConfig(
        agents=tuple(AgentCfg(name=a, policy="zero") for a in agents),
        tasks=tuple(TaskCfg(suite="gymnasium", name=t) for t in tasks),
        **keys,
    )


def sized(agents: int, tasks: int, **keys: Any) -> EvalConfig:
    return config([f"a{i}" for i in range(agents)], [f"t{i}" for i in range(tasks)], **keys)


sizes = st.fixed_dictionaries({"agents": st.integers(1, 5), "tasks": st.integers(1, 4), "n_trials": st.integers(1, 40)})


@given(sizes, st.integers(1, 6))
def test_every_agent_meets_every_task_and_seed_exactly_once(size: dict[str, int], group: int) -> None:
    cfg = sized(**size, base_seed=7, limits=LimitsCfg(max_loaded_agents=group))
    trials = list(Plan(cfg))
    expected = {
        (f"a{a}", f"t{t}", i)
        for a in range(size["agents"])
        for t in range(size["tasks"])
        for i in range(size["n_trials"])
    }
    assert len(trials) == len(expected)
    assert {(t.agent, t.task, t.index) for t in trials} == expected
    assert all(t.seed == 7 + t.index for t in trials)


@given(st.lists(st.one_of(st.none(), st.integers(1, 40)), min_size=1, max_size=4), st.integers(1, 5))
def test_tasks_may_have_their_own_number_of_trials(own: list[int | None], parts: int) -> None:
    cfg = sized(2, len(own), n_trials=3)
    tasks = tuple(task.model_copy(update={"n_trials": n}) for task, n in zip(cfg.tasks, own, strict=True))
    cfg = cfg.model_copy(update={"tasks": tasks})
    trials = list(Plan(cfg))
    for task, n in zip(tasks, own, strict=True):
        assert sorted(t.index for t in trials if t.task == task.name and t.agent == "a0") == list(range(n or 3))
    assert len(trials) == 2 * cfg.trials_per_agent
    shards = [trial for i in range(parts) for trial in Plan(cfg, Shard(i + 1, parts))]
    assert len(shards) == len(trials)
    assert set(shards) == set(trials)


@given(sizes, st.integers(1, 7), st.integers(1, 6), st.integers(1, 6))
def test_shards_partition_the_plan_however_agents_are_grouped(
    size: dict[str, int], count: int, group: int, other_group: int
) -> None:
    plan = Plan(sized(**size, limits=LimitsCfg(max_loaded_agents=group)))
    regrouped = sized(**size, limits=LimitsCfg(max_loaded_agents=other_group))
    parts = [list(Plan(regrouped, Shard(i, count))) for i in range(1, count + 1)]
    together = [trial for part in parts for trial in part]
    assert len(together) == len(set(together))
    assert set(together) == set(plan)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1, "shards are of one size"


def test_a_shard_keeps_the_order_of_the_plan() -> None:
    cfg = sized(agents=2, tasks=2, n_trials=20)
    whole, part = list(Plan(cfg)), list(Plan(cfg, Shard(2, 3)))
    assert part == [trial for trial in whole if trial in set(part)]


def test_trials_of_one_agent_lie_side_by_side_and_all_agents_meet_early() -> None:
    plan = list(Plan(sized(agents=2, tasks=2, n_trials=2 * BLOCK)))
    runs = [(key, len(list(group))) for key, group in groupby(plan, key=lambda t: (t.task, t.agent))]
    pairs = [("t0", "a0"), ("t0", "a1"), ("t1", "a0"), ("t1", "a1")]
    assert runs == [(pair, BLOCK) for pair in pairs * 2]


def test_groups_come_one_after_the_other() -> None:
    cfg = sized(agents=3, tasks=1, n_trials=2, limits=LimitsCfg(max_loaded_agents=2))
    assert Plan(cfg).groups() == [["a0", "a1"], ["a2"]]
    assert [t.agent for t in Plan(cfg)] == ["a0", "a0", "a1", "a1", "a2", "a2"]


@given(sizes)
def test_the_trials_of_a_task_are_those_of_the_plan_in_its_order(size: dict[str, int]) -> None:
    plan = Plan(sized(**size))
    for task in plan.tasks:
        expected = [t for t in plan if t.task == task]
        assert list(plan.of_task(plan.agents, task)) == expected


def test_positions_go_with_the_trials() -> None:
    plan = Plan(sized(agents=2, tasks=2, n_trials=1))
    assert [(t.agent, t.task, a, k) for t, a, k in plan.placed()] == [
        ("a0", "t0", 0, 0),
        ("a1", "t0", 1, 0),
        ("a0", "t1", 0, 1),
        ("a1", "t1", 1, 1),
    ]


# Names of files --------------------------------------------------------------------------------------------


@given(names, names)
def test_file_names_are_safe_and_unique_even_where_case_does_not_count(agents: list[str], tasks: list[str]) -> None:
    plan = Plan(config(agents, tasks, n_trials=2))
    stems = [plan.stem(trial) for trial in plan]
    assert len({s.lower() for s in stems}) == len(stems)
    assert all(re.fullmatch(r"[A-Za-z0-9.+_-]+", s) and len(s) < 240 and s[0] not in "._" for s in stems)


@given(names, names, st.integers(1, 5), st.integers(0, 30))
def test_a_trial_keeps_its_file_and_its_key_when_trials_are_added(
    agents: list[str], tasks: list[str], n: int, more: int
) -> None:
    small = Plan(config(agents, tasks, n_trials=n))
    large = Plan(config(agents, tasks, n_trials=n + more))
    assert {t: (large.stem(t), t.key) for t in small} == {t: (small.stem(t), t.key) for t in small}


@pytest.mark.parametrize(
    ("agents", "tasks", "stem"),
    [
        (["ppo"], ["reach"], "ppo_trial0003_seed126"),
        (["ppo"], ["reach", "push"], "ppo__reach_trial0003_seed126"),
        (["../../ppo v2"], ["reach"], "ppo_v2_trial0003_seed126"),
        (["Ä"], ["reach"], "x_trial0003_seed126"),
    ],
)
def test_file_names(agents: list[str], tasks: list[str], stem: str) -> None:
    assert Plan(config(agents, tasks)).stem(Trial(agents[0], tasks[0], 3, 126)) == stem


def test_names_that_become_equal_are_told_apart() -> None:
    plan = Plan(config(["a b", "a/b", "A_B", "a_b-2"], ["t"]))
    stems = [plan.stem(Trial(agent, "t", 0, 0)) for agent in plan.agents]
    expected = ["a_b", "a_b-2", "A_B-3", "a_b-2-2"]
    assert stems == [f"{name}_trial0000_seed0" for name in expected]


# Shards ----------------------------------------------------------------------------------------------------


@given(st.integers(1, 99), st.integers(0, 99))
def test_a_shard_is_read_back_from_its_text(index: int, more: int) -> None:
    shard = Shard(index, index + more)
    assert Shard.parse(str(shard)) == shard


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/b", "1/0", "-1/2", "1/2/3", "1.0/2"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(InputError) as error:
        Shard.parse(text)
    assert str(error.value) == f'a shard is written i/n with 1 <= i <= n, such as 2/4; found "{text}"'


def test_agents_that_are_compared_are_in_memory_together() -> None:
    cfg = EvalConfig(
        agents=tuple(AgentCfg(name=name, policy="zero") for name in "abcd"),
        tasks=(TaskCfg(suite="gymnasium", name="t"),),
        limits=LimitsCfg(max_loaded_agents=2),
        stop_when=StopCfg(compare=("d", "b")),
        num_parallel=3,
    )
    assert Plan(cfg).groups() == [["b", "d"], ["a", "c"]]
    assert Plan(cfg).block == 3
    assert {trial.agent: position for trial, position, _ in Plan(cfg).placed()} == {"a": 0, "b": 1, "c": 2, "d": 3}
