"""Agents against each other in a report: letters, differences, profiles, checkpoints, and the sentences about them."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from proctor.config.models import ScoringCfg
from proctor.report import build_report
from proctor.report.build.judgement import p_value
from proctor.report.build.rivals import trainings
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html, to_markdown
from proctor.report.sections.ranking import letters_of


def report_of(run):
    return build_report(run.cfg, iter(run.results), run.context)


def test_pairs_leave_out_what_either_agent_has_unscored(run) -> None:
    report = report_of(run)
    scored = {(r.trial.agent, r.trial.task, r.trial.index): r for r in run.results if r.outcome.scored}
    (pair,) = [pair for pair in report.comparison.pairs if (pair.a, pair.b) == ("expert", "random")]
    places = [(task, i) for _, task, i in scored if _ == "expert" and ("random", task, i) in scored]
    assert pair.n_a == len(places)
    assert pair.n_unscored == 60 - len(places)
    gaps = {task: [] for task, _ in places}
    for p in places:
        gaps[p[0]].append(scored["expert", *p].success - scored["random", *p].success)
    assert pair.success.value == pytest.approx(sum(sum(own) / len(own) for own in gaps.values()) / len(gaps))


def test_letters_are_in_every_file_a_person_reads(build) -> None:
    report = report_of(build(["good", "bad"], ["t"], 200, faults=0))
    assert letters_of(report) == {"good": "a", "bad": "b"}
    assert "good (a)" in to_markdown(report)
    assert '<span class="letters">b</span>' in to_html(report)
    assert to_json(report)["comparison"]["agents"][0]["letters"]["score"] == "a"


def test_a_single_agent_has_no_comparison(build) -> None:
    report = report_of(build(["solo"], ["t"], 12))
    page = to_html(report)
    assert report.comparison is None
    assert "comparison" not in to_json(report)
    assert 'id="differences"' not in page
    assert 'class="letters"' not in page
    assert "## Differences" not in to_markdown(report)
    assert 'id="profiles"' in page


def test_profiles_are_shares_of_trials_above_each_score(run) -> None:
    report = report_of(run)
    first = report.profiles[0]
    own = next(a for a in report.agents if a.agent == first.agent)
    scores = np.concatenate([[m.score for m in cell.marks if m.score is not None] for cell in own.cells])
    at = first.profile.thresholds
    assert first.profile.shares == pytest.approx([(scores > t).mean() for t in at])
    assert (first.profile.low <= first.profile.shares).all()
    assert (first.profile.shares <= first.profile.high).all()
    flat = dataclasses.replace(run, cfg=run.cfg.model_copy(update={"scoring": ScoringCfg(mode="success")}))
    assert report_of(flat).profiles == ()


def test_names_that_differ_in_a_number_are_one_training() -> None:
    names = ["ppo/ckpt_9", "ppo/ckpt_10", "expert", "ppo/ckpt_100", "sac2/x", "sac3/x"]
    (found,) = trainings(names)
    assert (found.name, found.steps) == ("ppo/ckpt_…", (9, 10, 100))
    assert found.agents == ("ppo/ckpt_9", "ppo/ckpt_10", "ppo/ckpt_100")
    two = trainings([f"run{r}/step{s}" for r in (1, 2) for s in (10, 20, 30)])
    assert sorted(t.name for t in two) == ["run1/step…", "run2/step…"]
    assert trainings(["a1", "a2"]) == ()


def test_checkpoints_have_curves(build) -> None:
    report = report_of(build([f"ckpt_{k}000" for k in (1, 2, 3)], ["t"], 20))
    page = to_html(report)
    assert 'id="curves"' in page
    assert "Success rate. ckpt_…: best at 1,000." in page
    assert json.loads(json.dumps(to_json(report)["trainings"])) == [
        {"name": "ckpt_…", "steps": [1000, 2000, 3000], "agents": ["ckpt_1000", "ckpt_2000", "ckpt_3000"]}
    ]


def test_many_pairs_are_folded_and_the_first_are_in_the_comment(build) -> None:
    report = report_of(build([f"agent {c}" for c in "abcdef"], ["t"], 20))
    assert len(report.comparison.pairs) == 15
    assert to_html(report).count("<summary>7 more pairs</summary>") == 2
    assert to_markdown(report).count(" pairs | ") == 15


def test_the_verdict_says_whom_the_first_beats(build) -> None:
    three = report_of(build(["a", "b", "c"], ["t"], 300, faults=0))
    assert three.verdict.startswith("a is better than b and c: score ")
    assert " for b, the next, difference " in three.verdict
    near = report_of(build(["a", "b", "c", "d", "e"], ["t"], 200, faults=0))
    assert near.verdict.startswith("No winner yet. ")
    assert " It is better than b, c and d. If that is the true difference, about " in near.verdict


def test_small_n_is_a_caution(build) -> None:
    found = [f.text for f in report_of(build(["a", "b"], ["t"], 12, faults=0)).findings if f.level == "caution"]
    assert any(
        words.startswith("Only 12 trials of an agent on a task were scored: with fewer than 20") for words in found
    )


def test_p_values_are_never_zero_in_words() -> None:
    assert [p_value(p) for p in (0.0, 0.0004, 0.0123, 0.0994, 0.5, 1.0, None)] == [
        "< 0.001", "< 0.001", "0.012", "0.099", "0.50", "1.00", "–",
    ]  # fmt: skip


def test_the_worst_and_the_slowest_trials_lead_to_their_records(run) -> None:
    report = report_of(run)
    worst = [t for t in report.extremes if (t.kind, t.agent) == ("worst", "student")]
    own = [r for r in run.results if r.trial.agent == "student" and r.outcome.scored]
    slow = [t for t in report.extremes if (t.kind, t.agent) == ("slowest", "student")]
    assert [t.wall_time_s for t in slow] == sorted((r.wall_time_s for r in own), reverse=True)[:3]
    assert len(worst) == 3
    assert all(t.score is not None and t.npz for t in worst)
    assert f'href="{slow[0].npz}"' in to_html(report)
    assert to_json(report)["extremes"][0]["kind"] == "worst"
    few = report_of(dataclasses.replace(run, results=run.results[:5]))
    assert few.extremes == ()
