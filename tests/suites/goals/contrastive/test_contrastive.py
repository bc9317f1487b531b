"""The networks, their file, and the goal model that is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

safetensors_numpy = pytest.importorskip("safetensors.numpy")

from proctor.errors import InputError  # noqa: E402
from proctor.suites.goals.contrastive import ContrastiveGoals, nets  # noqa: E402
from proctor.suites.goals.contrastive.inputs import tiles, word_counts, words  # noqa: E402
from proctor.suites.goals.contrastive.model import Checkpoint, read_checkpoint, write_checkpoint  # noqa: E402
from proctor.suites.goals.protocol import goals_of, pictures_of, texts_of  # noqa: E402

SMALL = nets.Architecture(
    window=2, frame_tiles=3, tile_side=2, tile_width=4, frame_width=12, hidden=16, buckets=16, dim=8
)
TEXTS = ["chop a tree", "drink water", "sleep"]


@pytest.fixture
def checkpoint() -> Checkpoint:
    rng = np.random.default_rng(0)
    weights = nets.initial_weights(SMALL, (*nets.VISUAL, *nets.TEXT, *nets.PRIOR), rng)
    return Checkpoint(SMALL, weights, ("a", "b"), rng.normal(size=(2, 8)).astype(np.float32))


@pytest.fixture
def path(checkpoint: Checkpoint, tmp_path: Path) -> str:
    write_checkpoint(tmp_path / "goals.safetensors", checkpoint)
    return str(tmp_path / "goals.safetensors")


def frames(n: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (n, 2, 6, 6, 3), dtype=np.uint8)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_a_file_gives_back_what_was_written(checkpoint: Checkpoint, path: str) -> None:
    read = read_checkpoint(path)
    assert (read.architecture, read.skills) == (SMALL, ("a", "b"))
    np.testing.assert_array_equal(read.centroids, checkpoint.centroids)
    assert read.weights.keys() == checkpoint.weights.keys()
    for name, value in checkpoint.weights.items():
        np.testing.assert_array_equal(read.weights[name], value)


def test_embeddings_have_the_declared_shapes_and_length_one(path: str) -> None:
    model = ContrastiveGoals(path)
    assert (model.window, model.frame_size) == (2, (6, 6))
    goals, pictures, texts = goals_of(model, TEXTS, rng()), pictures_of(model, frames(5)), texts_of(model, TEXTS)
    assert texts is not None
    assert [e.vectors.shape for e in (goals, pictures, texts)] == [(3, 8), (5, 8), (3, 8)]
    for found in (goals, pictures, texts):
        np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1.0, rtol=1e-5)
    assert goals.space == pictures.space != texts.space
    assert model.embed_goal([], rng()).shape == (0, 8)


def test_rows_do_not_depend_on_their_neighbours(path: str) -> None:
    model, windows = ContrastiveGoals(path), frames(9)
    together = model.encode_frames(windows)
    alone = np.concatenate([model.encode_frames(window[None]) for window in windows])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(model.embed_goal(TEXTS, rng())[1:2], model.embed_goal(TEXTS[1:2], rng()))


def test_an_untrained_prior_has_the_same_encoders_and_other_goals(path: str) -> None:
    trained, untrained = ContrastiveGoals(path), ContrastiveGoals(path, prior="untrained")
    assert (trained.space, trained.text_space) == (untrained.space, untrained.text_space)
    np.testing.assert_array_equal(trained.encode_frames(frames(2)), untrained.encode_frames(frames(2)))
    np.testing.assert_array_equal(trained.encode_text(TEXTS), untrained.encode_text(TEXTS))
    one, other = (model.embed_goal(TEXTS, rng()) for model in (untrained, ContrastiveGoals(path, "untrained", seed=1)))
    assert not np.allclose(one, trained.embed_goal(TEXTS, rng()))
    assert not np.allclose(one, other)


def test_noise_comes_from_the_generator_and_keeps_the_length(path: str) -> None:
    model = ContrastiveGoals(path, noise=0.05)
    first, again = model.embed_goal(TEXTS, rng()), model.embed_goal(TEXTS, rng())
    np.testing.assert_array_equal(first, again)
    drawn = rng()
    model.embed_goal(TEXTS, drawn)
    later = model.embed_goal(TEXTS, drawn)
    assert (later != first).any()
    cosines = (first * ContrastiveGoals(path).embed_goal(TEXTS, rng())).sum(axis=1)
    assert ((cosines > 0.9) & (cosines < 1.0)).all()
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1.0, rtol=1e-5)


def test_a_space_changes_with_the_encoder_of_pictures_only(checkpoint: Checkpoint, path: str, tmp_path: Path) -> None:
    before = ContrastiveGoals(path)

    def changed(name: str) -> ContrastiveGoals:
        weights = {**checkpoint.weights, name: checkpoint.weights[name] + np.float32(1)}
        write_checkpoint(tmp_path / "other.safetensors", Checkpoint(SMALL, weights, ("a", "b"), checkpoint.centroids))
        return ContrastiveGoals(str(tmp_path / "other.safetensors"))

    assert changed("tile.bias").space != before.space
    assert changed("prior.weight").space == before.space
    assert changed("word.weight").space == before.space
    assert changed("word.weight").text_space != before.text_space


def test_torch_and_numpy_compute_the_same(checkpoint: Checkpoint) -> None:
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(value) for name, value in checkpoint.weights.items()}
    counts, cut = word_counts(TEXTS, SMALL.buckets), tiles(frames(4), SMALL.tile_side)
    for network, inputs in ((nets.encode_pictures, cut), (nets.encode_texts, counts)):
        expected = network(checkpoint.weights, inputs)
        np.testing.assert_allclose(network(tensors, torch.from_numpy(inputs)).numpy(), expected, atol=1e-6)
    texts = nets.encode_texts(checkpoint.weights, counts)
    imagined = nets.imagine(tensors, torch.from_numpy(texts)).numpy()
    np.testing.assert_allclose(imagined, nets.imagine(checkpoint.weights, texts), atol=1e-6)


def test_tiles_are_cut_as_the_picture_lies() -> None:
    picture = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(1, 1, 4, 6, 3)
    cut = tiles(picture, 2)
    assert cut.shape == (1, 1, 6, 12)
    np.testing.assert_allclose(cut[0, 0, 4], picture[0, 0, 2:, 2:4].ravel() / 255 - 0.5, atol=1e-7)
    assert (tiles(np.full((1, 1, 2, 2, 3), 255, np.uint8), 2) == 0.5).all()


def test_words_are_counted_without_case_and_punctuation() -> None:
    assert words("Chop a tree, NOW!") == ["chop", "a", "tree", "now"]
    counts = word_counts(["tree tree sleep", "sleep"], 1024)
    assert sorted(counts[0][counts[0] > 0]) == pytest.approx([1 / 3, 2 / 3])
    assert counts[1].max() == 1.0
    assert counts[0][counts[1].argmax()] == pytest.approx(1 / 3)


@given(st.lists(st.sampled_from(["go", "to", "the", "lake", "and", "drink"]), min_size=1), st.randoms())
def test_the_order_of_words_does_not_matter(chosen: list[str], random: Any) -> None:
    mixed = list(chosen)
    random.shuffle(mixed)
    counts = word_counts([" ".join(chosen), " ".join(mixed)], 64)
    np.testing.assert_allclose(counts[0], counts[1], atol=1e-6)
    assert counts.sum(axis=1) == pytest.approx([1.0, 1.0], rel=1e-5)


@pytest.mark.parametrize(
    ("kwargs", "text"),
    [
        ({"prior": "half"}, 'found prior: half; expected "trained" or "untrained"'),
        ({"noise": -1.0}, r"found noise: -1.0; expected a number that is not negative"),
        ({"noise": float("nan")}, "found noise: nan"),
    ],
)
def test_wrong_arguments_say_what_is_expected(path: str, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        ContrastiveGoals(path, **kwargs)


def test_a_text_without_words_is_refused(path: str) -> None:
    with pytest.raises(InputError, match=r"found the instruction '\?!'; expected at least one word"):
        ContrastiveGoals(path).embed_goal(["?!"], rng())


def test_wrong_files_are_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.safetensors"
    with pytest.raises(InputError, match=r"no goal model .*wrong\.safetensors; train one"):
        read_checkpoint(wrong)
    wrong.write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        read_checkpoint(wrong)
    safetensors_numpy.save_file({"x": np.zeros(2, np.float32)}, wrong)
    with pytest.raises(InputError, match="header says format None; expected proctor-contrastive-goals-1"):
        read_checkpoint(wrong)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"tile.bias": np.zeros(7, np.float32)}, r"tensor tile.bias: found \(7,\), expected \(4,\)"),
        ({"extra": np.zeros(7, np.float32)}, r"tensor extra: found \(7,\), expected nothing"),
        ({"prior.weight": None}, r"tensor prior.weight: found nothing, expected \(16, 8\)"),
    ],
)
def test_tensors_that_do_not_fit_are_named(
    checkpoint: Checkpoint, tmp_path: Path, changes: dict[str, Any], text: str
) -> None:
    weights = {name: value for name, value in {**checkpoint.weights, **changes}.items() if value is not None}
    write_checkpoint(tmp_path / "odd.safetensors", Checkpoint(SMALL, weights, ("a", "b"), checkpoint.centroids))
    with pytest.raises(InputError, match=text):
        read_checkpoint(tmp_path / "odd.safetensors")
