"""The training script of the goal example, on pictures that are easy to tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.registry import import_file
from proctor.suites.crafter.tasks import INSTRUCTIONS, TASKS
from proctor.suites.goals.contrastive import ContrastiveGoals, nets
from proctor.suites.goals.contrastive.model import Checkpoint, write_checkpoint

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL = nets.Architecture(
    window=2, frame_tiles=2, tile_side=3, tile_width=8, frame_width=32, hidden=64, buckets=512, dim=32
)


@pytest.fixture(scope="module")
def script() -> Any:
    return import_file(EXAMPLES / "train_goals.py")


def test_sentences_are_others_than_the_instructions(script: Any) -> None:
    assert tuple(script.SENTENCES) == TASKS
    told = {text for texts in INSTRUCTIONS.values() for text in texts}
    practised = [text for texts in script.SENTENCES.values() for text in texts]
    assert told.isdisjoint(practised)
    assert len(set(practised)) == len(practised)


def test_windows_end_with_the_last_frames_and_begin_with_the_first(script: Any) -> None:
    frames = [np.full((1, 1, 3), number, np.uint8) for number in range(8)]
    assert [window[:, 0, 0, 0].tolist() for window in script.last_windows(frames, 3)] == [
        [1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5, 6], [5, 6, 7],
    ]  # fmt: skip
    assert [window[:, 0, 0, 0].tolist() for window in script.last_windows(frames[:2], 3)] == [[0, 0, 1]]
    assert [window[:, 0, 0, 0].tolist() for window in script.last_windows(frames, 3, walk=5)] == [[4, 5, 6], [5, 6, 7]]
    assert script.last_windows([], 3) == []


def test_an_expert_collects_the_same_pictures_every_time(script: Any) -> None:
    pytest.importorskip("crafter.engine", reason="the extra `crafter` is not installed")
    architecture = nets.Architecture()
    first, again = script.collect(1, architecture), script.collect(1, architecture)
    np.testing.assert_array_equal(first.windows, again.windows)
    assert first.windows.shape[1:] == (architecture.window, *architecture.frame_size, 3)
    assert len(first.windows) == len(first.labels) == len(first.worlds)
    assert len(np.unique(first.labels)) >= len(TASKS) - 1


def coloured(rng: np.random.Generator, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows in a colour of their task's own, with some noise."""
    colours = rng.integers(0, 200, (len(TASKS), 1, 6, 6, 3))
    labels = np.repeat(np.arange(len(TASKS)), each)
    windows = colours[labels] + rng.integers(0, 56, (len(labels), SMALL.window, 6, 6, 3))
    return windows.astype(np.uint8), labels


def test_training_finds_which_sentence_goes_with_which_picture(script: Any, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    windows, labels = coloured(np.random.default_rng(0), 30)
    pictures = script.Pictures(windows, labels, np.zeros(len(labels)))
    weights = script.Trainer(pictures, SMALL, seed=0, each=6).train(steps=150, prior_steps=200)
    vectors = script.embed(weights, pictures, SMALL)
    centroids = script.mean_directions(vectors, labels)
    assert ((vectors @ centroids.T).argmax(axis=1) == labels).mean() > 0.95
    path = tmp_path / "small.safetensors"
    write_checkpoint(path, Checkpoint(SMALL, weights, TASKS, centroids))
    sentences = [script.SENTENCES[task][0] for task in TASKS]
    goals = ContrastiveGoals(str(path)).embed_goal(sentences, np.random.default_rng(0))
    assert ((goals @ centroids.T).argmax(axis=1) == np.arange(len(TASKS))).sum() >= 8
    random = ContrastiveGoals(str(path), prior="untrained").embed_goal(sentences, np.random.default_rng(0))
    assert (random * centroids).sum(axis=1).mean() < 0.3 < (goals * centroids).sum(axis=1).mean()
