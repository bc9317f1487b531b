"""An episode collected step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.record.builder import EpisodeBuilder
from proctor.record.episode import Outcome


def builder(**keys: Any) -> EpisodeBuilder:
    return EpisodeBuilder((2,), np.float32, keys.pop("dt_s", 0.1), **keys)


def test_arrays_have_one_row_for_each_step_and_the_end_is_marked_on_the_last() -> None:
    made = builder()
    for i in range(3):
        made.add(np.full(2, i), float(i), i == 1, {"height": i * 0.5})
    arrays = made.arrays(terminated=True, truncated=False)
    assert {name: a.dtype.str for name, a in arrays.items()} == {
        "actions": "<f4", "rewards": "<f8", "terminals": "|b1", "truncations": "|b1", "success": "|b1",
        "action_dt_s": "<f8", "height": "<f8",
    }  # fmt: skip
    assert arrays["actions"].tolist() == [[0, 0], [1, 1], [2, 2]]
    assert arrays["terminals"].tolist() == [False, False, True]
    assert arrays["truncations"].tolist() == [False, False, False]
    assert arrays["success"].tolist() == [False, True, False]
    assert arrays["height"].tolist() == [0.0, 0.5, 1.0]
    assert arrays["action_dt_s"] == 0.1


def test_success_at_the_end_and_ever_are_told_apart() -> None:
    made = builder()
    assert not made.succeeded_last
    made.add([0, 0], 0.0, True, None)
    assert made.succeeded_last
    made.add([0, 0], 0.0, False, None)
    assert not made.succeeded_last
    assert made.ever_succeeded


def test_an_episode_without_a_step_has_empty_arrays() -> None:
    arrays = builder(dt_s=None).arrays(terminated=False, truncated=True)
    assert arrays["actions"].shape == (0, 2)
    assert arrays["rewards"].shape == arrays["truncations"].shape == (0,)
    assert np.isnan(arrays["action_dt_s"]), "no clock"


def test_observations_have_one_row_more_and_are_copies() -> None:
    made = builder(labels=("state", "picture"))
    shared = [np.zeros(3), np.zeros((2, 2), np.uint8)]
    made.observe(shared)
    made.add([0, 0], 0.0, False, None)
    shared[0] += 1
    made.observe(shared)
    arrays = made.arrays(terminated=True, truncated=False)
    assert arrays["observations.state"].tolist() == [[0, 0, 0], [1, 1, 1]]
    assert arrays["observations.picture"].shape == (2, 2, 2)


def test_a_plain_observation_has_a_plain_name() -> None:
    made = builder(labels=("observation",))
    made.observe([np.zeros(3)])
    assert made.arrays(terminated=False, truncated=False)["observations"].shape == (1, 3)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([{"x": 1.0}, {}], 'signal "x" has 1 values for 2 steps; give it at every step, NaN where unknown'),
        (
            [{"x": [1.0]}, {"x": [1.0, 2.0]}],
            'signal "x" changes its shape from step to step; it must keep one',
        ),
        (
            [{"x": None}, {"x": None}],
            'signal "x" has values of type NoneType; only numbers and text can be recorded',
        ),
    ],
)
def test_signals_that_make_no_array(values: list[dict[str, Any]], says: str) -> None:
    made = builder()
    for value in values:
        made.add([0, 0], 0.0, False, value)
    with pytest.raises(ValueError, match="signal") as error:
        made.arrays(terminated=True, truncated=False)
    assert str(error.value) == says


def test_constants_are_kept_once() -> None:
    made = builder()
    made.keep({"case": "squat", "reference": [[1.0, 2.0]]})
    made.add([0, 0], 1.0, True, {"x": 1.0})
    episode = made.finish(Outcome.SUCCESS, (True, False), 50, "reach")
    assert (episode.case, episode.arrays["reference"].shape) == ("squat", (1, 2))
    assert builder().finish(Outcome.FAILURE, (True, False), 50, "reach").case is None


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("rewards", 1.0, 'the constant "rewards" (float) cannot be kept: that name is taken'),
        ("goal", None, 'the constant "goal" (NoneType) cannot be kept: only numbers and text can be recorded'),
    ],
)
def test_constants_that_cannot_be_kept(name: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match="constant") as error:
        builder().keep({name: value})
    assert str(error.value) == says


def test_a_name_is_a_signal_or_a_constant() -> None:
    made = builder()
    made.keep({"x": 1.0})
    made.add([0, 0], 1.0, True, {"x": 1.0})
    with pytest.raises(ValueError, match='"x" is both a signal and a constant of the environment; rename one of them'):
        made.arrays(terminated=True, truncated=False)


def test_the_first_success_counts_from_one() -> None:
    made = builder()
    for success in (False, True, True):
        made.add([0, 0], 1.0, success, None)
    episode = made.finish(Outcome.SUCCESS, (True, False), 50, "reach")
    assert (episode.n_steps, episode.first_success, episode.dt_s, episode.max_steps) == (3, 2, 0.1, 50)
