"""Forwards of many trials: none can tell who shared its batch, or that a neighbour broke."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from asking import ask, task_of
from gymnasium.spaces import Box, Dict, Text
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor import Actions, Batch, Execute, Fail, Goto, Policy, Stage, StagedPolicy, StageOutput
from proctor.rollout.ask.requests import Request, Stream
from proctor.rollout.ask.runner import PolicyRunner
from proctor.rollout.tasks import Task
from proctor_host.layout import layout_of
from proctor_host.trials import Trial

SEEN = Box(-np.inf, np.inf, (2,), np.float64)
FLAT = task_of("flat", SEEN)


class Asker:
    """The part of a slot that asks."""

    def __init__(self, index: int, task: Task = FLAT):
        self.trial = Trial("a", task.name, index, 100 + index)
        self.request = Request(self, self.trial, task, "act")

    def ask(self, leaves: Any = None) -> Request:
        self.request.show([np.array([self.trial.index, 0.5])] if leaves is None else leaves)
        return self.request.ask(0, 0.0)


class Watching(Policy):
    """Notes what it saw; answers with noise from each row's generator."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def act(self, batch: Batch) -> np.ndarray:
        observation = batch.observation
        self.seen.append(observation.copy() if isinstance(observation, np.ndarray) else observation)
        return batch.normal((1,))


class Picky(Watching):
    """Raises if one of these trials is in the batch, after it has drawn from every generator."""

    def __init__(self, guilty: Sequence[int]):
        super().__init__()
        self.guilty, self.asked = set(guilty), 0

    def act(self, batch: Batch) -> np.ndarray:
        self.asked += 1
        drawn = super().act(batch)
        if self.guilty & {t.index for t in batch.trials}:
            raise ValueError("I do not like this one")
        return drawn


def alone(index: int, forwards: int = 1) -> list[float]:
    """What a trial draws when nobody is there."""
    rng = Trial("a", "flat", index, 100 + index).policy_rng()
    return [float(rng.standard_normal()) for _ in range(forwards)]


def drawn(answer: Any) -> float:
    assert answer.error is None, answer.error
    return float(answer.decision.actions[0, 0])


# Padding ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "pad_to", "rows"), [(1, 4, [4]), (4, 4, [4]), (5, 4, [4, 4]), (3, None, [3])])
def test_every_forward_has_the_same_number_of_rows(n: int, pad_to: int | None, rows: list[int]) -> None:
    policy = Watching()
    ask(PolicyRunner(policy, pad_to), "act", [Asker(i).ask() for i in range(n)])
    assert [len(seen) for seen in policy.seen] == rows


def test_missing_rows_repeat_a_real_one_and_their_answers_are_dropped() -> None:
    policy = Watching()
    answers = ask(PolicyRunner(policy, 5), "act", [Asker(i).ask() for i in (7, 8)])
    assert policy.seen[0][:, 0].tolist() == [7, 8, 7, 7, 7]
    assert [a.request.trial.index for a in answers] == [7, 8]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=9, unique=True), st.none() | st.integers(1, 6))
def test_a_trial_draws_the_same_whoever_shares_its_batch_and_however_it_is_padded(
    trials: list[int], pad_to: int | None
) -> None:
    runner, askers = PolicyRunner(Watching(), pad_to), [Asker(i) for i in trials]
    first = ask(runner, "act", [a.ask() for a in askers])
    second = ask(runner, "act", [a.ask() for a in askers[::-1]])[::-1]
    for index, one, two in zip(trials, first, second, strict=True):
        assert [drawn(one), drawn(two)] == alone(index, 2)


def test_a_row_that_is_not_asked_for_its_generator_does_not_advance() -> None:
    class Half(Policy):
        def act(self, batch: Batch) -> np.ndarray:
            return np.array(
                [[batch.rngs[i].standard_normal() if t.index % 2 else 0.0] for i, t in enumerate(batch.trials)]
            )

    asker = Asker(2)
    ask(PolicyRunner(Half(), 4), "act", [Asker(1).ask(), asker.ask()])
    assert asker.request.stream.take().standard_normal() == alone(2)[0]


def test_generators_can_be_reached_like_a_list() -> None:
    class Lister(Policy):
        def act(self, batch: Batch) -> np.ndarray:
            assert len(batch.rngs) == len(list(batch.rngs)) == 4
            assert batch.rngs[-4] is batch.rngs[0] is batch.rngs[:1][0]
            with pytest.raises(IndexError):
                batch.rngs[4]
            return batch.uniform((1,))

    (answer,) = ask(PolicyRunner(Lister(), 4), "act", [Asker(0).ask()])
    assert answer.error is None


# Observations ----------------------------------------------------------------------------------------------


def test_nested_observations_are_batched_leaf_by_leaf() -> None:
    space = Dict({"q": Box(-1, 1, (2,), np.float32), "image": Box(0, 255, (2, 2, 3), np.uint8)})
    layout = layout_of(space)
    assert layout is not None
    task = task_of("nested", space)
    policy = Watching()
    leaves = [layout.split({"q": np.full(2, i), "image": np.full((2, 2, 3), i)}) for i in range(2)]
    ask(PolicyRunner(policy, 3), "act", [Asker(i, task).ask(leaves[i]) for i in range(2)])
    (seen,) = policy.seen
    assert {name: (a.shape, a.dtype.str) for name, a in seen.items()} == {
        "q": ((3, 2), "<f4"),
        "image": ((3, 2, 2, 3), "|u1"),
    }


def test_observations_without_a_layout_are_a_list() -> None:
    task = task_of("text", Text(9))
    policy = Watching()
    ask(PolicyRunner(policy, 3), "act", [Asker(i, task).ask(word) for i, word in enumerate(["go", "stop"])])
    assert policy.seen == [["go", "stop", "go"]]


def test_requests_may_share_a_batch_where_their_arrays_look_alike() -> None:
    assert task_of("one", SEEN).key == task_of("other", SEEN).key
    assert task_of("one", SEEN, Box(-1, 1, (3,))).key != FLAT.key
    assert task_of("a", Text(9)).key != task_of("b", Text(9)).key


# Memory ----------------------------------------------------------------------------------------------------


def test_each_trial_has_its_own_state() -> None:
    class Counting(Policy):
        def reset(self, trials: Sequence[Trial]) -> Any:
            return {"n": np.array([10 * t.index for t in trials])}

        def act(self, batch: Batch) -> Actions:
            return Actions(batch.state["n"][:, None] * 1.0, {"n": batch.state["n"] + 1})

    runner, askers = PolicyRunner(Counting(), 4), [Asker(i) for i in range(3)]
    seen: list[list[float]] = [[], [], []]
    for order in ([0, 1, 2], [2, 0], [1, 2]):
        for answer in ask(runner, "act", [askers[i].ask() for i in order]):
            asker = answer.request.owner
            seen[asker.trial.index].append(drawn(answer))
            asker.request.state = answer.state
    assert seen == [[0, 1], [10, 11], [20, 21, 22]]


def test_a_reset_that_raises_costs_its_trial_only() -> None:
    class Forgetful(Watching):
        def reset(self, trials: Sequence[Trial]) -> Any:
            if trials[0].index == 1:
                raise MemoryError("no room")

    answers = ask(PolicyRunner(Forgetful(), 4), "act", [Asker(i).ask() for i in range(3)])
    by_index = {a.request.trial.index: a for a in answers}
    assert str(by_index[1].error).startswith("MemoryError: no room\nTraceback")
    assert [drawn(by_index[i]) for i in (0, 2)] == [alone(0)[0], alone(2)[0]]


# The search for the guilty ---------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 16), st.sets(st.integers(0, 15), max_size=4), st.sampled_from([None, 3, 16]))
def test_the_guilty_are_found_and_the_others_answer_as_if_nothing_had_happened(
    n: int, guilty: set[int], pad_to: int | None
) -> None:
    askers = [Asker(i) for i in range(n)]
    runner = PolicyRunner(Picky(sorted(guilty)), pad_to)
    for forward in range(2):
        answers = ask(runner, "act", [a.ask() for a in askers])
        assert sorted(a.request.trial.index for a in answers) == list(range(n))
        for answer in answers:
            index = answer.request.trial.index
            if index in guilty:
                assert str(answer.error).startswith("ValueError: I do not like this one\n")
                assert answer.decision is None
            else:
                assert drawn(answer) == alone(index, 2)[forward]


def test_one_guilty_trial_in_sixteen_costs_a_few_forwards() -> None:
    policy = Picky([11])
    ask(PolicyRunner(policy, 16), "act", [Asker(i).ask() for i in range(16)])
    assert policy.asked == 1 + 2 * 4


def test_the_error_has_the_policys_own_traceback() -> None:
    (answer,) = ask(PolicyRunner(Picky([0]), 2), "act", [Asker(0).ask()])
    assert 'raise ValueError("I do not like this one")' in str(answer.error)


# Answers that are none -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (
            lambda rows: np.zeros((rows - 1, 1)),
            "ValueError: act returned an array of shape (3, 1) for a batch of 4 rows",
        ),
        (lambda rows: np.float64(1), "ValueError: act returned an array of shape () for a batch of 4 rows"),
        (lambda rows: np.zeros((1, 1)), "ValueError: act returned an array of shape (1, 1) for a batch of 4 rows"),
    ],
)
def test_a_wrong_number_of_rows_is_the_policys_error(returned: Callable[[int], Any], says: str) -> None:
    class Short(Policy):
        def act(self, batch: Batch) -> Any:
            return returned(len(batch))

    answers = ask(PolicyRunner(Short(), 4), "act", [Asker(i).ask() for i in range(2)])
    assert [str(a.error).splitlines()[0] for a in answers] == [says] * 2


def staged(answer: Callable[[str, Batch], Any]) -> StagedPolicy:
    class Made(StagedPolicy):
        stages = (Stage("plan"), Stage("act"))

        def forward(self, stage: str, batch: Batch) -> StageOutput:
            return answer(stage, batch)

    return Made()


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        (Goto("fly"), 'ValueError: the policy asked for stage "fly"; it declares act, plan'),
        (Execute(np.zeros((1, 1)), "fly"), 'ValueError: the policy asked for stage "fly"; it declares act, plan'),
        (np.zeros(1), "TypeError: a stage must answer Execute, Goto, Idle or Fail for each row; found ndarray"),
    ],
)
def test_a_stage_that_does_not_exist_is_the_policys_error(decision: Any, says: str) -> None:
    policy = staged(lambda stage, batch: StageOutput([decision] * len(batch)))
    (answer,) = ask(PolicyRunner(policy, 2), "plan", [Asker(0).ask()])
    assert str(answer.error).splitlines()[0] == says


def test_a_stage_must_answer_every_row() -> None:
    policy = staged(lambda stage, batch: StageOutput([Goto("act")]))
    (answer,) = ask(PolicyRunner(policy, 2), "plan", [Asker(0).ask()])
    assert str(answer.error).splitlines()[0] == "ValueError: the policy answered 1 rows for a batch of 2"


def test_stages_decide_for_each_row() -> None:
    decisions = [Goto("act"), Fail("no plan"), Execute(np.ones((3, 1)), "plan")]
    policy = staged(lambda stage, batch: StageOutput([*decisions, Goto("plan")]))
    runner = PolicyRunner(policy, 4)
    assert runner.first_stage == "plan"
    answers = ask(runner, "plan", [Asker(i).ask() for i in range(3)])
    assert [a.decision for a in answers[:2]] == decisions[:2]
    assert isinstance(answers[2].decision, Execute)
    assert answers[2].decision.then == "plan"


def test_chunks_and_single_actions_are_told_apart_by_the_action_space() -> None:
    for shape, horizon in (((4, 1), 1), ((4, 3, 1), 3)):
        policy = SimplePolicy(np.zeros(shape))
        (answer,) = ask(PolicyRunner(policy, 4), "act", [Asker(0).ask()])
        assert isinstance(answer.decision, Execute)
        assert answer.decision.actions.shape == (horizon, 1)


class SimplePolicy(Policy):
    def __init__(self, actions: np.ndarray):
        self.actions = actions

    def act(self, batch: Batch) -> np.ndarray:
        return self.actions


def test_an_answer_is_a_copy_of_what_the_policy_keeps() -> None:
    policy = SimplePolicy(np.zeros((2, 1)))
    (answer,) = ask(PolicyRunner(policy, 2), "act", [Asker(0).ask()])
    policy.actions += 1
    assert drawn(answer) == 0.0


# Asking again ----------------------------------------------------------------------------------------------


def test_a_request_asked_again_draws_what_the_stuck_one_drew() -> None:
    asker = Asker(3)
    runner = PolicyRunner(Watching(), 2)
    ask(runner, "act", [asker.ask()])
    request = asker.ask()
    stuck = request.stream.take().standard_normal()
    again = request.again()
    assert again is asker.request
    assert again.stream is not request.stream
    (answer,) = ask(runner, "act", [again])
    assert [stuck, drawn(answer)] == [alone(3, 2)[1]] * 2


def test_a_stream_goes_back_by_one_forward_only() -> None:
    stream = Stream(SimpleNamespace(policy_rng=lambda: np.random.default_rng(0)))  # type: ignore[arg-type]
    first = stream.take().random()
    stream.keep()
    second = stream.take().random()
    stream.rewind()
    stream.rewind()
    assert stream.take().random() == second != first


# Known to be wrong -----------------------------------------------------------------------------------------


def test_a_state_with_too_few_rows_is_the_policys_error_however_many_trials_wait() -> None:
    class Losing(Policy):
        def reset(self, trials: Sequence[Trial]) -> Any:
            return np.zeros((len(trials), 1))

        def act(self, batch: Batch) -> Actions:
            return Actions(np.zeros((len(batch), 1)), np.zeros((2, 1)))

    answers = ask(PolicyRunner(Losing(), 4), "act", [Asker(i).ask() for i in range(2)])
    assert all(a.error is not None for a in answers)


def test_answers_come_in_the_order_of_their_requests() -> None:
    class Forgetful(Watching):
        def reset(self, trials: Sequence[Trial]) -> Any:
            if trials[0].index == 1:
                raise MemoryError("no room")

    answers = ask(PolicyRunner(Forgetful(), 4), "act", [Asker(i).ask() for i in range(3)])
    assert [a.request.trial.index for a in answers] == [0, 1, 2]
