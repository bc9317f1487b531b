"""The adapter for MineCLIP and STEVE-1's prior, on a double that has their calls and their habits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.suites.goals.models import GoalModelCfg, Surroundings, make_goal_model
from proctor.suites.goals.protocol import GoalModel, goals_of, pictures_of, texts_of

torch = pytest.importorskip("torch")
DOUBLE = Path(__file__).parents[2] / "support" / "mineclip_double.py"
TEXTS = ["chop tree", "hunt pig"]


def model(**kwargs: str) -> GoalModel:
    cfg = GoalModelCfg(target="mineclip", kwargs={"load": f"{DOUBLE}:load", **kwargs})
    return make_goal_model(cfg, Surroundings())


def windows(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 16, 160, 256, 3), dtype=np.uint8)


def test_shapes_spaces_and_window() -> None:
    made = model()
    assert (made.window, made.frame_size) == (16, (160, 256))
    goals, seen = goals_of(made, TEXTS, np.random.default_rng(0)), pictures_of(made, windows(2))
    assert goals.vectors.shape == seen.vectors.shape == (2, 512)
    assert goals.space == seen.space == "mineclip/video"
    texts = texts_of(made, TEXTS)
    assert texts is not None
    assert (texts.space, texts.vectors.dtype) == ("mineclip/text", np.float32)


def test_goals_come_from_the_generator_that_is_handed_in_and_from_no_other() -> None:
    made = model()
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    first = made.embed_goal(TEXTS, np.random.default_rng(1))
    assert torch.rand(1) == expected
    assert (made.embed_goal(TEXTS, np.random.default_rng(1)) == first).all()
    assert (made.embed_goal(TEXTS, np.random.default_rng(2)) != first).any()


def test_a_function_like_steves_gives_the_same_goals() -> None:
    ours = model().embed_goal(TEXTS, np.random.default_rng(3))
    theirs = model(get_prior_embed=f"{DOUBLE}:get_prior_embed").embed_goal(TEXTS, np.random.default_rng(3))
    assert (ours == theirs).all()


def test_windows_are_encoded_in_blocks_that_change_nothing() -> None:
    made, many = model(), windows(10)
    alone = np.concatenate([made.encode_frames(many[i : i + 1]) for i in range(10)])
    assert made.encode_frames(many) == pytest.approx(alone, abs=1e-5)


def test_other_weights_have_other_spaces() -> None:
    assert model(space="mine").space == "mine/video"
    assert model(space="mine").text_space == "mine/text"


def test_frames_of_another_size_are_refused() -> None:
    with pytest.raises(InputError, match=r"takes uint8 windows \(16, 160, 256, 3\); found uint8 \(16, 64, 64, 3\)"):
        pictures_of(model(), np.zeros((1, 16, 64, 64, 3), np.uint8))


def test_a_loader_that_gives_one_model_is_told() -> None:
    with pytest.raises(InputError, match=r"load_one gave a MineClipDouble; expected two models: \(mineclip, prior\)"):
        model(load=f"{DOUBLE}:load_one")
