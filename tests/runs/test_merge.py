"""Shards joined are the run that was never split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examining import ODDITIES, digests, examination, odd, odd_task, policy, task, timeless

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.runs.merge import merge
from proctor.runs.resume import resume
from proctor.runs.score import score
from proctor_host.episode import Outcome

Examine = Callable[..., Run]


def shards(root: Path, count: int, **keys: Any) -> list[Run]:
    cfg = config_from_dict(examination(root / "parts", **keys))
    return [run_evaluation(cfg, shard=f"{i}/{count}") for i in range(1, count + 1)]


@pytest.mark.parametrize("count", [2, 3])
def test_merged_shards_equal_the_run_that_was_never_split(tmp_path: Path, examine: Examine, count: int) -> None:
    weak = {**task(kwargs={"scale": 0.3}), "name": "weak"}
    keys = {"agents": [policy("Noisy"), policy("Linear")], "tasks": [task(), weak], "n_trials": 5}
    parts = shards(tmp_path, count, **keys)
    assert sum(len(list(p.results())) for p in parts) == 20
    merged, whole = merge([p.path for p in parts[::-1]]), examine(**keys)
    assert digests(merged) == digests(whole)
    assert timeless(merged) == timeless(whole)
    names = [sorted(p.name for p in (run.path / "trials").iterdir()) for run in (merged, whole)]
    assert names[0] == names[1]
    rows = [(a["agent"], a["success_rate"], a["score_mean"]) for a in merged.report()["agents"]]
    assert rows == [(a["agent"], a["success_rate"], a["score_mean"]) for a in whole.report()["agents"]]
    assert len(merged.environment().sessions) == count
    assert resume(merged.path).progress.steps == 0
    score(merged.path)


def test_what_no_shard_has_is_run_by_resume(tmp_path: Path, examine: Examine) -> None:
    first, _, third = shards(tmp_path, 3)
    merged = merge([first.path, third.path])
    assert [r.trial.index for r in merged.results()] == [0, 2, 3]
    assert merged.report()["trials"] == {"planned": 5, "finished": 3, "scored": 3}
    finished = resume(merged.path)
    assert finished.complete
    assert digests(merged) == digests(examine())


def test_a_merged_run_can_be_extended(tmp_path: Path, examine: Examine) -> None:
    merged = merge([p.path for p in shards(tmp_path, 2, n_trials=3)])
    resume(merged.path, ["n_trials=5"])
    assert digests(merged) == digests(examine(n_trials=5))


def test_how_shards_were_run_does_not_matter(tmp_path: Path) -> None:
    agents = [policy("Linear"), policy("Noisy")]
    first = config_from_dict(examination(tmp_path, agents=agents, limits={"max_loaded_agents": 1}))
    second = config_from_dict(examination(tmp_path, agents=agents, num_parallel=1))
    runs = [run_evaluation(first, shard="1/2"), run_evaluation(second, shard="2/2")]
    assert len(digests(merge([r.path for r in runs]))) == 10


def test_folders_of_different_runs_are_refused_and_the_difference_is_named(examine: Examine) -> None:
    one, other = examine(n_trials=2), examine(n_trials=3, base_seed=5, num_parallel=2)
    with pytest.raises(InputError) as error:
        merge([one.path, other.path])
    assert str(error.value) == (
        "these folders are not shards of one run; they differ in\n"
        f"  n_trials: 2 in {one.path}, 3 in {other.path}\n"
        f"  base_seed: 123 in {one.path}, 5 in {other.path}"
    )


def test_other_model_files_are_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "push.txt"
    keys = {"agents": [odd("Steady", checkpoint=str(checkpoint))], "tasks": [odd_task()]}
    runs = []
    for shard, push in (("1/2", "0.1"), ("2/2", "0.2")):
        checkpoint.write_text(push)
        runs.append(run_evaluation(config_from_dict(examination(tmp_path, **keys)), shard=shard))
    with pytest.raises(InputError) as error:
        merge([r.path for r in runs])
    assert str(error.value) == (
        f"{runs[1].path} used other files for steady than {runs[0].path}; they cannot be merged"
    )


def test_a_trial_in_two_folders_must_be_the_same_in_both(examine: Examine) -> None:
    same = [examine(n_trials=2) for _ in range(2)]
    assert digests(merge([r.path for r in same])) == digests(same[0])
    other = [examine(agents=[odd("Steady")], tasks=[odd_task("Dice")], n_trials=1) for _ in range(2)]
    with pytest.raises(InputError, match=r"trial steady/dice/0000 differs between the folders .*not reproducible"):
        merge([r.path for r in other])


def test_a_scored_trial_is_worth_more_than_a_broken_one(examine: Examine) -> None:
    whole, broken = examine(n_trials=2), examine(n_trials=2)
    with broken.ledger() as ledger:
        first = next(ledger.results())
        lost = replace(first, outcome=Outcome.WORKER_LOST, success=False, npz=None, digest=None, error="it died")
        ledger.finish([lost])
    for folders in ([whole, broken], [broken, whole]):
        assert digests(merge([r.path for r in folders])) == digests(whole)


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    one, two = shards(tmp_path, 2)
    lost = two.path / "trials" / "linear_trial0001_seed124.npz"
    lost.unlink()
    with pytest.raises(InputError) as error:
        merge([one.path, two.path])
    assert str(error.value) == (
        f"the record of trial linear/toy/0001 in {two.path} is damaged: it is missing. Put it back as it was, or run "
        f"such trials again: proctor resume {two.path}"
    )


def test_one_folder_is_not_enough_and_a_folder_must_be_a_run(tmp_path: Path, examine: Examine) -> None:
    run = examine(n_trials=1)
    with pytest.raises(InputError, match="name at least two run folders to merge"):
        merge([run.path])
    with pytest.raises(InputError, match="is not a run folder"):
        merge([run.path, ODDITIES.parent])
