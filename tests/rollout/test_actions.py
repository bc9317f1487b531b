"""Actions before an environment sees them: valid as they are, clipped where the task says so, or named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proctor.rollout.ask.actions import ActionChecker

BOX = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 5], np.float32))
numbers = st.floats(-8, 8, width=32) | st.sampled_from([np.nan, np.inf, -np.inf])
chunks = hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.just(2)), elements=numbers)
batches = hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.just(2), st.just(2)), elements=numbers)


def expected_valid(chunk: np.ndarray, clip: bool) -> int:
    for i, action in enumerate(chunk):
        inside = bool(((action >= BOX.low) & (action <= BOX.high)).all())
        if not np.isfinite(action).all() or not (inside or clip):
            return i
    return len(chunk)


@given(chunks, st.booleans())
def test_a_chunk_is_valid_up_to_its_first_bad_step(chunk: np.ndarray, clip: bool) -> None:
    checked = ActionChecker(BOX, clip).check(chunk)
    valid = expected_valid(chunk, clip)
    assert checked.valid == valid
    assert (checked.reason is None) == (valid == len(chunk))
    assert checked.actions.dtype == np.float32
    good = chunk[:valid].astype(np.float32)
    assert np.array_equal(checked.actions[:valid], np.clip(good, BOX.low, BOX.high))
    outside = [not np.array_equal(a, np.clip(a, BOX.low, BOX.high)) for a in good]
    clipped = [False] * valid if checked.clipped is None else checked.clipped[:valid].tolist()
    assert clipped == outside


@given(batches, st.booleans())
def test_a_batch_in_one_look_says_the_same_as_step_by_step(rows: np.ndarray, clip: bool) -> None:
    checker = ActionChecker(BOX, clip)
    at_once = checker.all_valid(rows)
    each = [checker.check(chunk) for chunk in rows]
    plain = all(c.valid == len(c.actions) and c.clipped is None for c in each)
    assert (at_once is not None) == plain
    if at_once is not None:
        assert at_once.dtype == np.float32
        assert np.array_equal(at_once, np.stack([c.actions for c in each]))


@pytest.mark.parametrize(
    ("space", "good", "bad", "says"),
    [
        (spaces.Discrete(3), [0, 2], 3, "action 3 is out of range [0, 2]"),
        (spaces.Discrete(3, start=5), [5, 7], 4, "action 4 is out of range [5, 7]"),
        (spaces.Discrete(3), [1.0], 1.5, "action 1.5 is not a whole number; the task's actions are discrete"),
        (spaces.Discrete(3), [True], np.nan, "action nan is not finite"),
        (spaces.MultiDiscrete([2, 3]), [[1, 2]], [1, 3], "action [1 3] is out of range"),
        (spaces.MultiBinary(2), [[0, 1]], [0, 2], "action [0 2] is out of range [0, 1]"),
        (spaces.Box(-1, 1, (1,)), [[0.5]], [1.5], "action [1.5] is out of range [-1, 1]"),
        (spaces.Box(-1, 1, (1,)), [[-1]], [-np.inf], "action [-inf] is not finite"),
        (spaces.Box(-1, 1, (2,)), [[0, 0]], [0, 0, 0], "action has shape (3,); the task's action space has (2,)"),
        (spaces.Box(-1, 1, (1,)), [[0]], ["left"], "action has dtype <U4; expected numbers"),
        (spaces.Box(-1, 1, (1,)), [[0]], [1j], "action has dtype complex128; expected numbers"),
    ],
)
def test_every_space_takes_its_own_and_names_the_rest(space: Any, good: list[Any], bad: Any, says: str) -> None:
    checker = ActionChecker(space, clip=False)
    for action in good:
        checked = checker.check(np.array([action]))
        assert (checked.valid, checked.reason) == (1, None)
        assert checked.actions.dtype == space.dtype
        assert space.contains(checked.actions[0])
    refused = checker.check(np.array([bad]))
    assert refused.valid == 0
    assert str(refused.reason).startswith(says)
    assert checker.all_valid(np.array([[bad]])) is None


@pytest.mark.parametrize("space", [spaces.Discrete(4), spaces.MultiBinary(3), spaces.Box(-2, 2, (2, 2))])
def test_what_a_space_samples_is_valid(space: Any) -> None:
    space.seed(0)
    chunk = np.array([space.sample() for _ in range(20)])
    checked = ActionChecker(space, clip=False).check(chunk)
    assert checked.valid == 20
    assert np.array_equal(checked.actions, chunk)


@pytest.mark.parametrize("scores", [[0.2, 0.8], [0.0, 1.0], [1.0, 0.0, 1.0]])
def test_scores_are_not_taken_for_a_chunk_of_discrete_actions(scores: list[float]) -> None:
    checker = ActionChecker(spaces.Discrete(2), clip=False)
    refused = checker.check(np.array(scores))
    assert refused.valid == 0
    assert refused.reason == (
        f"the policy gave {len(scores)} floats {np.array(scores)} for one action that is a whole number from 0 to 1; "
        "if they are scores, return int(np.argmax(scores)); a chunk of actions is made of whole numbers (.astype(int))"
    )
    assert checker.all_valid(np.array([scores])) is None
    assert checker.check(np.array(scores).round().astype(int)).valid == len(scores)


def test_an_empty_chunk_is_not_an_action() -> None:
    assert ActionChecker(BOX, clip=True).check(np.zeros((0, 2))).valid == 0


def test_a_space_that_is_no_array_is_refused() -> None:
    with pytest.raises(TypeError, match=r"action space Text.* is not supported: a policy returns arrays; wrap"):
        ActionChecker(spaces.Text(3), clip=False)


# Known to be wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [300, -1, 256.0, 3.7])
def test_a_number_that_the_space_cannot_hold_is_not_wrapped_into_it(action: float) -> None:
    checker = ActionChecker(spaces.Box(0, 255, (1,), np.uint8), clip=False)
    assert checker.all_valid(np.array([[[action]]])) is None
    assert checker.check(np.array([[action]])).valid == 0


def test_infinity_is_invalid_in_an_unbounded_space_too() -> None:
    checker = ActionChecker(spaces.Box(-np.inf, np.inf, (1,)), clip=False)
    assert checker.check(np.array([[np.inf]])).reason == "action [inf] is not finite"
    assert checker.all_valid(np.array([[[np.inf]]])) is None


@pytest.mark.parametrize(
    ("space", "action"),
    [(spaces.Discrete(3), 3), (spaces.MultiDiscrete([2, 3]), [1, 3]), (spaces.MultiBinary(2), [0, 2])],
)
def test_an_index_that_names_no_action_is_never_clipped_to_another(space: Any, action: Any) -> None:
    assert ActionChecker(space, clip=True).check(np.array([action])).valid == 0


def test_a_number_too_large_for_the_spaces_dtype_is_out_of_range() -> None:
    checker = ActionChecker(spaces.Box(-1, 1, (1,), np.float32), clip=True)
    checked = checker.check(np.array([[1e300]]))
    assert checked.actions.tolist() == [[1.0]]
    assert checked.clipped is not None


def test_an_empty_chunk_is_not_plainly_valid_and_is_named_as_what_it_is() -> None:
    checker = ActionChecker(BOX, clip=False)
    assert checker.all_valid(np.zeros((3, 0, 2))) is None
    assert "empty" in str(checker.check(np.zeros((0, 2))).reason)
