"""Key steps of a path, and what is learned from each image of a demonstration."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from manipulation_demos import BEND_M, Demos, key_steps, read_demos, targets_of

from proctor.errors import InputError
from proctor.suites.metaworld.waypoint_flow.cfg import NetCfg, from_net, to_net, word_tokens


@given(seed=st.integers(0, 10_000), steps=st.integers(1, 80), longest=st.integers(1, 20))
def test_between_key_steps_a_path_is_nearly_straight_and_short(seed: int, steps: int, longest: int) -> None:
    rng = np.random.default_rng(seed)
    path = np.cumsum(rng.normal(scale=0.01, size=(steps + 1, 3)), axis=0)
    grip = np.where(np.cumsum(rng.random(steps) < 0.05) % 2, 1.0, -1.0)
    keys = key_steps(path, grip, longest)
    assert keys[-1] == steps
    assert (np.diff(keys, prepend=0) >= 1).all()
    assert (np.diff(keys, prepend=0) <= longest).all()
    pieces = [0, *keys.tolist()]
    for first, last in itertools.pairwise(pieces):
        share = np.linspace(0, 1, last - first + 1)[:, None]
        line = path[first] + share * (path[last] - path[first])
        assert np.linalg.norm(path[first : last + 1] - line, axis=1).max() <= 2 * BEND_M
    assert set(1 + np.flatnonzero(np.diff(grip))) <= set(keys.tolist())


def test_a_straight_path_is_cut_into_equal_pieces() -> None:
    path = np.linspace(0, 1, 41)[:, None] * np.ones(3)
    assert key_steps(path, np.ones(40), 16).tolist() == [13, 27, 40]


def test_a_corner_is_a_key_step() -> None:
    there = np.linspace(0, 0.1, 11)[:, None] * np.array([1.0, 0, 0])
    path = np.concatenate([there, there[-1] + np.linspace(0.01, 0.1, 10)[:, None] * np.array([0, 1.0, 0])])
    assert key_steps(path, np.ones(20), 16).tolist() == [10, 20]


def two_demos(size: int = 16) -> Demos:
    """One straight demonstration of 40 steps and one of 3; images at steps 0, 12, 26 and 40, and at 1."""
    long = np.linspace(0, 1, 41)[:, None] * np.array([1.0, 0.5, 0.25, 0.0])
    short = np.full((4, 4), 0.5)
    return Demos(
        image=np.arange(5 * size * size * 3, dtype=np.uint32).reshape(5, size, size, 3).astype(np.uint8),
        frame_demo=np.array([0, 0, 0, 0, 1]), frame_step=np.array([0, 12, 26, 40, 1]), task=np.array([0, 1]),
        length=np.array([40, 3]), states=np.concatenate([long, short]),
        actions=np.arange(43 * 4, dtype=np.float32).reshape(43, 4) + 1, instructions=np.array(["go", "stay there"]),
    )  # fmt: skip


def test_targets_are_the_waypoints_ahead_and_the_actions_to_come() -> None:
    demos, cfg = two_demos(), NetCfg(image_size=16)
    targets = targets_of(demos, cfg)
    assert targets.durations.tolist() == [[13, 14, 13, 0], [15, 13, 0, 0], [14, 0, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]]
    states, actions = demos.path(0)
    np.testing.assert_array_equal(targets.waypoints[0], states[[13, 27, 40, 40]])
    np.testing.assert_array_equal(targets.waypoints[1], states[[27, 40, 40, 40]])
    np.testing.assert_array_equal(targets.state, [*states[[0, 12, 26, 40]], demos.path(1)[0][1]])
    np.testing.assert_array_equal(targets.chunk[2], [*actions[26:40], *np.zeros((2, 4))])
    np.testing.assert_array_equal(targets.ahead[1], states[13:29])
    np.testing.assert_array_equal(targets.behind[2], states[13])
    assert targets.left.tolist() == [40, 28, 14, 0, 2]


def test_demonstrations_are_read_as_they_were_written(tmp_path: Path) -> None:
    demos = two_demos()
    demos.save(tmp_path / "demos.npz")
    read = read_demos(tmp_path / "demos.npz")
    for name, array in vars(demos).items():
        np.testing.assert_array_equal(getattr(read, name), array)


def test_another_archive_holds_no_demonstrations(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", states=np.zeros(3))
    with pytest.raises(InputError, match=r"other\.npz has no image, frame_demo.*collect them again"):
        read_demos(tmp_path / "other.npz")


def test_a_missing_archive_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file .*demos\.npz; make it with: python examples/train_manip"):
        read_demos(tmp_path / "demos.npz")


@given(st.text(max_size=60))
def test_words_are_numbers_of_the_vocabulary(text: str) -> None:
    tokens = word_tokens(text, 50)
    assert all(1 <= token < 50 for token in tokens)
    assert tokens == [token for word in text.split() for token in word_tokens(word, 50)]


def test_case_and_punctuation_do_not_matter() -> None:
    assert word_tokens("Open the DOOR, please!", 512) == word_tokens("open the door please", 512)
    assert len(set(word_tokens("open close door drawer window", 512))) == 5


@given(st.lists(st.floats(-2, 2), min_size=4, max_size=4))
def test_the_networks_units_can_be_taken_back(state: list[float]) -> None:
    cfg = NetCfg()
    np.testing.assert_allclose(from_net(to_net(np.array(state), cfg), cfg), state, atol=1e-6)
