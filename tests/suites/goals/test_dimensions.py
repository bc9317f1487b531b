"""The dimensions of a prior: laws, then numbers that can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from goal_answers import SPACE, TASKS, cfg, every, gallery_of, made_up, visuals_of
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.suites.goals import against_visuals, among_goals, dimensions
from proctor.suites.goals.config import BandCfg, RangeCfg
from proctor.suites.goals.dimensions import band_of
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.metrics.embeddings import Embeddings, SpaceMismatch
from proctor.suites.goals.report.model import Dimension, Reading, absent

# Laws -----------------------------------------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 100), st.floats(1e-3, 1e3))
@pytest.mark.parametrize("mode", ["raw", "mean_embedding", "shifted"])
def test_scaling_embeddings_changes_nothing(mode: str, seed: int, scale: float) -> None:
    answers, gallery, visuals = made_up(seed)
    config = cfg(accuracy=mode)
    factors = np.random.default_rng(seed).uniform(0.5, scale + 1, len(gallery.embeddings))
    scaled = replace(
        answers,
        goals=answers.goals * scale,
        wordings={task: rows * scale for task, rows in answers.wordings.items()},
        texts=Embeddings(answers.texts.vectors * scale, "made/text") if answers.texts else None,
    )
    stretched = visuals_of(
        {task: own.embeddings.vectors * factors[gallery.own(task)][:, None] for task, own in visuals.tasks.items()}
    )
    before, after = every(answers, gallery, config), every(scaled, gallery_of(stretched), config)
    for name, own in before.items():
        assert after[name].overall.value == pytest.approx(own.overall.value, abs=1e-9), name
        assert after[name].overall.interval == pytest.approx(own.overall.interval, abs=1e-7), name


@pytest.mark.parametrize("mode", ["raw", "mean_embedding"])
def test_permuting_tasks_permutes_results(mode: str) -> None:
    answers, gallery, visuals = made_up()
    order = [2, 0, 3, 1]
    tasks = tuple(TASKS[i] for i in order)
    assert answers.texts is not None
    texts = replace(answers.texts, vectors=answers.texts.vectors[order])
    turned = replace(answers, tasks=tasks, goals=answers.goals[order], texts=texts)
    before = every(answers, gallery, cfg(accuracy=mode))
    after = every(turned, gallery_of(visuals, tasks), cfg(accuracy=mode))
    for name, own in before.items():
        assert after[name].overall.value == pytest.approx(own.overall.value, abs=1e-12)
        for task, reading in own.by_task.items():
            assert after[name].by_task[task].value == pytest.approx(reading.value, abs=1e-12)


def test_the_ground_truth_is_accurate_with_one_visual_or_by_the_mean() -> None:
    _, _, visuals = made_up()
    one = visuals_of({task: own.embeddings.vectors[:1] for task, own in visuals.tasks.items()})
    for known, mode in ((one, "raw"), (one, "mean_embedding"), (visuals, "mean_embedding")):
        goals = np.stack([known.goal(task) for task in TASKS])[:, None]
        truth = Answers("truth", "ground_truth", SPACE, TASKS, goals, dict.fromkeys(TASKS, goals[0]))
        found = against_visuals.accuracy(truth, gallery_of(known), cfg(accuracy=mode))
        assert found.overall.value == pytest.approx(1, abs=1e-6)
    raw = Answers("truth", "", SPACE, TASKS, np.stack([visuals.goal(t) for t in TASKS])[:, None], {})
    assert 0.8 < (against_visuals.accuracy(raw, gallery_of(visuals), cfg()).overall.value or 0) < 1


def test_a_constant_prior_is_degenerate_and_a_shuffled_one_as_apart_as_before() -> None:
    answers, gallery, _ = made_up()
    constant = replace(answers, goals=np.repeat(answers.goals[:1], 4, axis=0))
    shuffled = replace(answers, goals=np.roll(answers.goals, 1, axis=0))
    priors = {"own": answers, "constant": constant, "shuffled": shuffled}
    by_name = {name: every(prior, gallery, cfg()) for name, prior in priors.items()}
    told = {name: dimensions.degenerate(found, cfg()) for name, found in by_name.items()}
    assert told == {"own": False, "constant": True, "shuffled": False}
    own, other = by_name["own"]["discriminability"].overall, by_name["shuffled"]["discriminability"].overall
    assert other.value == pytest.approx(own.value, abs=1e-12)
    assert (by_name["shuffled"]["accuracy"].overall.value or 0) < (by_name["own"]["accuracy"].overall.value or 0)


def test_values_equal_the_plain_formulas() -> None:
    answers, gallery, _ = made_up()
    found = every(answers, gallery, cfg())
    u = answers.goals / np.linalg.norm(answers.goals, axis=2, keepdims=True)
    v = gallery.embeddings.vectors / np.linalg.norm(gallery.embeddings.vectors, axis=1, keepdims=True)
    groups = [v[gallery.own(task)] for task in TASKS]
    accuracy = np.mean([np.mean(u[i] @ groups[i].T) for i in range(4)])
    assert found["accuracy"].overall.value == pytest.approx(accuracy)
    pairs = [np.mean([u[i, s] @ u[j, r] for s in range(3) for r in range(3)]) for i in range(4) for j in range(i)]
    assert found["discriminability"].overall.value == pytest.approx(1 - np.mean(pairs))
    draws = [u[i, s] @ u[i, r] for i in range(4) for s in range(3) for r in range(s)]
    assert found["consistency"].overall.value == pytest.approx(np.mean(draws))
    assert found["variance"].overall.value == pytest.approx(np.mean([u[:, s].var(axis=0).mean() for s in range(3)]))
    shares = [np.mean(np.argsort(-(v @ u[i, s]))[:2] // 6 == i) for i in range(4) for s in range(3)]
    assert found["retrieval"].overall.value == pytest.approx(np.mean(shares))


def test_draws_that_are_alike_are_looked_up_once_with_the_same_answer() -> None:
    answers, gallery, _ = made_up()
    still = replace(answers, goals=np.repeat(answers.goals[:, :1], 3, axis=1))
    nudged = still.goals.copy()
    nudged[0, 1] *= 1 + 1e-9
    nudged[0, 1, 0] += 1e-12
    one, each = (against_visuals.neighbours(a, gallery, 4) for a in (still, replace(still, goals=nudged)))
    assert (one.index == each.index).all()
    assert one.cosine == pytest.approx(each.cosine, abs=1e-9)


def test_accuracy_modes() -> None:
    goals = np.array([[[1.0, 0.0]]])
    answers = Answers("p", "", SPACE, ("a",), goals, {})
    gallery = gallery_of(visuals_of({"a": np.array([[1.0, 0.0], [0.0, 2.0]])}), ("a",))
    values = {m: against_visuals.accuracy(answers, gallery, cfg(accuracy=m)).overall.value for m in
              ("raw", "mean_embedding", "shifted")}  # fmt: skip
    assert values == {"raw": 0.5, "mean_embedding": pytest.approx(np.sqrt(0.5)), "shifted": 0.75}


# Intervals ------------------------------------------------------------------------------------------------------------


def test_more_visuals_give_narrower_intervals_around_the_value() -> None:
    widths = []
    for n in (5, 80):
        answers, gallery, _ = made_up(n=n)
        for mode in ("raw", "mean_embedding"):
            overall = against_visuals.accuracy(answers, gallery, cfg(accuracy=mode)).overall
            assert overall.interval is not None
            assert overall.value is not None
            assert overall.interval.low < overall.value < overall.interval.high
            assert overall.n == 4 * n
            widths.append(overall.interval.width)
    assert widths[2] < widths[0]
    assert widths[3] < widths[1]


def test_a_deterministic_prior_has_no_interval_of_width_zero() -> None:
    answers, _, _ = made_up()
    still = replace(answers, goals=np.repeat(answers.goals[:, :1], 5, axis=1))
    overall = among_goals.consistency(still, cfg()).overall
    assert (overall.value, overall.interval, overall.n) == (1, None, 4)
    assert overall.no_interval == "every draw is the same: the prior does not draw"
    assert among_goals.consistency(still, cfg()).band == "deterministic"


# Not available --------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_not_available_and_never_zero() -> None:
    answers, _, visuals = made_up()
    alone = replace(
        answers, tasks=("a",), goals=answers.goals[:1, :1], wordings={"a": answers.goals[0, :1]}, texts=None
    )
    found = every(alone, None, cfg())
    reasons = {name: own.overall.reason for name, own in found.items()}
    assert all(own.overall.value is None and own.overall.interval is None for own in found.values())
    assert "no success visuals" in (reasons["accuracy"] or "")
    assert "no success visuals" in (reasons["retrieval"] or "")
    assert "two draws are needed: goals.draws" in (reasons["consistency"] or "")
    assert "no task has paraphrases" in (reasons["robustness"] or "")
    assert "one task" in (reasons["discriminability"] or "")
    assert "one task" in (reasons["variance"] or "")
    assert reasons["gain_cross_space"] == "the model has no text encoder"
    partly = gallery_of(visuals_of({"a": visuals.tasks["a"].embeddings.vectors}))
    by_task = against_visuals.accuracy(answers, partly, cfg()).by_task
    assert by_task["a"].value is not None
    assert by_task["b"].value is None
    assert "collect some" in (by_task["b"].reason or "")


def test_a_task_with_few_visuals_is_looked_at_with_as_many_as_it_has() -> None:
    answers, gallery, visuals = made_up(n=2)
    own = {task: found.embeddings.vectors for task, found in visuals.tasks.items()}
    truth = replace(answers, goals=np.stack([visuals.goal(task) for task in TASKS])[:, None])
    assert every(truth, gallery, cfg(k=50))["retrieval"].overall.value == 1
    uneven = gallery_of(visuals_of({**own, "a": own["a"][:1]}))
    found = every(truth, uneven, cfg(k=2))["retrieval"]
    assert (found.by_task["a"].n, found.by_task["b"].n) == (1, 2)


def test_texts_of_other_dimensions_give_no_gain() -> None:
    answers, gallery, _ = made_up()
    other = replace(answers, texts=Embeddings(np.ones((4, 3)), "made/text"))
    reason = against_visuals.gain_cross_space(other, gallery, cfg()).overall.reason
    assert reason == "texts have 3 dimensions and success visuals 8"
    reason = among_goals.preservation_cross_space(other, cfg()).overall.reason
    assert reason == "the text encoder gives one embedding for all tasks"


def test_goals_and_visuals_of_two_spaces_are_refused() -> None:
    answers, _, visuals = made_up()
    elsewhere = gallery_of(visuals_of({t: own.embeddings.vectors for t, own in visuals.tasks.items()}, "other/space"))
    for compute in (against_visuals.accuracy, against_visuals.gain_cross_space):
        with pytest.raises(SpaceMismatch, match=r"goal accuracy of p compares .* space made/up .* space other/space"):
            compute(answers, elsewhere, cfg())
    with pytest.raises(SpaceMismatch, match="retrieval by p"):
        against_visuals.neighbours(answers, elsewhere, 2)


# Bands ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "band", "word"),
    [
        (0.6, BandCfg(excellent=0.6, good=0.4), "excellent"),
        (0.59, BandCfg(excellent=0.6, good=0.4), "good"),
        (0.39, BandCfg(excellent=0.6, good=0.4), "needs work"),
        (0.09, BandCfg(excellent=0.1, good=0.3), "excellent"),
        (0.1, BandCfg(excellent=0.1, good=0.3), "good"),
        (0.3, BandCfg(excellent=0.1, good=0.3), "good"),
        (0.31, BandCfg(excellent=0.1, good=0.3), "needs work"),
        (5e-5, RangeCfg(low=1e-4, high=1e-2), "low"),
        (5e-3, RangeCfg(low=1e-4, high=1e-2), "normal"),
        (5e-2, RangeCfg(low=1e-4, high=1e-2), "high"),
        (None, BandCfg(excellent=0.6, good=0.4), None),
    ],
)
def test_bands(value: float | None, band: BandCfg | RangeCfg, word: str | None) -> None:
    reading = absent("none") if value is None else Reading(value, 5)
    assert band_of(Dimension("any", reading, "tasks"), band) == word


def test_bands_are_configuration() -> None:
    answers, gallery, _ = made_up()
    strict = cfg(bands={"accuracy": {"excellent": 0.9999, "good": 0.999}})
    assert every(answers, gallery, strict)["accuracy"].band == "needs work"
    assert every(answers, gallery, cfg())["accuracy"].band == "excellent"


def test_a_word_that_could_not_have_been_another_is_not_said() -> None:
    orthogonal = np.eye(4)[:, None]
    answers = Answers("p", "", SPACE, TASKS, orthogonal, dict.fromkeys(TASKS, orthogonal[:1]))
    found = every(answers, None, cfg())["variance"]
    assert (found.overall.value, found.band) == (pytest.approx(3 / 16), "normal")
    assert every(answers, None, cfg(bands={"variance": {"low": 0.01, "high": 0.1}}))["variance"].band == "high"
    assert every(answers, None, cfg(bands={"variance": {"low": 1}}))["variance"].band is None
    gap = Dimension("quality_gap", Reading(0.04, 50), "pairs", most=0.06)
    assert band_of(gap, BandCfg(excellent=0.1, good=0.3)) is None
    assert band_of(replace(gap, most=0.9), BandCfg(excellent=0.1, good=0.3)) == "excellent"
