"""A prior that hands on the embedding of the text is found out: in the findings, in every file, and in the headline."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from goal_answers import SPACE, made_up
from goal_rooms import HERE, goals_config

from proctor.suites.goals.config import load_goals
from proctor.suites.goals.evaluate import evaluate
from proctor.suites.goals.evidence import Answers
from proctor.suites.goals.metrics.embeddings import Embeddings


def as_text(noise: float, scale: float = 1.0, draws: int = 3) -> Answers:
    """Goals that are the texts of `made_up`, scaled and with noise around them."""
    answers, _, _ = made_up()
    assert answers.texts is not None
    texts = answers.texts.vectors
    drawn = noise * np.random.default_rng(1).normal(size=(len(texts), draws, texts.shape[1]))
    return replace(answers, goals=scale * (texts[:, None] + drawn))


@pytest.mark.parametrize("scale", [1.0, 7.5, 1e-3])
def test_the_text_itself_is_the_text_at_any_length(scale: float) -> None:
    assert as_text(0.0, scale).is_the_text


def test_noise_around_the_text_is_still_the_text_and_a_turned_goal_is_not() -> None:
    assert as_text(0.2, draws=400).is_the_text
    answers, _, _ = made_up()
    assert not answers.is_the_text
    turned = np.roll(as_text(0.0).goals, 1, axis=-1)
    assert not replace(answers, goals=turned).is_the_text


def test_one_task_that_was_imagined_is_enough() -> None:
    answers = as_text(0.0)
    answers.goals[2] *= -1
    assert not answers.is_the_text


def test_without_a_text_encoder_or_with_another_dimension_nothing_is_said() -> None:
    answers = as_text(0.0)
    assert not replace(answers, texts=None).is_the_text
    assert not replace(answers, texts=Embeddings(np.ones((4, 3)), SPACE)).is_the_text


PARROT = """
from goal_rooms import RoomModel

class Parrot(RoomModel):
    def embed_goal(self, texts, rng):
        return 3 * self.encode_text(texts)
"""


def test_the_report_says_so_everywhere_and_the_headline_is_of_another(collected: Path, tmp_path: Path) -> None:
    (tmp_path / "parrot.py").write_text(PARROT)
    parrot, room = {"target": f"{tmp_path}/parrot.py:Parrot"}, {"target": f"{HERE}:RoomModel"}
    truth = {"name": "truth", "target": "proctor.suites.goals.references:GroundTruth"}
    priors = [{"name": "parrot", **parrot}, {"name": "room", **room}, truth]
    cfg, goals = load_goals(goals_config(tmp_path, visuals_folder=str(collected), priors=priors))
    done = evaluate(cfg, goals)
    said = json.loads((done.folder / "goals.json").read_text())
    assert [prior["is_the_text_embedding"] for prior in said["priors"]] == [True, False, False]
    cautions = [finding["text"] for finding in said["findings"] if finding["level"] == "caution"]
    assert any(text.startswith("parrot answers with the embedding of the text itself") for text in cautions)
    assert said["verdict"].startswith("room: goal accuracy")
    assert "parrot (the text embedding)" in (done.folder / "goals.md").read_text()
    assert '<span class="flag">the text embedding</span>' in (done.folder / "goals.html").read_text()


def test_a_lone_parrot_has_no_headline(collected: Path, tmp_path: Path) -> None:
    (tmp_path / "parrot.py").write_text(PARROT)
    priors = [{"name": "parrot", "target": f"{tmp_path}/parrot.py:Parrot"}]
    cfg, goals = load_goals(goals_config(tmp_path, visuals_folder=str(collected), priors=priors))
    done = evaluate(cfg, goals)
    said = json.loads((done.folder / "goals.json").read_text())["verdict"]
    assert said.startswith("No model imagines anything: all goals are merely embeddings of their texts")
