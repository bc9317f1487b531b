"""Files of other evaluators as runs. Those of vla-eval and Inspect in `support/outcomes` were written by the genuine
packages (vla-eval 0.8.0, inspect_ai 0.3.285); those of LeRobot are laid out as lerobot-eval does it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from telling import Tell

from proctor.errors import InputError
from proctor.runs.import_outcomes import Imported, ImportOptions, import_outcomes
from proctor.runs.outcomes.reading import Reading
from proctor_host.episode import Outcome

SAMPLES = Path(__file__).parents[1] / "support" / "outcomes"
SEEDS = (1000, 1001, 1002)


def brought(tmp_path: Path, content: Path | Any, name: str = "run", **reading: str) -> Imported:
    path = content if isinstance(content, Path) else tmp_path / "policy_a" / "eval_info.json"
    if not isinstance(content, Path):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    return import_outcomes(path, ImportOptions(name, str(tmp_path / "runs"), reading=Reading(**reading)))


def per_episode(*successes: bool, seeds: tuple[int | None, ...] = SEEDS) -> dict[str, Any]:
    episodes = [
        {"episode_ix": i, "sum_reward": 2.5 + i, "max_reward": 0.5, "success": won, "seed": seeds[i]}
        for i, won in enumerate(successes)
    ]
    means = {"avg_sum_reward": 1.0, "avg_max_reward": 1.0, "pc_success": 50.0, "eval_s": 1.0, "eval_ep_s": 0.5}
    return {"per_episode": episodes, "aggregated": means}


def per_task() -> dict[str, Any]:
    metrics = [
        {"sum_rewards": [1.0, 0.0], "max_rewards": [1.0, 0.0], "successes": [True, False], "video_paths": ["a.mp4"]},
        {"sum_rewards": [1.0], "max_rewards": [1.0], "successes": [True], "video_paths": []},
    ]
    tasks = [{"task_group": "libero_spatial", "task_id": i, "metrics": one} for i, one in enumerate(metrics)]
    return {"per_task": tasks, "per_group": {}, "overall": {"pc_success": float("nan"), "n_episodes": 3}}


def test_lerobot_episodes_keep_their_seeds_and_returns(tmp_path: Path) -> None:
    found = brought(tmp_path, per_episode(True, False, True))
    results = list(found.run.results())
    assert [(r.trial.agent, r.trial.seed, r.success) for r in results] == [
        ("policy_a", 1000, True), ("policy_a", 1001, False), ("policy_a", 1002, True),
    ]  # fmt: skip
    assert results[1].metrics == {"sum_reward": 3.5, "max_reward": 0.5}
    assert found.run.report()["agents"][0]["success"]["rate"] == pytest.approx(2 / 3)
    assert found.notes == (
        "the file does not name the policy; it is called policy_a here: say --agent NAME for another name",
    )


def test_two_policies_with_the_same_seeds_are_paired(tmp_path: Path, tell: Tell) -> None:
    base = brought(tmp_path, per_episode(False, False, True), "base", agent="old").run
    new = brought(tmp_path, per_episode(True, True, True), "new", agent="new").run
    said = tell("compare", base.path, new.path, "--json")
    assert said.code == 0, said.err
    assert '"paired": true' in said.out
    assert tell("leaderboard", base.path, new.path).code == 0
    assert tell("report", new.path).code == 0


def test_lerobot_tasks_have_names_and_no_seeds_which_is_said(tmp_path: Path) -> None:
    found = brought(tmp_path, per_task(), agent="pi0")
    assert [(r.trial.task, r.trial.index, r.success) for r in found.run.results()] == [
        ("libero_spatial/0", 0, True), ("libero_spatial/0", 1, False), ("libero_spatial/1", 0, True),
    ]  # fmt: skip
    unpaired = "the file has no seeds; which trials began alike is not known, so agents are compared unpaired"
    assert found.notes == (unpaired,)
    assert not found.run.config().tasks[0].options["pairs"]
    assert brought(tmp_path, per_episode(True, False, seeds=(None, None))).notes[1] == unpaired


def test_vla_eval_keeps_who_broke_an_episode(tmp_path: Path) -> None:
    found = brought(tmp_path, SAMPLES / "vla_eval.json", agent="pi0")
    results = {(r.trial.task, r.trial.seed): r for r in found.run.results()}
    drawer = "libero_spatial/open the drawer"
    assert len(results) == 8
    assert results[drawer, 1].success is True
    assert (results[drawer, 1].steps_total, results[drawer, 2].metrics["completed_subtasks"]) == (41, 2.0)
    assert results[drawer, 3].outcome is Outcome.ENV_ERROR
    assert results[drawer, 3].error == "env_step: RuntimeError: the physics diverged"
    assert results[drawer, 4].outcome is Outcome.POLICY_ERROR
    assert found.run.report()["agents"][0]["n_unscored"] == 1
    assert found.notes == (
        "2 episodes broke (1 by env_step, 1 by model_act): vla-eval's own rate counts each as a failure; here only "
        "those that the model broke",
        "seeds are the numbers of the episodes, which say how each began; the evaluation's own seed was 7",
    )


@pytest.mark.parametrize("name", ["inspect.json", "inspect.eval"])
def test_a_log_of_inspect_has_a_trial_for_each_sample_and_epoch(tmp_path: Path, name: str) -> None:
    found = brought(tmp_path, SAMPLES / name)
    results = {(r.trial.seed, r.trial.index): r for r in found.run.results()}
    assert {r.trial.agent for r in results.values()} == {"mockllm/model"}
    assert {r.trial.task for r in results.values()} == {"kitchen"}
    assert [results[key].success for key in sorted(results)] == [True, False, True, False, True, False]
    broken = results[3, 5]
    assert (broken.outcome, broken.error) == (Outcome.ENV_ERROR, "RuntimeError('the camera is gone')")
    assert results[1, 0].metrics["length"] == 0.1
    assert (results[1, 0].case, results[1, 0].metrics["total_time_s"]) == ("1", pytest.approx(0.1, abs=0.1))
    assert found.notes == (
        "the scorer match decides: it says what success is; --scorer NAME takes another",
        "seeds are the ids of the samples, so that agents are paired by sample; a model's own seeds are not known",
    )


def test_another_scorer_may_decide_and_grades_are_scores(tmp_path: Path) -> None:
    found = brought(tmp_path, SAMPLES / "inspect.json", scorer="length", agent="mine")
    scored = [r for r in found.run.results() if r.outcome.scored]
    assert {(r.outcome, r.success, r.episode_reward) for r in scored} == {(Outcome.DONE, None, 0.1)}
    assert {r.metrics["match"] for r in scored} == {0.0, 1.0}
    assert found.notes[0].startswith("the scorer length decides: its values are scores, and nothing says what success")
    with pytest.raises(InputError, match=r"inspect\.json, no scorer lenth; the log has match, length; did you mean"):
        brought(tmp_path, SAMPLES / "inspect.json", scorer="lenth")


def test_a_log_that_ended_early_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    log = json.loads((SAMPLES / "inspect.json").read_text())
    for sample in log["samples"]:
        sample["id"] = f"door {sample['id']}"
    path = tmp_path / "early.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": log["eval"], "plan": {}}))
        archive.writestr("_journal/summaries/1.json", json.dumps(log["samples"][:4]))
    found = brought(tmp_path, path)
    assert [(r.case, r.trial.index) for r in found.run.results()][:2] == [("door 1", 0), ("door 2", 1)]
    assert found.notes[1:] == (
        "ids of samples are no numbers, so agents are compared unpaired; they are kept as cases",
        "the log says that the evaluation ended with the status started: samples may be missing",
    )


def test_every_bad_episode_is_listed(tmp_path: Path) -> None:
    data = per_episode(True, False, True)
    data["per_episode"][0]["success"] = "maybe"
    data["per_episode"][2] |= {"seed": -1, "sum_reward": "much"}
    with pytest.raises(InputError) as refused:
        brought(tmp_path, data)
    assert str(refused.value).splitlines()[1:] == [
        '  per_episode[0], column success: found "maybe", expected 1 or 0, true or false, yes or no',
        '  per_episode[2], column seed: found "-1", expected a whole number from 0 on',
        '  per_episode[2], column sum_reward: found "much", expected a number',
    ]
    assert str(refused.value).splitlines()[0].endswith("eval_info.json: 3 problems")


def test_every_bad_row_of_a_table_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("agent,seed,success\na,1,maybe\n,2,1\na,3,1\na,4,\na,5,1,9\n")
    with pytest.raises(InputError) as refused:
        brought(tmp_path, path)
    lines = str(refused.value).splitlines()
    assert lines[0] == f"{path}: 4 problems"
    assert [line.split(":")[0] for line in lines[1:]] == [
        "  row 2, column success", "  row 3, column agent", "  row 5, column success", "  row 6",
    ]  # fmt: skip
    path.write_text("agent,seed,success\na,1,1\na,1,0\na,2,1\na,2,1\na,1,1\n")
    with pytest.raises(InputError) as refused:
        brought(tmp_path, path)
    told = [line.partition(";")[0] for line in str(refused.value).splitlines()[1:]]
    assert told == [
        "  row 3: a on task has seed 1 already, in row 2",
        "  row 5: a on task has seed 2 already, in row 4",
        "  row 6: a on task has seed 1 already, in row 2",
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"aggregated": {"pc_success": 40.0}}, "it has averages and no episodes; expected per_episode or per_task"),
        ({"per_episode": []}, "eval_info.json has no episodes"),
        ({"per_episode": {"a": 1}}, "per_episode: found keys with values; expected a list"),
        ({"per_episode": [3]}, "per_episode[0]: found 3; expected keys with values"),
        (
            {"per_task": [{"metrics": {"successes": [1], "sum_rewards": [1, 2]}}]},
            "found 2 sum_rewards, 1 successes; exp",
        ),
        ({"per_task": [{"task_id": 1}]}, "per_task[0].metrics: found nothing; expected keys with values"),
        ({"loss": 0.1, "lr": 1}, "is JSON, but no eval_info.json of LeRobot, a result of vla-eval or a log of Inspect"),
        ([1, 2], "found a list"),
        ({"version": 2, "status": "success", "eval": {}, "samples": [{"id": 1}]}, "no sample has a score"),
        ({"version": 2, "status": "error", "eval": {}}, "samples: found nothing; expected a list"),
        ({"benchmark": "b", "harness_version": "1", "tasks": [{"task": "t"}]}, "tasks[0].episodes: found nothing"),
    ],
)
def test_what_cannot_be_understood_is_one_sentence(tmp_path: Path, content: Any, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        brought(tmp_path, content)
    assert sentence in str(refused.value)
    assert not (tmp_path / "runs").exists()


def test_a_kind_may_be_named_and_must_then_be_right(tmp_path: Path) -> None:
    assert brought(tmp_path, per_episode(True), kind="lerobot").report.agents
    for kind, sentence in (
        ("inspect", "is JSON, but no inspect; found per_episode, aggregated"),
        ("xml", "found --format xml; expected one of csv, lerobot, vla-eval, inspect"),
        ("csv", "row 1: no column agent"),
    ):
        with pytest.raises(InputError) as refused:
            brought(tmp_path, per_episode(True), kind=kind)
        assert sentence in str(refused.value)
    table = tmp_path / "a.csv"
    table.write_text("agent,success\na,1\n")
    with pytest.raises(InputError, match="is no JSON, which lerobot would be; leave --format out, or say csv"):
        brought(tmp_path, table, kind="lerobot")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    whole = (SAMPLES / "inspect.eval").read_bytes()
    path = tmp_path / "damaged.eval"
    cut = bytearray(whole)
    cut[whole.index(b"summaries.json") + 40] ^= 0xFF
    for data in (whole[: len(whole) // 2], bytes(cut)):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"damaged\.eval cannot be read: "):
            brought(tmp_path, path)
    path.write_text('{"per_episode": [')
    with pytest.raises(InputError, match=r"damaged\.eval cannot be read: "):
        brought(tmp_path, path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("summaries.json", b" " * (65 * 1024**2))
    with pytest.raises(InputError, match=r"summaries\.json holds 68,157,440 bytes; expected at most"):
        brought(tmp_path, path)
