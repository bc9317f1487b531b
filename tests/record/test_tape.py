"""From steps to arrays: however rounds are made up, a trial's record is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor_host.episode import Outcome
from proctor_host.tape import Record, RoundRecord, Tape


def record(dt_s: float | None = 0.1, labels: tuple[str, ...] = ()) -> Record:
    return Record((2,), np.float32, dt_s, labels)


def page(signals: dict[str, Any], reward: float = 0.0, success: bool = False, leaves: Any = ()) -> RoundRecord:
    """A round of one slot. Signals that are arrays come as columns, others as an environment gives them by itself."""
    own = {"actions": np.full((1, 2), reward, np.float32), "rewards": [reward], "success": [success]}
    columns = {name: value for name, value in signals.items() if isinstance(value, np.ndarray)}
    said = {0: (tuple(signals), tuple(signals.values()))} if signals and not columns else {}
    return RoundRecord(own, columns, leaves, said)


def written(*pages: RoundRecord, **keys: Any) -> Record:
    made, tape = record(**keys), Tape()
    for one in pages:
        tape.write((0,), {0: made}, one)
    return made


def steps(*signals: dict[str, Any]) -> Record:
    """Steps with what an environment gave by itself."""
    return written(*(page(said) for said in signals))


# Laws -----------------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5, unique=True), min_size=1, max_size=40),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_a_record_does_not_depend_on_who_shared_its_rounds(
    rounds: list[list[int]], by_themselves: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    shared, apart = ({i: record(labels=("state",)) for i in range(5)} for _ in range(2))
    tape, own = Tape(), {i: Tape() for i in range(5)}
    for records in (shared, apart):
        for one in records.values():
            one.observe([np.zeros(3)])
    for slots in rounds:
        n = len(slots)
        actions, rewards = rng.normal(size=(n, 2)).astype(np.float32), rng.normal(size=n)
        success, x, seen = rng.random(n) > 0.5, rng.normal(size=(n, 3)).astype(np.float32), rng.normal(size=(n, 3))
        columns = {} if by_themselves else {"x": x}
        said = {row: (("x",), (value,)) for row, value in enumerate(x)} if by_themselves else {}
        theirs: dict[str, Any] = {"actions": actions, "rewards": rewards.tolist(), "success": success.tolist()}
        tape.write(tuple(slots), shared, RoundRecord(theirs, columns, [seen], said))
        for i, slot in enumerate(slots):
            row = slice(i, i + 1)
            mine = {name: column[row] for name, column in theirs.items()}
            one = {name: column[row] for name, column in columns.items()}
            alone = {0: said[i]} if said else {}
            own[slot].write((slot,), apart, RoundRecord(mine, one, [seen[row]], alone))
    for slot in range(5):
        found, expected = shared[slot].arrays(True, False), apart[slot].arrays(True, False)
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            np.testing.assert_array_equal(found[name], array, strict=True)


def test_a_trial_that_follows_in_a_slot_has_its_own_steps() -> None:
    tape, first, second = Tape(), record(), record()
    for reward in (1.0, 2.0):
        tape.write((0,), {0: first}, page({}, reward))
    done = first.arrays(True, False)
    tape.cut()
    tape.write((0,), {0: second}, page({}, 3.0))
    assert done["rewards"].tolist() == [1.0, 2.0]
    assert second.arrays(True, False)["rewards"].tolist() == [3.0]


# By hand --------------------------------------------------------------------------------------------------------------


def test_arrays_have_one_row_for_each_step_and_the_end_is_marked_on_the_last() -> None:
    made = written(*(page({"height": i * 0.5}, float(i), i == 1) for i in range(3)))
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


def test_an_episode_without_a_step_has_empty_arrays() -> None:
    arrays = record(dt_s=None).arrays(terminated=False, truncated=True)
    assert arrays["actions"].shape == (0, 2)
    assert arrays["rewards"].shape == arrays["truncations"].shape == (0,)
    assert np.isnan(arrays["action_dt_s"]), "no clock"


def test_observations_have_one_row_more_and_the_first_is_a_copy() -> None:
    made, tape = record(labels=("state", "picture")), Tape()
    first = [np.zeros(3), np.zeros((2, 2), np.uint8)]
    made.observe(first)
    first[0] += 5
    tape.write((0,), {0: made}, page({}, leaves=[np.ones((1, 3)), np.zeros((1, 2, 2), np.uint8)]))
    arrays = made.arrays(terminated=True, truncated=False)
    assert arrays["observations.state"].tolist() == [[0, 0, 0], [1, 1, 1]]
    assert arrays["observations.picture"].shape == (2, 2, 2)


def test_a_plain_observation_has_a_plain_name() -> None:
    made = record(labels=("observation",))
    made.observe([np.zeros(3)])
    assert made.arrays(terminated=False, truncated=False)["observations"].shape == (1, 3)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([{"x": 1.0}, {}], 'signal "x" has 1 values for 2 steps; give it at every step, NaN where unknown'),
        (
            [{"y": 2.0}, {"x": 1.0, "y": 2.0}],
            'signal "x" has 1 values for 2 steps; give it at every step, NaN where unknown',
        ),
        ([{"x": [1.0]}, {"x": [1.0, 2.0]}], 'signal "x" changes its shape from step to step; it must keep one'),
        ([{"x": None}, {"x": None}], 'signal "x" has values of type NoneType; only numbers and text can be recorded'),
    ],
)
def test_signals_that_make_no_array(values: list[dict[str, Any]], says: str) -> None:
    with pytest.raises(ValueError, match="signal") as error:
        steps(*values).arrays(terminated=True, truncated=False)
    assert str(error.value) == says


def test_a_signal_that_only_another_slot_has_is_no_signal_of_this_one() -> None:
    mine, other, tape = record(), record(), Tape()
    own: dict[str, Any] = {"actions": np.zeros((2, 2), np.float32), "rewards": [0.0, 0.0], "success": [False, False]}
    for _ in range(20):
        tape.write((0, 1), {0: mine, 1: other}, RoundRecord(own, {}, (), {1: (("x",), (1.0,))}))
    assert "x" not in mine.arrays(terminated=True, truncated=False)
    assert other.arrays(terminated=True, truncated=False)["x"].tolist() == [1.0] * 20


def test_columns_that_change_their_shape_are_refused() -> None:
    made = written(page({"x": np.zeros((1, 3))}), page({"x": np.zeros((1, 2))}))
    with pytest.raises(ValueError, match='signal "x" changes its shape from step to step'):
        made.arrays(terminated=True, truncated=False)


def test_constants_are_kept_once() -> None:
    made = steps({"x": 1.0})
    made.keep({"case": "squat", "reference": [[1.0, 2.0]]})
    episode = made.episode(Outcome.SUCCESS, (True, False), 50, "reach")
    assert (episode.case, episode.arrays["reference"].shape) == ("squat", (1, 2))
    assert record().episode(Outcome.FAILURE, (True, False), 50, "reach").case is None


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("rewards", 1.0, 'the constant "rewards" (float) cannot be kept: that name is taken'),
        ("goal", None, 'the constant "goal" (NoneType) cannot be kept: only numbers and text can be recorded'),
    ],
)
def test_constants_that_cannot_be_kept(name: str, value: Any, says: str) -> None:
    with pytest.raises(ValueError, match="constant") as error:
        record().keep({name: value})
    assert str(error.value) == says


def test_a_name_is_a_signal_or_a_constant() -> None:
    made = steps({"x": 1.0})
    made.keep({"x": 1.0})
    with pytest.raises(ValueError, match='"x" is both a signal and a constant of the environment; rename one of them'):
        made.arrays(terminated=True, truncated=False)


def test_the_first_success_counts_from_one() -> None:
    made = written(*(page({}, 1.0, success) for success in (False, True, True)))
    episode = made.episode(Outcome.SUCCESS, (True, False), 50, "reach")
    assert (episode.n_steps, episode.first_success, episode.dt_s, episode.max_steps) == (3, 2, 0.1, 50)
