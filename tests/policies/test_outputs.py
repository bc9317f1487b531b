"""From raw model outputs to actions, row by row and task by task."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from proctor.errors import InputError
from proctor.policies.outputs import ActionHead, check_output_shape
from proctor.policies.protocol import SpaceInfo, by_task
from proctor_host.trials import Trial

SCORES = np.array([[0.1, 0.9, 0.5], [3.0, 1.0, 3.0]], np.float32)


def trials(*tasks):
    return [Trial("a", task, i, i) for i, task in enumerate(tasks)]


def decode(output, mode="auto", **action):
    return ActionHead(SpaceInfo({}, action), mode)(np.asarray(output), trials(*(["task"] * len(output))))


def test_the_first_best_choice_wins():
    assert decode(SCORES, task=spaces.Discrete(3)).tolist() == [1, 0]


def test_choices_count_from_the_start_of_the_space():
    assert decode(SCORES, task=spaces.Discrete(3, start=-1)).tolist() == [0, -1]


def test_chunks_of_scores_are_decoded():
    assert decode(np.stack([SCORES, SCORES[::-1]], axis=1), task=spaces.Discrete(3)).tolist() == [
        [1, 0],
        [0, 1],
    ]


def test_whole_numbers_pass_as_they_are():
    assert decode([[2], [1]], task=spaces.Discrete(3)).tolist() == [2, 1]
    assert decode([2, 1], task=spaces.Discrete(3)).tolist() == [2, 1]


def test_scores_of_several_choices():
    assert decode([[0.1, 0.2, 9.0, 1.0, 2.0]], task=spaces.MultiDiscrete([2, 3])).tolist() == [[1, 0]]


def test_box_actions_and_mode_none_pass():
    assert decode(SCORES, task=spaces.Box(-9, 9, (3,))).tolist() == SCORES.tolist()
    assert decode(SCORES, "none", task=spaces.Discrete(3)).shape == (2, 3)


def test_each_row_is_decoded_for_its_own_task():
    info = SpaceInfo({}, {"a": spaces.Discrete(3), "b": spaces.Discrete(3, start=10)})
    assert ActionHead(info, "auto")(SCORES, trials("b", "a")).tolist() == [11, 0]


def test_by_task_keeps_the_order_of_rows():
    names = ["x", "y", "x", "z"]
    numbers = np.arange(len(names))
    found = by_task(trials(*names), lambda task, rows: np.array([f"{task}{row}" for row in numbers[rows]]))
    assert found.tolist() == ["x0", "y1", "x2", "z3"]
    assert by_task(trials("x", "x"), lambda task, rows: numbers[:2][rows]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("shape", "floats", "space"),
    [
        (("n", 3), True, spaces.Discrete(3)),
        (("n",), False, spaces.Discrete(3)),
        (("n", 7), False, spaces.Discrete(3)),
        ((16, 5, 2), True, spaces.Box(-1, 1, (2,))),
        (("n", None), True, spaces.Box(-1, 1, (2,))),
        (("n", 5), True, spaces.MultiDiscrete([2, 3])),
    ],
)
def test_shapes_that_can_be_actions_pass(shape, floats, space):
    check_output_shape(shape, floats, SpaceInfo({}, {"task": space}), "output")


@pytest.mark.parametrize(
    ("shape", "space"),
    [(("n", 4), spaces.Discrete(3)), (("n", 3), spaces.Box(-1, 1, (2,))), (("n",), spaces.Box(-1, 1, (2,)))],
)
def test_other_shapes_are_refused(shape, space):
    with pytest.raises(InputError, match=r'output gives \(rows.*but task "task" has the action space'):
        check_output_shape(shape, True, SpaceInfo({}, {"task": space}), "output")
