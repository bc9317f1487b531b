"""Chance levels, noise, and draws that are all the same: what a number is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from goal_answers import SPACE, TASKS, cfg, every, gallery_of, visuals_of
from goal_rooms import MODEL, goals_config

from proctor.suites.goals.config import GoalsCfg, load_goals
from proctor.suites.goals.evaluate import ask_all
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.report.model import Dimension, Reading

DIM = 6
COUNTS = {"a": 3, "b": 8, "c": 20, "d": 5}


def random_answers(seed: int, lean: float) -> Answers:
    """Goals that know nothing of their task: around one direction, more or less."""
    rng = np.random.default_rng(seed)
    centre = lean * np.ones(DIM)
    goals = centre + rng.normal(size=(len(TASKS), 4, DIM))
    wordings = {task: centre + rng.normal(size=(3, 2, DIM)) for task in TASKS}
    return Answers("random", "any:Random", SPACE, TASKS, goals, wordings)


def clusters() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {task: rng.normal(size=DIM) + 0.5 * rng.normal(size=(n, DIM)) for task, n in COUNTS.items()}


@pytest.mark.parametrize("lean", [0.0, 1.0])
@pytest.mark.parametrize("mode", ["raw", "shifted", "mean_embedding"])
def test_chance_is_what_a_random_model_gets(lean: float, mode: str) -> None:
    gallery, config = gallery_of(visuals_of(clusters())), cfg(accuracy=mode, k=3)
    surplus: dict[str, list[float]] = {}
    for seed in range(40):
        found = every(random_answers(seed, lean), gallery, config)
        for name in ("accuracy", "retrieval", "consistency", "robustness"):
            overall = found[name].overall
            assert overall.value is not None
            assert overall.chance is not None
            surplus.setdefault(name, []).append(overall.value - overall.chance)
    for name, values in surplus.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert abs(np.mean(values)) < 3.5 * error + 1e-12, name


def test_chance_of_retrieval_is_the_share_of_pictures() -> None:
    found = every(random_answers(0, 0.0), gallery_of(visuals_of(clusters())), cfg())["retrieval"]
    assert found.overall.chance == pytest.approx(1 / 4)
    shares = {task: n / sum(COUNTS.values()) for task, n in COUNTS.items()}
    assert {task: own.chance for task, own in found.by_task.items()} == pytest.approx(shares)


def test_one_goal_for_all_is_at_chance_however_consistent() -> None:
    answers = random_answers(0, 0.0)
    one = replace(answers, goals=np.repeat(answers.goals[:1], 4, axis=0))
    found = every(one, gallery_of(visuals_of(clusters())), cfg())
    assert found["accuracy"].band == found["retrieval"].band == "at chance"
    assert found["retrieval"].overall.value == pytest.approx(found["retrieval"].overall.chance)
    still = replace(one, goals=np.repeat(one.goals[:, :1], 4, axis=1))
    consistency = every(still, None, cfg())["consistency"]
    assert (consistency.overall.value, consistency.overall.chance) == (1, pytest.approx(1))


def test_a_good_prior_lies_above_chance_and_one_task_has_none() -> None:
    own = clusters()
    goals = np.stack([vectors.mean(axis=0) for vectors in own.values()])[:, None]
    answers = Answers("truth", "ground_truth", SPACE, TASKS, goals, {task: goals[:1] for task in TASKS})
    found = every(answers, gallery_of(visuals_of(own)), cfg())
    assert found["accuracy"].overall.above_chance
    assert found["retrieval"].overall.above_chance
    alone = Answers("one", "", SPACE, ("a",), goals[:1], {"a": goals[:1]})
    assert every(alone, gallery_of(visuals_of({"a": own["a"]}), ("a",)), cfg())["accuracy"].overall.chance is None


def test_the_band_is_that_of_the_interval_against_chance() -> None:
    from proctor.stats import Interval
    from proctor.suites.goals.dimensions import band_of

    def word(low: float) -> str | None:
        reading = Reading(0.9, 5, Interval(low, 0.95), chance=0.6)
        return band_of(Dimension("consistency", reading, "draws"), cfg().bands.accuracy)

    assert (word(0.59), word(0.61)) == ("at chance", "excellent")


# Draws ----------------------------------------------------------------------------------------------------------------


def test_identical_draws_count_once() -> None:
    answers, gallery = random_answers(0, 0.0), gallery_of(visuals_of(clusters()))
    once = replace(answers, goals=answers.goals[:, :1])
    often = replace(answers, goals=np.repeat(answers.goals[:, :1], 7, axis=1))
    few, many = (every(own, gallery, cfg(k=3)) for own in (once, often))
    assert few["retrieval"] == many["retrieval"]
    assert [own.n for own in many["retrieval"].by_task.values()] == [3, 3, 3, 3]
    assert many["consistency"].overall.n == 4
    partly = often.goals.copy()
    partly[0, 0] *= -1
    assert every(replace(often, goals=partly), gallery, cfg())["consistency"].overall.n == 5


# Noise ----------------------------------------------------------------------------------------------------------------


def asked(folder: Path, noise: float, seed: int) -> tuple[Answers, GoalsCfg]:
    folder.mkdir(exist_ok=True)
    prior = {"name": "p", "target": MODEL, "kwargs": {"noise": noise}}
    goals = load_goals(goals_config(folder, priors=[prior], seed=seed, draws=4))
    return ask_all(*goals).answers[0], goals[1]


def test_robustness_falls_as_noise_rises(tmp_path: Path) -> None:
    means = []
    for noise in (0.0, 0.1, 0.3, 1.0, 3.0):
        found = [every(asked(tmp_path, noise, seed)[0], None, cfg())["robustness"].overall.value for seed in range(6)]
        means.append(np.mean([value for value in found if value is not None]))
    assert means[0] == pytest.approx(1)
    assert (np.diff(means) < 0).all(), means
    assert means[-1] < 0.3


def test_every_wording_and_every_draw_has_noise_of_its_own(tmp_path: Path) -> None:
    answers, config = asked(tmp_path, 0.5, 0)
    for drawn in answers.wordings.values():
        assert drawn.shape == (3, config.draws, 5)
        flat = drawn.reshape(-1, 5)
        assert len(np.unique(flat, axis=0)) == len(flat)
    again, _ = asked(tmp_path / "again", 0.5, 0)
    assert all((again.wordings[task] == own).all() for task, own in answers.wordings.items())


def test_robustness_is_the_mean_over_all_draws() -> None:
    answers = random_answers(1, 1.0)
    found = every(answers, None, cfg())["robustness"].by_task["b"]
    u = answers.wordings["b"] / np.linalg.norm(answers.wordings["b"], axis=2, keepdims=True)
    pairs = [u[i, s] @ u[j, r] for i in range(3) for j in range(i) for s in range(2) for r in range(2)]
    assert found.value == pytest.approx(np.mean(pairs))
