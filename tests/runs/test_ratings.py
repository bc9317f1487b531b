"""Raters of imported trials: votes, blinding, agreement, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from telling import Tell

from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.runs.import_outcomes import ImportOptions, import_outcomes
from proctor.verdict.comparison.compare import compare
from proctor.verdict.raters import Rating
from proctor_host.episode import Outcome


def brought(tmp_path: Path, text: str, name: str = "robot") -> RunDir:
    path = tmp_path / f"{name}.csv"
    path.write_text(text)
    return import_outcomes(path, ImportOptions(name, str(tmp_path / "runs"))).run


def cautions(run: RunDir) -> list[str]:
    return [finding["text"] for finding in run.report()["findings"] if finding["level"] == "caution"]


def judged(*rows: str) -> str:
    return "\n".join(["agent,seed,success,rater,blind", *rows]) + "\n"


BOTH = [f"{agent},{seed},{int(seed < 5)},{rater},yes" for agent in ("old", "new") for seed in range(8)
        for rater in ("ann", "bob")]  # fmt: skip


def test_the_majority_decides_and_a_tie_is_a_failure(tmp_path: Path) -> None:
    votes = {1: (1, 1, 0), 2: (1, 0, 0), 3: (1, 1, 1)}
    rows = [f"old,{seed},{vote},r{i},yes" for seed, cast in votes.items() for i, vote in enumerate(cast)]
    run = brought(tmp_path, judged(*rows, "old,4,1,r0,yes", "old,4,0,r1,yes", "old,5,1,r0,yes"))
    assert {r.trial.seed: r.success for r in run.results()} == {1: True, 2: False, 3: True, 4: False, 5: True}
    assert run.report()["agents"][0]["n"] == 5
    found = run.report()["raters"]
    assert (found["several"], found["ties"], len(found["ratings"])) == (4, 1, 12)
    assert "In 1 trial as many raters saw a success as did not; a tie counts as a failure." in cautions(run)


def test_the_order_of_rows_changes_no_result(tmp_path: Path) -> None:
    first, second = (brought(tmp_path, judged(*rows), name) for rows, name in ((BOTH, "there"), (BOTH[::-1], "back")))
    assert {r.trial.key: r.success for r in first.results()} == {r.trial.key: r.success for r in second.results()}


def test_scores_are_means_and_what_half_say_does_not_count_still_counts(tmp_path: Path) -> None:
    text = (
        "agent,seed,outcome,score,force,steps,rater\n"
        "a,1,success,1,2,30,x\na,1,failure,0,4,,y\na,1,success,0.5,,30,z\n"
        "a,2,success,1,1,9,x\na,2,env_error,,1,,y\n"
        "a,3,success,1,1,9,x\na,3,env_error,,1,,y\na,3,timeout,,1,,z\n"
        "a,4,failure,0,1,9,x\na,4,truncated,0,1,,y\na,4,truncated,0,1,,z\n"
    )
    first, second, third, fourth = brought(tmp_path, text).results()
    assert (first.success, first.episode_reward, first.metrics["force"], first.steps_total) == (True, 0.5, 3.0, 30)
    assert first.steps_to_success == 30
    assert (second.outcome, second.episode_reward) == (Outcome.SUCCESS, 1.0)
    assert (third.outcome, third.success) == (Outcome.ENV_ERROR, False)
    assert fourth.outcome is Outcome.TRUNCATED


def test_raters_who_agree_and_are_blind_give_no_caution(tmp_path: Path, tell: Tell) -> None:
    run = brought(tmp_path, judged(*BOTH))
    found = run.report()["raters"]
    (pair,) = found["agreements"]
    assert (pair["raters"], pair["n"], pair["agreed"], pair["kappa"]) == (["ann", "bob"], 16, 16, 1.0)
    assert found["blinding"] == [{"agent": name, "n": 8, "blind": 8, "open": 0, "unsaid": 0} for name in ("old", "new")]
    assert not [said for said in cautions(run) if "rater" in said or "judged" in said]
    for name in ("report.html", "report.md"):
        assert "Cohen's kappa" in (run.path / name).read_text().replace("&#x27;", "'")
    assert "raters: 2 raters; 16 trials judged, 16 of them by several" in tell("report", run.path).out


def test_a_rater_who_knew_the_agent_is_a_caution(tmp_path: Path) -> None:
    rows = [f"old,{i},1,ann,{'no' if i < 3 else 'yes'}" for i in range(4)] + [f"new,{i},1,ann,yes" for i in range(4)]
    run = brought(tmp_path, judged(*rows))
    assert (
        "3 of 8 trials were judged by somebody who knew the agent (old 3 of 4, new 0 of 4): a rater's expectation may "
        "be in the outcomes." in cautions(run)
    )
    assert run.report()["raters"]["raters"][0]["open"] == 3


def test_what_is_not_said_of_blinding_is_said_to_be_missing(tmp_path: Path) -> None:
    run = brought(tmp_path, "agent,success,rater\nold,1,ann\nnew,0,ann\n")
    (said,) = [said for said in cautions(run) if "do not say whether" in said]
    assert said.startswith(
        "2 of 2 trials do not say whether whoever judged them knew the agent (old 1 of 1, new 1 of 1)"
    )


def test_a_rater_of_one_agent_only_is_a_caution(tmp_path: Path) -> None:
    rows = ["old,1,1,ann,yes", "old,2,1,ann,yes", "new,1,0,bob,yes", "new,2,0,bob,yes"]
    told = "ann judged old only; bob judged new only: a difference between agents may be one between raters."
    assert told in cautions(brought(tmp_path, judged(*rows)))
    alone = brought(tmp_path, judged("old,1,1,ann,yes", "old,2,1,bob,yes"), "alone")
    assert not [said for said in cautions(alone) if "only" in said]


def test_raters_who_agree_little_are_a_caution(tmp_path: Path) -> None:
    rows = [f"old,{i},{i % 2},ann,yes\nold,{i},{i // 2 % 2},bob,yes" for i in range(8)]
    (said,) = [said for said in cautions(brought(tmp_path, judged(*rows))) if "kappa" in said]
    assert said.startswith("ann and bob agree little beyond chance: Cohen's kappa 0.00 on 8 trials (4 judged alike).")


def test_runs_with_raters_of_their_own_are_compared_with_a_caution(tmp_path: Path) -> None:
    runs = [
        brought(tmp_path, judged(*(f"p,{i},{i % 2},{rater},yes" for i in range(4))), name)
        for name, rater in (("base", "ann"), ("new", "bob"))
    ]
    (said,) = [said for said in compare([run.path for run in runs]).cautions if "raters" in said]
    assert "ann judged" in said
    assert said.endswith("a difference between agents may be one between raters.")


def test_a_run_without_raters_says_nothing_of_them(tmp_path: Path) -> None:
    run = brought(tmp_path, "agent,success\nold,1\nnew,0\n")
    assert "raters" not in run.report()
    assert not [said for said in cautions(run) if "judged" in said]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (judged("p,1,1,ann,perhaps"), 'row 2, column blind: found "perhaps", expected yes or no, or nothing'),
        (judged("p,1,1,ann,", "p,1,1,ann,"), "row 3: p on task has seed 1 by the rater ann already, in row 2"),
        (judged("p,1,1,ann,", "p,1,1,,"), "row 3: p on task has seed 1 already, in row 2; .*name the rater"),
        (judged("p,1,1,,", "p,1,1,ann,"), "row 3: p on task has seed 1 already, in row 2"),
        ("agent,seed,success,steps,rater\np,1,1,5,ann\np,1,1,6,bob\n",
         "row 3, column steps: found 6, while row 2 has 5 for the same trial"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_by_row(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        brought(tmp_path, text)


def test_ratings_are_kept_as_they_were(tmp_path: Path) -> None:
    found = brought(tmp_path, judged("p,3,1,ann,no", "p,3,0,bob,")).report()["raters"]["ratings"]
    assert [Rating(**each) for each in found] == [
        Rating("p", "task", 3, "ann", False, True),
        Rating("p", "task", 3, "bob", None, False),
    ]


def test_names_of_raters_are_escaped(tmp_path: Path) -> None:
    run = brought(tmp_path, judged("p,1,1,<script>x</script>,yes", "p,1,0,b | c,yes", "q,1,1,b | c,yes"))
    for name in ("report.html", "report.md"):
        assert "<script" not in (run.path / name).read_text()
    assert "b \\| c" in (run.path / "report.md").read_text()
