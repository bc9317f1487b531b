"""How many trials would settle a pair, and what is said where there are too few to find anything."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.report.build.judgement import more_trials
from proctor.verdict.comparison import AgentTrials, Comparison, JudgeCfg, TaskTrials, judge, needed_trials
from proctor.verdict.comparison.cautions import cautions_of


def judged(scores: dict[str, list[np.ndarray]], first_seed: dict[str, int] | None = None) -> Comparison:
    """Agents with their scores, task by task."""

    def task(own: np.ndarray, start: int) -> TaskTrials:
        return TaskTrials(np.arange(len(own)), own > 0.5, own, seed=np.arange(start, start + len(own)))

    agents = [
        AgentTrials(name, {f"t{i}": task(values, (first_seed or {}).get(name, 0)) for i, values in enumerate(own)})
        for name, own in scores.items()
    ]
    return judge(agents, JudgeCfg(n_resamples=200))


def normal(mean: float, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(mean, 1.0, n)


def about_seeds(found: Comparison) -> list[str]:
    return [words for words in cautions_of(found) if words.startswith("Only ")]


def test_what_is_promised_settles_the_pair_when_it_has_run() -> None:
    """The run goes on after the look, and its own verdict is asked again."""
    seen = [normal(0.9, 8, 1) + 0.3, normal(0.0, 8, 2)]
    needed = needed_trials(first := judged({"a": seen[:1], "b": seen[1:]}), first.pairs[0])
    assert needed is not None
    assert needed.n is not None
    differences, settled = seen[0] - seen[1], []
    for i in range(60):
        drawn = np.random.default_rng(i).choice(differences, needed.n)
        after = judge(
            [
                AgentTrials(name, {"t": TaskTrials(np.arange(needed.n), np.ones(needed.n, bool), own)})
                for name, own in (("a", drawn), ("b", np.zeros(needed.n)))
            ],
            JudgeCfg(n_resamples=200, looked=True),
        )
        settled.append(after.winner == "a")
    assert np.mean(settled) > 0.7


def test_seeds_that_tasks_share_are_needed_on_every_task() -> None:
    one = judged({"a": [normal(0.3, 10, 1)], "b": [normal(0.0, 10, 2)]})
    three = judged({"a": [normal(0.3, 10, 1)] * 3, "b": [normal(0.0, 10, 2)] * 3})
    alone, together = (needed_trials(found, found.pairs[0]) for found in (one, three))
    assert alone is not None
    assert together is not None
    assert together.n == 3 * (alone.n or 0)
    assert "seeds on each of 3 tasks) would settle it" in more_trials(three, three.pairs[0])
    assert "seeds on each" not in more_trials(one, one.pairs[0])


def test_more_agents_need_more_trials() -> None:
    values = {name: [normal(mean, 10, i)] for i, (name, mean) in enumerate({"a": 1.0, "b": 0.4, "c": 0.0}.items())}
    both = judged({"a": values["a"], "b": values["b"]})
    three = judged(values)
    pair = next(pair for pair in three.pairs if {pair.a, pair.b} == {"a", "b"})
    assert needed_trials(three, pair).n > needed_trials(both, both.pairs[0]).n


@pytest.mark.parametrize("kind", ["success", "score"])
def test_independent_trials_have_a_number_too(kind: str) -> None:
    a, b = normal(1.2, 9, 1), normal(0.3, 9, 2)
    if kind == "success":
        a, b = (a > 0.5).astype(float), (b > 0.5).astype(float)
    found = judged({"a": [a], "b": [b]}, {"b": 100})
    assert not found.pairs[0].paired
    needed = needed_trials(found, found.pairs[0])
    assert needed is not None
    assert 9 < (needed.n or 0) < 500


def test_few_seeds_of_one_task_are_not_said_to_be_shared() -> None:
    (said,) = about_seeds(judged({"a": [normal(2.0, 5, 1)], "b": [normal(0.0, 5, 2)]}))
    assert said == "Only 5 seeds of a pair: no test can find anything with fewer than 6. Raise n_trials."
    (said,) = about_seeds(judged({"a": [normal(2.0, 4, 1)] * 2, "b": [normal(0.0, 4, 2)] * 2}))
    assert said.startswith("Only 4 seeds of a pair: tasks share seeds, and trials of one seed are not independent")


def test_six_seeds_are_enough_for_two_agents_and_not_for_three() -> None:
    own = {name: [normal(mean, 6, i)] for i, (name, mean) in enumerate({"a": 9.0, "b": 4.0, "c": 0.0}.items())}
    assert not about_seeds(judged({"a": own["a"], "b": own["b"]}))
    (said,) = about_seeds(judged(own))
    assert "fewer than 7 in a comparison of 3 pairs" in said


def test_independent_trials_may_be_fewer() -> None:
    found = judged({"a": [np.arange(4) + 9.0], "b": [np.arange(4.0)]}, {"b": 100})
    assert found.winner == "a"
    assert not about_seeds(found)
