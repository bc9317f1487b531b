"""The page and the sentences of a goal evaluation."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from telling import Balanced

from proctor.report.model import RateEstimate
from proctor.stats import Interval
from proctor.suites.goals.config import GoalsCfg
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.instructions import Instruction
from proctor.suites.goals.records import Records
from proctor.suites.goals.report.charts import data_uri, distribution, goal_map, similarity_map
from proctor.suites.goals.report.files import to_json, to_markdown
from proctor.suites.goals.report.findings import extremes, findings, number_words, verdict
from proctor.suites.goals.report.model import (
    DIMENSIONS,
    REFERENCES,
    Dimension,
    GoalsReport,
    Neighbour,
    PriorReport,
    Reading,
    VisualMap,
    absent,
)
from proctor.suites.goals.report.page import to_html
from proctor.suites.goals.visuals import Visuals, empty_task

TASKS = ("chop <tree>", "dig", "swim")


def dimension(name: str, value: float | None, band: str | None = "good", **by_task: float) -> Dimension:
    overall = absent("no <data>") if value is None else Reading(value, 9, Interval(value - 0.1, value + 0.1))
    return Dimension(name, overall, "trials", "bootstrap", band, {t: Reading(v, 3) for t, v in by_task.items()})


def rate(won: int, n: int, interval: Interval | None = None) -> RateEstimate:
    return RateEstimate(won, n, won / n, interval, None)


def prior(name: str, **values: float | None) -> PriorReport:
    known: dict[str, float | None] = {**dict.fromkeys(DIMENSIONS, 0.5), **dict.fromkeys(REFERENCES), **values}
    own = {name: dimension(name, value) for name, value in known.items()}
    own["accuracy"] = dimension("accuracy", known["accuracy"], "good", dig=0.9, swim=0.1)
    neighbours = [Neighbour(4, "dig", 0.9), Neighbour(7, "swim", 0.2), Neighbour(8, "swim", 0.1)]
    answers = Answers(name, "my:Prior", "s", TASKS, np.eye(3)[:, None], {})
    return PriorReport(
        answers, own, False, np.array([0.8, 0.9]), np.array([0.1, -0.2]), {"dig": neighbours},
        np.array([[0.0, 0.0], [1.0, 0.5], [1.0, 0.5]]), {"": rate(7, 10, Interval(0.4, 0.9)), "dig": rate(3, 3)},
    )  # fmt: skip


def report(*priors: PriorReport, **keys: Any) -> GoalsReport:
    told = {task: Instruction(task, ("again",)) for task in TASKS}
    visuals = Visuals("s", {task: empty_task("s", 3, task, 4) for task in TASKS}, {"target": "my:Model", "hash": "h"})
    records = Records("goals & <more>", GoalsCfg.model_validate({"model": "my:Model"}), told, [], visuals)
    given: dict[str, Any] = {
        "records": records, "generated_at": "today", "priors": priors or (prior("trained"),),
        "pictures": {4: np.zeros((8, 8, 3), np.uint8), 7: np.full((8, 8, 3), 9, np.uint8)},
        "map": VisualMap(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0, 1]), (0.6, 0.3)),
        "visual_rates": {"": rate(9, 10, Interval(0.6, 0.98)), "dig": rate(3, 3)}, **keys,
    }  # fmt: skip
    return GoalsReport(**given)


def test_the_page_is_whole_and_escapes_names() -> None:
    page = to_html(report())
    Balanced().check(page)
    assert "<tree>" not in page
    assert "<more>" not in page
    assert "<data>" not in page
    assert "script" not in page
    assert not re.search(r'(src|href)="(?!#)', page)


def test_every_promised_section_is_there() -> None:
    page = to_html(report())
    keys = ("priors", "findings", "accuracy", "ablation", "tasks", "extremes", "similarity", "map", "nearest", "how")
    for key in keys:
        assert f'<section id="{key}"' in page


def test_a_picture_is_in_the_file_once_and_others_are_framed() -> None:
    page = to_html(report(prior("a"), prior("b")))
    assert page.count("data:image/png;base64") == 2
    assert page.count('class="picture pic4"') == 2
    assert page.count('class="picture other pic7"') == 2
    assert data_uri(np.zeros((2, 2, 3), np.uint8)).startswith("data:image/png;base64,iVBOR")


def test_without_data_sections_are_left_out_and_reasons_given() -> None:
    bare = replace(
        prior("trained", **dict.fromkeys(DIMENSIONS)), own=np.empty(0), other=np.empty(0), nearest={},
        places=np.empty((0, 2)), rates={},
    )  # fmt: skip
    page = to_html(report(bare, pictures={}, map=None, visual_rates={}))
    for key in ("accuracy", "ablation", "map", "nearest"):
        assert f'<section id="{key}"' not in page
    assert page.count("not available") >= len(DIMENSIONS)
    assert 'title="no &lt;data&gt;"' in page


def test_drawings_say_in_words_what_they_show() -> None:
    own = prior("trained")
    assert "mean cosine 0.850 with pictures of the task, -0.050 with other tasks" in distribution(own)
    assert "goals of 3 tasks among 2 pictures of success" in goal_map(report(), own)
    assert ">2, 3</text>" in goal_map(report(), own)
    assert similarity_map(own).count("<td") == 9
    assert similarity_map(replace(own, answers=Answers("p", "", "s", ("dig",), np.eye(1)[:, None], {}))) == ""


# Sentences ------------------------------------------------------------------------------------------------------------


def test_the_verdict_names_best_and_least() -> None:
    priors = (prior("low", accuracy=0.2), prior("none", accuracy=None), prior("high", accuracy=0.8))
    assert verdict(report(*priors)) == (
        "Goals of high look most like success: accuracy 0.800 (0.700 to 0.900); those of low least, 0.200 (0.100 to "
        "0.300)."
    )
    assert [own.name for own in report(*priors).ranked()] == ["high", "low", "none"]
    assert verdict(report(prior("a", accuracy=None))).startswith("Whether goals look like success cannot be said")


def sentences(own: PriorReport, **keys: Any) -> list[tuple[str, str]]:
    return [(f.level, f.text) for f in findings(report(own, **keys))]


def test_cautions_come_first() -> None:
    said = sentences(prior("p"), cautions=("Look here.",))
    assert said[0] == ("caution", "Look here.")
    assert all(level == "note" for level, _ in said[1:])


def test_a_degenerate_prior_is_called_so() -> None:
    said = sentences(replace(prior("p"), degenerate=True))
    assert ("caution", said[0][1]) == said[0]
    assert said[0][1].startswith("p is degenerate: it answers nearly one goal for every task (discriminability 0.500")


def test_mixed_up_tasks_are_noticed() -> None:
    said = sentences(replace(prior("p"), own=np.array([0.1]), other=np.array([0.6])))
    assert any(text.startswith("p tells tasks apart, but its goals are no nearer") for _, text in said)


@pytest.mark.parametrize(
    ("gap", "band", "words"),
    [
        (0.05, "excellent", "p: no cost of success can be shown; the gap to visual goals is 5 points (−5 to 15)."),
        (0.2, "good", "p costs the policy some success: the gap to visual goals is 20 points (10 to 30)."),
        (0.6, "needs work", "p is the bottleneck: it costs the policy 60 points (50 to 70) of success."),
    ],
)
def test_the_gap_in_words(gap: float, band: str, words: str) -> None:
    own = prior("p")
    own = replace(own, dimensions={**own.dimensions, "quality_gap": dimension("quality_gap", gap, band)})
    assert ("note", words) in sentences(own)


def test_best_and_worst_tasks() -> None:
    assert extremes(prior("p"), 3) == ([("dig", 0.9)], [("swim", 0.1)])
    assert ("note", "p imagines dig best (accuracy 0.900) and swim worst (0.100).") in sentences(prior("p"))


def test_numbers_in_words() -> None:
    assert number_words(dimension("accuracy", None)) == "not available"
    assert number_words(Dimension("accuracy", Reading(-0.25, 3), "trials")) == "−0.250"
    gap = Dimension("quality_gap", Reading(0.25, 3, Interval(-0.5, 0.998)), "pairs")
    assert number_words(gap) == "25 points (−50 to 99.8)"


def test_json_and_markdown_have_no_nan() -> None:
    keys = to_json(report(prior("p", accuracy=None)))
    assert keys["priors"][0]["dimensions"]["accuracy"]["not_available_because"] == "no <data>"
    assert "nan" not in to_markdown(report(prior("p", accuracy=None))).lower()
