"""Spaces: what is described is what was meant, and Gymnasium's come back as they were."""

from __future__ import annotations

from typing import Any

import gymnasium.spaces as known
import numpy as np
import pytest

from proctor.spaces import to_gymnasium
from proctor_host import spaces

SPACES = [
    known.Box(-1.0, 1.0, (3,), np.float32),
    known.Box(np.array([-np.inf, 0.0]), np.array([1.0, np.inf]), dtype=np.float64),
    known.Box(0, 255, (4, 5, 3), np.uint8),
    known.Box(0.0, 1.0, (), np.float32),
    known.Discrete(5),
    known.Discrete(3, start=-1),
    known.MultiDiscrete([2, 3, 4]),
    known.MultiDiscrete(np.array([[2, 3], [4, 5]]), start=np.array([[0, 1], [2, 3]])),
    known.MultiBinary(4),
    known.MultiBinary([2, 3]),
    known.Text(12, min_length=2, charset="abc"),
    known.Dict({"b": known.Discrete(2), "a": known.Dict({"x": known.Box(0, 1, (1,)), "t": known.Text(3)})}),
    known.Tuple((known.Discrete(2), known.Box(0, 1, (2,)))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_space_comes_back_from_its_description(space: Any) -> None:
    described = spaces.described(space)
    again = spaces.from_plain(described.plain())
    assert again == described
    found = to_gymnasium(again)
    assert found == space
    assert (found.shape, found.dtype) == (space.shape, space.dtype)
    assert list(getattr(found, "spaces", ())) == list(getattr(space, "spaces", ()))


class Marked(known.Space[Any]):
    """A space of somebody's own."""


class Narrow(known.Box):
    """A Box of somebody's own."""


def test_a_space_of_one_s_own_stays_as_it_is_and_one_that_derives_is_described() -> None:
    own = Marked()
    described = spaces.described(known.Dict({"mark": own, "x": known.Discrete(2)}))
    assert [other.plain()["space"] for other in spaces.others(described)] == [own]
    assert to_gymnasium(described)["mark"] is own
    assert isinstance(spaces.described(Narrow(0, 1, (2,))), spaces.Box)


def test_a_description_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no space is described"):
        spaces.from_plain({"kind": "Popen"})


@pytest.mark.parametrize("space", [space for space in SPACES if isinstance(space, known.Box | known.Discrete)], ids=str)
def test_actions_are_drawn_from_a_description_as_from_the_space(space: Any) -> None:
    drawn = [spaces.random_action(one, np.random.default_rng(7)) for one in (space, spaces.described(space))]
    assert np.array_equal(*drawn)
    assert space.contains(np.asarray(drawn[0], space.dtype) if isinstance(space, known.Box) else drawn[0])
