"""Trials as columns hold what single results hold, for any ledger and in whatever order it was written."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.record import batch
from proctor.record.batch import batched
from proctor.record.columns import OUTCOMES, read_trials
from proctor.record.ledger import Ledger
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

AGENTS, TASKS = ("b", "a"), ("t", "s")
PAIRS = [(agent, task) for agent in AGENTS for task in TASKS]
NAMES = ("emd", "EMD", "speed_m_s", "a'b", 'q"x', "ünï", "", "a.b", "x y")
number = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(0, 10**6)
traces = st.none() | st.integers(0, 2**256 - 1).map(lambda value: f"{value:064x}")
texts = st.none() | st.text("xyz/ ü", max_size=5)
keys = st.tuples(st.sampled_from(PAIRS), st.integers(0, 30)).map(lambda key: (*key[0], key[1]))
rows = st.builds(
    lambda **values: values,
    outcome=st.sampled_from(Outcome), success=st.booleans(), steps_total=whole, steps_to_success=st.none() | whole,
    first_success=st.none() | whole,
    episode_reward=st.none() | number, max_steps=whole, attempts=st.integers(1, 4), clipped_steps=whole,
    wall_time_s=number, sim_time_s=st.none() | number, error=st.none() | st.just("boom\nTraceback"), npz=texts,
    video=texts, case=texts, trace=traces, after_stop=st.booleans(),
    metrics=st.dictionaries(st.sampled_from(NAMES), st.none() | number),
)  # fmt: skip
ledgers = st.dictionaries(keys, rows, max_size=12).map(
    lambda found: [TrialResult(trial=Trial(*key, seed=key[2] + 7), **row) for key, row in found.items()]
)


@pytest.fixture(scope="module", autouse=True, params=[0, batch.MANY], ids=["duckdb", "python"])
def whoever_reads_metrics(request: pytest.FixtureRequest) -> Iterator[None]:
    """The metrics of many trials are read by DuckDB, those of some by Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "MANY", request.param)
        yield


def written(path: Path, results: list[TrialResult]) -> Ledger:
    """A ledger in which these trials were planned in the order of PAIRS and finished in the order given."""
    ledger = Ledger.create(path / "ledger.sqlite")
    ledger.add((r.trial, AGENTS.index(r.trial.agent), TASKS.index(r.trial.task)) for r in results)
    for result in results:
        ledger.finish([result])
    return ledger


def value(column: np.ndarray, row: int) -> Any:
    """A cell as a result has it: None where there is no value."""
    found = column[row].item() if column.dtype != object else column[row]
    return None if isinstance(found, float) and math.isnan(found) else found


@settings(max_examples=60, deadline=None)
@given(ledgers, st.randoms(use_true_random=False))
def test_columns_equal_the_results_whatever_the_order_of_commits(
    tmp_path_factory: pytest.TempPathFactory, results: list[TrialResult], random: Any
) -> None:
    shuffled = random.sample(results, len(results))
    with written(tmp_path_factory.mktemp("ledger"), shuffled) as ledger:
        trials, in_order = read_trials(PAIRS, ledger.batches()), list(ledger.results())
        assert [r for some in ledger.batches() for r in some.results()] == in_order
    assert trials.n == len(results)
    assert {r.trial: r for r in in_order} == {r.trial: r for r in results}
    for row, result in enumerate(in_order):
        assert trials.pairs[trials["cell"][row]] == (result.trial.agent, result.trial.task)
        assert (trials["index"][row], trials["seed"][row]) == (result.trial.index, result.trial.seed)
        assert OUTCOMES[trials["outcome"][row]] is result.outcome
        assert (bool(trials["traced"][row]), int(trials["print"][row])) == (
            result.trace is not None,
            int((result.trace or "0")[:16], 16),
        )
        assert value(trials["error"], row) == (None if result.error is None else "boom")
        for name in ("success", "after_stop", "attempts", "steps_total", "max_steps", "clipped_steps", "wall_time_s",
                     "steps_to_success", "first_success", "episode_reward", "sim_time_s", "npz", "video",
                     "case"):  # fmt: skip
            assert value(trials[name], row) == getattr(result, name)
        assert {name: value(column, row) for name, column in trials.metrics.items()} == {
            name: result.metrics.get(name) for name in trials.metrics
        }
    for agent, task in PAIRS:
        own = [row for row, r in enumerate(in_order) if (r.trial.agent, r.trial.task) == (agent, task)]
        assert trials.rows(agent, task).tolist() == own
        counted = [in_order[row] for row in own if in_order[row].outcome.scored and not in_order[row].after_stop]
        assert trials.cell_metrics[PAIRS.index((agent, task))] == {name for r in counted for name in r.metrics}


@settings(max_examples=40, deadline=None)
@given(ledgers, st.sets(st.sampled_from(["outcome", "success", "npz", "error", "trace", "sim_time_s"])),
       st.none() | st.sets(st.sampled_from(["emd", "speed_m_s"])))  # fmt: skip
def test_what_is_asked_for_equals_that_part_of_everything(
    tmp_path_factory: pytest.TempPathFactory, results: list[TrialResult], names: set[str], metrics: set[str] | None
) -> None:
    with written(tmp_path_factory.mktemp("ledger"), results) as ledger:
        every, some = read_trials(PAIRS, ledger.batches()), read_trials(PAIRS, ledger.batches(names, metrics))
    for name in some.columns:
        np.testing.assert_array_equal(some[name], every[name])
    asked = every.metrics if metrics is None else {name: c for name, c in every.metrics.items() if name in metrics}
    assert set(some.metrics) == set(asked)
    for name, column in asked.items():
        np.testing.assert_array_equal(some.metrics[name], column)
    if results:
        further = {"cell", "index", "seed"} | ({"traced", "print"} if "trace" in names else set())
        assert set(some.columns) == (names - {"trace"}) | further


@given(ledgers)
@settings(max_examples=20, deadline=None)
def test_objects_give_the_same_columns_as_a_ledger(
    tmp_path_factory: pytest.TempPathFactory, results: list[TrialResult]
) -> None:
    with written(tmp_path_factory.mktemp("ledger"), results) as ledger:
        stored, made = read_trials(PAIRS, ledger.batches()), read_trials(PAIRS, batched(ledger.results()))
    assert set(stored.columns) == set(made.columns)
    for name, column in stored.columns.items():
        np.testing.assert_array_equal(made[name], column)


def test_a_ledger_without_results_has_empty_columns(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        assert list(ledger.batches()) == []
        trials = read_trials(PAIRS, ledger.batches())
    assert trials.n == len(trials["score"]) == len(trials.rows("a", "t")) == 0


def test_a_trial_of_nobody_is_refused() -> None:
    result = TrialResult(Trial("c", "t", 3, 3), Outcome.SUCCESS, True, 1, 1, 1.0, 10)
    with pytest.raises(InputError, match="trial c/t/0003 belongs to no agent and task of the config"):
        read_trials(PAIRS, batched([result]))
