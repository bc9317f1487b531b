"""What may change when a run goes on: how trials run, never what they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.config.models import AgentCfg, EvalConfig, LimitsCfg, TaskCfg, WorkersCfg
from proctor.errors import InputError
from proctor.plan.resume import check_resumable, differences

CFG = EvalConfig(
    agents=(AgentCfg(name="ppo", policy="zero"), AgentCfg(name="sac", policy="random")),
    tasks=(TaskCfg(suite="gymnasium", name="reach", options={"id": "Reach-v0"}),),
)


def changed(**keys: Any) -> EvalConfig:
    return CFG.model_copy(update=keys)


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"n_trials": 50},
        {"num_parallel": 3, "workers": WorkersCfg(kind="inline")},
        {"limits": LimitsCfg(retries=7), "output_root": "elsewhere"},
    ],
)
def test_how_trials_run_may_change_and_trials_may_be_added(keys: dict[str, Any]) -> None:
    check_resumable(CFG, changed(**keys))


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"n_trials": 9}, "n_trials: 10 -> 9"),
        ({"base_seed": 1}, "base_seed: 123 -> 1"),
        ({"max_episode_steps": 7}, "max_episode_steps: None -> 7"),
        (
            {"agents": (CFG.agents[0], CFG.agents[1].model_copy(update={"device": "cuda"}))},
            "agents.1.device: 'cpu' -> 'cuda'",
        ),
        (
            {"tasks": (CFG.tasks[0].model_copy(update={"options": {"id": "Reach-v0", "kwargs": 1}}),)},
            "tasks.0.options.kwargs: None -> 1",
        ),
    ],
)
def test_what_would_alter_a_trial_is_named(keys: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError) as error:
        check_resumable(CFG, changed(**keys))
    assert f"\n  {named}\n" in str(error.value)


def test_a_task_of_its_own_number_may_grow_but_not_shrink() -> None:
    def with_trials(n: int | None) -> EvalConfig:
        return changed(tasks=(CFG.tasks[0].model_copy(update={"n_trials": n}),))

    check_resumable(with_trials(20), with_trials(40))
    check_resumable(with_trials(None), with_trials(CFG.n_trials + 1))
    for before, after in ((20, 19), (None, CFG.n_trials - 1), (20, None)):
        with pytest.raises(InputError, match=f"tasks.0.n_trials: {before} -> {after}"):
            check_resumable(with_trials(before), with_trials(after))


def test_the_refusal_names_everything_at_once_and_says_what_may_be_done() -> None:
    with pytest.raises(InputError) as error:
        check_resumable(CFG, changed(n_trials=5, base_seed=1, name="other", num_parallel=2))
    assert str(error.value) == (
        "a resumed run must leave its finished trials as they are; these changes would alter them:\n"
        "  name: 'evaluation' -> 'other'\n"
        "  n_trials: 10 -> 5\n"
        "  base_seed: 123 -> 1\n"
        "n_trials may grow, and seeds by further ones at the end of their list; num_parallel, workers, limits, "
        "loggers, report and runtimes may change. "
        "For another scoring: "
        "proctor score RUN --set scoring.…; for anything else start a new run."
    )


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        ((5, 3, 9), (5, 4, 3), "seeds.1: 3 -> 4"),
        ((5, 3), (3, 5, 9), "seeds: [5, 3] -> [3, 5, 9]"),
        ((5, 3), (5,), "seeds: [5, 3] -> [5]"),
        (None, (7, 3), "seeds: None -> [7, 3]"),
    ],
)
def test_seeds_are_added_at_the_end_and_one_that_is_another_is_named(
    before: tuple[int, ...] | None, after: tuple[int, ...], named: str
) -> None:
    old, new = (changed(seeds=seeds, n_trials=len(seeds or "0123456789")) for seeds in (before, after))
    check_resumable(new, changed(seeds=(*after, 77), n_trials=len(after) + 1))
    with pytest.raises(InputError) as error:
        check_resumable(old, new)
    lines = str(error.value).splitlines()[1:-1]
    assert f"  {named}" in lines
    assert sum("seeds" in line for line in lines) == 1


def test_an_agent_cannot_be_added_or_taken_away() -> None:
    for agents in (CFG.agents[:1], (*CFG.agents, AgentCfg(name="new", policy="zero"))):
        with pytest.raises(InputError, match=r"\n  agents: \[.*\.\.\. -> \["):
            check_resumable(CFG, changed(agents=agents))


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda t: st.lists(t, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), t, max_size=3),
    max_leaves=8,
)


@given(trees, trees)
def test_a_tree_differs_from_another_exactly_where_they_are_unequal(a: Any, b: Any) -> None:
    assert differences(a, a) == []
    found = differences(a, b)
    assert sorted(path for path, _, _ in found) == sorted(path for path, _, _ in differences(b, a))
    assert all(before != after for _, before, after in found)


def test_differences_name_the_leaf() -> None:
    old, new = {"a": [1, {"b": 2}], "c": 3}, {"a": [1, {"b": 4}], "d": 5}
    assert differences(old, new) == [("a.1.b", 2, 4), ("c", 3, None), ("d", None, 5)]
