"""A whole goal evaluation: five priors that it must tell apart, the ablation, and the report from records alone."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from goal_rooms import CORNERS, HERE, INSTRUCTIONS, MODEL, goals_config

from proctor import InputError
from proctor.suites.goals.config import VISUAL, load_goals
from proctor.suites.goals.evaluate import Evaluated, evaluate, report
from proctor.suites.goals.metrics.embeddings import SpaceMismatch
from proctor.suites.goals.report.model import DIMENSIONS, REFERENCES, GoalsReport, PriorReport

NOISY = {"target": MODEL, "kwargs": {"noise": 0.1}}
PRIORS = [
    {"name": "truth", "target": "ground_truth"},
    {"name": "trained", **NOISY},
    {"name": "untrained", "target": MODEL, "kwargs": {"broken": True}},
    {"name": "constant", "target": "constant", "kwargs": {"model": MODEL}},
    {"name": "shuffled", "target": "shuffled", "kwargs": {"model": NOISY}},
]
ABLATION = {"target": f"{HERE}:Walker", "n_trials": 6}


def evaluated_with(folder: Path, collected: Path | None = None, **goals: Any) -> Evaluated:
    if collected is not None:
        goals.setdefault("visuals_folder", str(collected))
    return evaluate(*load_goals(goals_config(folder, **goals)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, collected: Path) -> Evaluated:
    return evaluated_with(tmp_path_factory.mktemp("whole"), collected, priors=PRIORS, ablation=ABLATION, k=3)


@pytest.fixture
def found(whole: Evaluated) -> GoalsReport:
    assert whole.report is not None
    return whole.report


def prior(report: GoalsReport, name: str) -> PriorReport:
    return next(own for own in report.priors if own.name == name)


def value(report: GoalsReport, name: str, dimension: str) -> float:
    reading = prior(report, name).dimensions[dimension].overall
    assert reading.value is not None, reading.reason
    return reading.value


# What it must tell apart ----------------------------------------------------------------------------------------------


def test_accuracy_and_success_are_in_the_right_order(found: GoalsReport) -> None:
    for low in ("untrained", "constant", "shuffled"):
        for high in ("truth", "trained"):
            good, bad = (prior(found, name).dimensions["accuracy"].overall for name in (high, low))
            assert good.interval is not None
            assert bad.interval is not None
            assert good.interval.low > bad.interval.high
            won, lost = (prior(found, name).rates[""].interval for name in (high, low))
            assert won is not None
            assert lost is not None
            assert won.low > lost.high
    assert value(found, "truth", "accuracy") >= value(found, "trained", "accuracy")


def test_the_ground_truth_costs_exactly_nothing(found: GoalsReport) -> None:
    gap = prior(found, "truth").dimensions["quality_gap"]
    assert gap.overall.value == 0
    assert gap.overall.n == 24
    assert gap.overall.interval is not None
    assert {task: own.value for task, own in gap.by_task.items()} == dict.fromkeys(CORNERS, 0)
    assert value(found, "shuffled", "quality_gap") == 1
    assert prior(found, "shuffled").dimensions["quality_gap"].band == "needs work"


def test_one_goal_for_all_is_degenerate_and_mixed_up_tasks_are_not(found: GoalsReport) -> None:
    told = {own.name: own.degenerate for own in found.priors}
    assert told == {"truth": False, "trained": False, "untrained": True, "constant": True, "shuffled": False}
    apart = [value(found, name, "discriminability") for name in ("trained", "shuffled")]
    assert apart[0] == pytest.approx(apart[1], abs=0.05)


def test_paraphrases_and_draws(found: GoalsReport) -> None:
    assert value(found, "truth", "robustness") == pytest.approx(1)
    assert 0.9 < value(found, "trained", "consistency") < 1
    assert prior(found, "trained").dimensions["robustness"].overall.n == 12
    assert prior(found, "trained").dimensions["consistency"].overall.n == 40


def test_nearest_pictures_are_of_the_task_or_of_the_next(found: GoalsReport) -> None:
    corners = list(CORNERS)
    for place, corner in enumerate(corners):
        assert {near.task for near in prior(found, "trained").nearest[corner][:3]} == {corner}
        following = corners[(place + 1) % len(corners)]
        assert {near.task for near in prior(found, "shuffled").nearest[corner][:3]} == {following}


def test_references_say_in_their_name_that_they_cross_spaces(found: GoalsReport) -> None:
    assert all("cross_space" in name for name in REFERENCES)
    own = prior(found, "trained").dimensions
    assert own["preservation_cross_space"].overall.value is not None
    assert own["gain_cross_space"].overall.value is not None
    missing = prior(found, "truth").dimensions["gain_cross_space"].overall
    assert (missing.value, missing.reason) == (None, "the model has no text encoder")


# Records --------------------------------------------------------------------------------------------------------------


def timeless(folder: Path) -> dict[str, Any]:
    keys = json.loads((folder / "goals.json").read_text())
    del keys["generated_at"]
    return keys


def test_the_report_follows_from_records_alone(whole: Evaluated, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(whole.folder, moved)
    before = timeless(moved)
    for name in ("goals.json", "goals.csv", "goals.md", "goals.html"):
        (moved / name).unlink()
    report(moved)
    assert timeless(moved) == before


def test_an_evaluation_is_a_function_of_its_config(whole: Evaluated, collected: Path, tmp_path: Path) -> None:
    again = evaluated_with(tmp_path, collected, priors=PRIORS[1:2], k=3)
    mine, theirs = (keys["priors"] for keys in (timeless(again.folder), timeless(whole.folder)))
    for name in ("accuracy", "retrieval", "consistency", "robustness", "discriminability", "variance"):
        assert mine[0]["dimensions"][name] == theirs[1]["dimensions"][name]


def test_permuting_tasks_permutes_results(whole: Evaluated, collected: Path, tmp_path: Path) -> None:
    from goal_rooms import room_task

    turned = {"tasks": [room_task(corner) for corner in reversed(CORNERS)]}
    again = evaluated_with(tmp_path, collected, priors=PRIORS[1:2], k=3, examination=turned)
    mine, theirs = timeless(again.folder)["priors"][0], timeless(whole.folder)["priors"][1]
    for name, own in mine["dimensions"].items():
        if name != "quality_gap":
            other = theirs["dimensions"][name]
            assert own["value"] == pytest.approx(other["value"], abs=1e-12)
            assert {t: r["value"] for t, r in own["by_task"].items()} == pytest.approx(
                {t: r["value"] for t, r in other["by_task"].items()}, abs=1e-12
            )


def test_a_stopped_ablation_goes_on(collected: Path, tmp_path: Path) -> None:
    from proctor.rollout.progress import CancelToken
    from proctor.runs.session import Hooks

    cancel = CancelToken()
    cancel.cancel()
    config = goals_config(tmp_path, visuals_folder=str(collected), ablation=ABLATION)
    cfg, goals = load_goals(config)
    stopped = evaluate(cfg, goals, Hooks(cancel=cancel))
    assert stopped.report is None
    done = evaluate(cfg, goals, folder=stopped.folder)
    assert done.folder == stopped.folder
    assert done.report is not None
    assert done.report.visual_rates[""].n == 24


def test_going_on_with_other_priors_is_refused(whole: Evaluated, collected: Path, tmp_path: Path) -> None:
    config = goals_config(tmp_path, visuals_folder=str(collected), priors=PRIORS[:2], ablation=ABLATION)
    with pytest.raises(InputError, match=r"is of other priors .visual goal, truth, .* than the config's .truth, "):
        evaluate(*load_goals(config), folder=whole.folder)


# Not available --------------------------------------------------------------------------------------------------------


def test_without_visuals_the_rest_is_still_there(tmp_path: Path) -> None:
    found = evaluated_with(tmp_path).report
    assert found is not None
    own = prior(found, "model").dimensions
    for name in ("accuracy", "retrieval", "quality_gap"):
        assert own[name].overall.value is None
        assert own[name].overall.reason
    for name in ("consistency", "robustness", "discriminability", "variance"):
        assert own[name].overall.value is not None
    assert found.cautions[0].startswith("There are no success visuals")


def test_a_task_without_visuals_is_left_out_with_a_reason(collected: Path, tmp_path: Path) -> None:
    folder = tmp_path / "fewer"
    shutil.copytree(collected, folder)
    index = json.loads((folder / "visuals.json").read_text())
    del index["tasks"]["south-west"]
    (folder / "visuals.json").write_text(json.dumps(index))
    found = evaluated_with(tmp_path, folder, priors=PRIORS[:2], ablation={**ABLATION, "n_trials": 1}).report
    assert found is not None
    truth = prior(found, "truth")
    assert list(truth.answers.missing) == ["south-west"]
    assert 'no success visuals of task "south-west"' in truth.answers.missing["south-west"]
    trained = prior(found, "trained").dimensions
    assert trained["accuracy"].by_task["south-west"].value is None
    assert trained["quality_gap"].by_task["south-west"].reason is not None
    assert trained["robustness"].by_task["south-west"].value is not None
    assert any("No success visual of south-west" in caution for caution in found.cautions)


def test_a_prior_of_another_space_is_refused(collected: Path, tmp_path: Path) -> None:
    other = {"name": "other", "target": MODEL, "kwargs": {"space": "elsewhere"}}
    with pytest.raises(SpaceMismatch, match=r'prior "other" answers in the space elsewhere.* means nothing. Collect'):
        evaluated_with(tmp_path, collected, priors=[other])


def test_an_ablation_needs_visuals(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no task has a success visual; collect some"):
        evaluated_with(tmp_path, ablation=ABLATION)


def test_seeds_that_were_collected_from_are_a_caution(collected: Path, tmp_path: Path) -> None:
    found = evaluated_with(tmp_path, collected, ablation={**ABLATION, "n_trials": 2, "base_seed": 126}).report
    assert found is not None
    assert any(caution.startswith("4 success visuals come from seeds") for caution in found.cautions)


def test_folders_without_an_evaluation_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no goal evaluation: no goals/records.json"):
        report(tmp_path)


@pytest.mark.parametrize(
    ("target", "kwargs", "words"),
    [
        ("shufled", {}, 'unknown goal model "shufled"; did you mean "shuffled"'),
        (f"{HERE}:Walker", {"goal_dim": 5}, "gave a Walker; expected a GoalModel"),
        (MODEL, {"noize": 1}, "unexpected keyword argument 'noize'.*kwargs: noize"),
        (f"{HERE}:SIZE", {}, "is a int; expected a GoalModel class"),
    ],
)
def test_unusable_priors_are_named(tmp_path: Path, target: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        evaluated_with(tmp_path, priors=[{"name": "p", "target": target, "kwargs": kwargs}])


def test_two_tasks_of_one_wording_are_no_reference(collected: Path, tmp_path: Path) -> None:
    same = {**INSTRUCTIONS, "south-west": "go to the north east"}
    with pytest.raises(InputError, match='"north-east" and "south-west" share the wording "go to the north east"'):
        evaluated_with(tmp_path, collected, priors=PRIORS[:1], instructions=same)


# Files ----------------------------------------------------------------------------------------------------------------


def test_goals_json_has_a_number_or_a_reason(whole: Evaluated) -> None:
    keys = timeless(whole.folder)
    assert [own["name"] for own in keys["priors"]] == [own["name"] for own in PRIORS]
    for own in keys["priors"]:
        assert list(own["dimensions"]) == list(DIMENSIONS)
        for reading in (*own["dimensions"].values(), *own["cross_space_references"].values()):
            assert (reading["value"] is None) == (reading["not_available_because"] is not None)
            assert reading["value"] is None or reading["n"] > 0
            assert reading["value"] is None or reading["interval"] or reading["no_interval_because"]
    assert keys["visuals"]["encoder"]["hash"]
    assert keys["visuals"]["tasks"]["north-east"]["seeds"] == [123, 124, 125, 126]
    assert keys["visual_goal_success"]["overall"]["n"] == 24


def test_goals_csv_has_every_number(whole: Evaluated) -> None:
    rows = list(csv.DictReader(io.StringIO((whole.folder / "goals.csv").read_text()), delimiter=";"))
    overall = [row for row in rows if not row["task"]]
    assert len(overall) == len(PRIORS) * (len(DIMENSIONS) + len(REFERENCES))
    assert {row["prior"] for row in rows} == {own["name"] for own in PRIORS}
    assert all(row["value"] or row["reason"] for row in rows)


def test_the_ablation_is_an_ordinary_run(whole: Evaluated) -> None:
    keys = json.loads((whole.folder / "report.json").read_text())
    assert {agent["agent"] for agent in keys["agents"]} == {VISUAL, *(own["name"] for own in PRIORS)}
