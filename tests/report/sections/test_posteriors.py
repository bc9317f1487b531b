"""Posteriors in a report: only where they are asked for, with the numbers of the function behind them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from proctor.config.models import ReportCfg
from proctor.report import build_report
from proctor.report.formats.json_file import to_json
from proctor.report.formats.pages import to_html, to_markdown
from proctor.report.sections.posteriors import chance_words, curve, posteriors
from proctor.stats import posterior, probability_better


def report_of(run, *, asked: bool = True):
    cfg = run.cfg.model_copy(update={"report": ReportCfg(posterior=asked)})
    return build_report(cfg, iter(run.results), run.context)


def test_without_being_asked_for_they_are_nowhere(run) -> None:
    report = report_of(run, asked=False)
    assert 'id="posterior"' not in to_html(report)
    assert "posterior" not in to_json(report)
    assert "Posterior" not in to_markdown(report)


def test_all_files_show_what_the_trials_say(build) -> None:
    report = report_of(build(["good", "bad"], ["t"], 40, faults=0))
    rates = {agent.agent: agent.overall.success for agent in report.agents}
    good, bad = (posterior(rates[name].successes, rates[name].n) for name in ("good", "bad"))
    found = {own["agent"]: own for own in to_json(report)["posterior"]["agents"]}
    assert found["good"]["mean"] == pytest.approx(good.mean)
    assert found["good"]["best"] == pytest.approx(probability_better(good, bad))
    assert tuple(found["bad"]["interval"]) == pytest.approx(bad.interval(0.95))
    page = to_html(report)
    assert page.count('class="density"') == 2
    assert chance_words(probability_better(good, bad)).replace(">", "&gt;") in page
    assert "## Posterior of success" in to_markdown(report)


def test_a_shape_is_inside_its_drawing_and_holds_nearly_all_of_the_probability(build) -> None:
    report = report_of(build(["good", "bad"], ["t"], 40, faults=0))
    for shape in re.findall(r'class="density" points="([^"]+)"', to_html(report)):
        places = np.array([[float(x) for x in point.split(",")] for point in shape.split()])
        assert places.min() >= 0
        assert places.max() <= 100
    for own in (posterior(0, 20), posterior(13, 20), posterior(20, 20), posterior(5_000, 9_000)):
        rates, density = curve(own)
        assert np.isfinite(density).all()
        assert (density * np.diff(rates).mean()).sum() == pytest.approx(1, abs=2e-3)


def test_names_are_escaped_and_agents_without_a_scored_trial_left_out(build) -> None:
    report = report_of(build(["<b>", "x"], ["t"], 5, faults=0))
    assert "<b>" not in re.sub(r"<script.*?</script>", "", to_html(report), flags=re.DOTALL).split('id="posterior"')[1]
    run = build(["x"], ["t"], 5)
    empty = build_report(run.cfg.model_copy(update={"report": ReportCfg(posterior=True)}), iter([]), run.context)
    assert posteriors(empty) == {}


def test_no_chance_is_shown_as_certain() -> None:
    assert [chance_words(p) for p in (0.0, 0.0009, 0.5, 0.9991, 1.0)] == [
        "< 0.1 %", "< 0.1 %", "50 %", "> 99.9 %", "> 99.9 %",
    ]  # fmt: skip
