"""Observations taken apart and put together again, in memory of any kind."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor_host.layout import layout_of

leaf_spaces = st.one_of(
    st.builds(
        lambda shape, dtype: spaces.Box(0, 100, tuple(shape), dtype),
        st.lists(st.integers(1, 4), max_size=3),
        st.sampled_from([np.float32, np.float64, np.uint8, np.int16]),
    ),
    st.builds(spaces.Discrete, st.integers(1, 9)),
    st.builds(spaces.MultiDiscrete, st.lists(st.integers(1, 5), min_size=1, max_size=3)),
    st.builds(spaces.MultiBinary, st.integers(1, 4)),
)
any_space = st.recursive(
    leaf_spaces,
    lambda inner: st.one_of(
        st.builds(spaces.Dict, st.dictionaries(st.sampled_from("abcd"), inner, min_size=1, max_size=3)),
        st.builds(lambda parts: spaces.Tuple(parts), st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=5,
)


def sample(space: gymnasium.Space[Any], seed: int) -> Any:
    space.seed(seed)
    return space.sample()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b)


@settings(max_examples=60, deadline=None)
@given(any_space, st.integers(0, 99))
def test_an_observation_put_together_again_is_the_same(space: Any, seed: int) -> None:
    layout = layout_of(space)
    assert layout is not None
    observation = sample(space, seed)
    leaves = layout.split(observation)
    assert [(a.dtype, a.shape) for a in leaves] == [(x.dtype, x.shape) for x in layout.leaves]
    assert same(layout.join(leaves), observation)


@settings(max_examples=60, deadline=None)
@given(any_space, st.integers(1, 3))
def test_observations_side_by_side_in_one_buffer_do_not_touch(space: Any, count: int) -> None:
    layout = layout_of(space)
    assert layout is not None
    buffer = bytearray(layout.nbytes * count)
    observations = [sample(space, i) for i in range(count)]
    for i, observation in enumerate(observations):
        for view, leaf in zip(layout.views(buffer, i * layout.nbytes), layout.split(observation), strict=True):
            view[...] = leaf
    for i, observation in enumerate(observations):
        assert same(layout.join(layout.views(buffer, i * layout.nbytes)), observation)
    assert all(leaf.offset % 64 == 0 for leaf in layout.leaves)


@given(any_space, st.integers(1, 4))
def test_a_batch_has_a_row_for_each_observation(space: Any, rows: int) -> None:
    layout = layout_of(space)
    assert layout is not None
    assert [(a.shape, a.dtype) for a in layout.empty(rows)] == [
        ((rows, *leaf.shape), leaf.dtype) for leaf in layout.leaves
    ]


def test_leaves_are_named_by_their_path() -> None:
    box = spaces.Box(0, 1, (2,))
    nested = spaces.Dict({"robot": spaces.Dict({"q": box, "cameras": spaces.Tuple([box, box])}), "t": box})
    layout = layout_of(nested)
    assert layout is not None
    assert [leaf.label for leaf in layout.leaves] == ["robot.cameras.0", "robot.cameras.1", "robot.q", "t"]
    plain = layout_of(box)
    assert plain is not None
    assert [leaf.label for leaf in plain.leaves] == ["observation"]


@pytest.mark.parametrize(
    "space",
    [
        spaces.Text(5),
        spaces.Dict({"state": spaces.Box(0, 1, (2,)), "order": spaces.Text(9)}),
        spaces.Sequence(spaces.Discrete(3)),
    ],
)
def test_what_is_not_made_of_arrays_has_no_layout(space: Any) -> None:
    assert layout_of(space) is None


def test_an_observation_of_another_shape_is_refused_by_name() -> None:
    layout = layout_of(spaces.Dict({"image": spaces.Box(0, 255, (4, 4, 3), np.uint8)}))
    assert layout is not None
    with pytest.raises(ValueError, match=r"^image has shape \(4, 4\); its space says \(4, 4, 3\)$"):
        layout.split({"image": np.zeros((4, 4), np.uint8)})
