"""A list of seeds from the config to every table: what `reset` got is what is shown."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from examining import by_key, digests, examination, policy, timeless

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.runs.merge import merge
from proctor.runs.replay import replay
from proctor.runs.resume import resume
from proctor.verdict.comparison.compare import compare
from proctor.verdict.leaderboard import leaderboard
from proctor.verdict.protocol import examine as examined

Examine = Callable[..., Run]
MIRROR = Path(__file__).parents[1] / "support" / "mirror.py"
LARGE = 2**64 - 5
AGENTS = [policy("Noisy"), policy("Linear")]


def mirror(output_root: Path, **keys: Any) -> Run:
    task = {"suite": "gymnasium", "name": "mirror", "options": {"id": f"{MIRROR}:Mirror-v0"}}
    agents = [{"name": "random", "policy": "random"}, {"name": "zero", "policy": "zero"}]
    record = {"level": "series", "observations": True}
    raw = {**examination(output_root), "agents": agents, "tasks": [task], "record": record, **keys}
    raw.pop("n_trials", None)
    return run_evaluation(config_from_dict(raw))


def rows(run: Run) -> list[dict[str, str]]:
    with open(run.path / "summary.csv", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def test_the_seed_that_reached_reset_is_what_every_table_shows(tmp_path: Path) -> None:
    seeds = [LARGE, 3, 9_000_000_000_000_001]
    run = mirror(tmp_path, seeds=seeds)
    for result in run.results():
        high, low = run.episode(result).arrays["observations"][0]
        assert int(high) * 2**32 + int(low) == result.trial.seed == seeds[result.trial.index]
    assert [int(row["seed"]) for row in rows(run)] == seeds * 2
    assert all(f"seed{row['seed']}.npz" in row["npz_path"] for row in rows(run))
    found = duckdb.sql(f"SELECT seed FROM '{run.path / 'trials.parquet'}'").fetchall()
    assert [seed for (seed,) in found] == seeds * 2
    assert {mark["seed"] for mark in run.report()["agents"][0]["tasks"][0].get("marks", [])} <= set(seeds)
    assert f"seeds {LARGE}, 3, 9000000000000001" in (run.path / "report.md").read_text()
    assert f"seed {LARGE}: " in (run.path / "report.html").read_text()
    assert f"seeds {LARGE}, 3" in examined([run.path], 0.95)[0].described()
    assert replay(run.path, f"zero_trial0000_seed{LARGE}").equal


def test_a_table_of_seeds_of_usual_size_has_the_usual_type(examine: Examine) -> None:
    run = examine(seeds=[7, 2], n_trials=None)
    described = duckdb.sql(f"DESCRIBE SELECT seed FROM '{run.path / 'trials.parquet'}'").fetchall()
    assert described[0][1] == "BIGINT"


def contents(run: Run) -> dict[str, bytes]:
    files = [run.path / "config.json", *(run.path / "trials").iterdir()]
    return {p.name: p.read_bytes() for p in files}


def test_a_list_and_base_and_count_give_the_same_bytes(tmp_path: Path, examine: Examine) -> None:
    listed, counted = (
        examine(agents=AGENTS, **keys)
        for keys in ({"seeds": [40, 41, 42], "n_trials": None}, {"base_seed": 40, "n_trials": 3})
    )
    assert contents(listed) == contents(counted)
    assert timeless(listed) == timeless(counted)


def test_the_order_of_a_list_does_not_matter_for_the_comparison(examine: Examine) -> None:
    orders = ([5, 30, 11, 7, 2, 19], [2, 5, 7, 11, 19, 30], [30, 2, 19, 5, 11, 7])
    runs = [examine(agents=AGENTS, seeds=seeds, n_trials=None) for seeds in orders]
    one, two, three = (sorted((r.trial.seed, r.digest) for r in run.results()) for run in runs)
    assert one == two == three, "a trial is a function of agent, task and seed"
    alone = [compare([run.path]).comparison for run in runs]
    assert alone[0] == alone[1] == alone[2]
    between = [compare({"old": runs[0].path, "new": other.path}).comparison for other in runs[1:]]
    assert between[0] == between[1]
    assert all(pair.paired and pair.n_a == 6 for pair in between[0].pairs), "paired by seed, wherever it stands"
    same = next(pair for pair in between[0].pairs if {pair.a, pair.b} == {"old:noisy", "new:noisy"})
    assert same.score.value == 0
    assert leaderboard([run.path for run in runs]).entries


def test_runs_that_share_few_seeds_are_compared_as_independent(examine: Examine) -> None:
    first = examine(agents=AGENTS, n_trials=6, base_seed=0)
    second = examine(agents=AGENTS, n_trials=6, base_seed=4)
    found = compare([first.path, second.path]).comparison
    apart = [pair for pair in found.pairs if pair.a.rpartition(":")[0] != pair.b.rpartition(":")[0]]
    assert apart
    assert not any(pair.paired for pair in apart)
    with pytest.raises(InputError, match="seeds from: 0 against 4"):
        leaderboard([first.path, second.path])


def test_resume_with_more_seeds_equals_one_run_with_all(examine: Examine) -> None:
    run = examine(agents=AGENTS, seeds=[30, 4], n_trials=None)
    resume(run.path, ["seeds=[30, 4, 17, 3]"])
    whole = examine(agents=AGENTS, seeds=[30, 4, 17, 3], n_trials=None)
    assert digests(run) == digests(whole)
    assert timeless(run) == timeless(whole)
    assert run.plain_config() == whole.plain_config()
    grown = examine(agents=AGENTS, base_seed=50, n_trials=2)
    resume(grown.path, ["seeds=[50, 51, 9]"])
    assert timeless(grown) == timeless(examine(agents=AGENTS, seeds=[50, 51, 9], n_trials=None))


@pytest.mark.parametrize("seeds", ["[4, 30, 17]", "[30]", "[30, 5]", "1..9"])
def test_seeds_that_have_run_stay_where_they_are(examine: Examine, seeds: str) -> None:
    run = examine(seeds=[30, 4], n_trials=None)
    before = by_key(run)
    with pytest.raises(InputError, match="seeds by further ones at the end of their list"):
        resume(run.path, [f"seeds={seeds}"])
    assert by_key(run) == before


def test_shards_of_a_list_make_the_whole(examine: Examine, tmp_path: Path) -> None:
    raw = {**examination(tmp_path / "shards"), "agents": AGENTS, "seeds": [30, 4, LARGE]}
    raw.pop("n_trials", None)
    cfg = config_from_dict(raw)
    merged = merge([run_evaluation(cfg, shard=part).path for part in ("1/2", "2/2")])
    assert timeless(merged) == timeless(run_evaluation(cfg))


def test_half_a_run_of_a_list_is_judged_by_what_is_missing(examine: Examine) -> None:
    """A trial that has not run counts with its seed, not with its place."""
    run = examine(agents=AGENTS, seeds=[30, 4, 17], n_trials=None)
    with run.ledger() as ledger:
        ledger.reopen([result.trial for result in run.results() if result.trial.seed == 30])
    found = compare([run.path])
    assert all(own.missing.tolist() == [30] for agent in found.agents for own in agent.tasks.values())
