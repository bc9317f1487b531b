from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import DictLogger, EvaluationCallback, Practice
from proctor.errors import InputError
from proctor.training.callback import EveryNSteps


def evaluated_steps(schedule, steps):
    done = []
    for step in steps:
        if schedule.check(step):
            schedule.mark(step)
            done.append(step)
    return done


def test_the_first_step_and_every_multiple():
    assert evaluated_steps(EveryNSteps(10), range(35)) == [0, 10, 20, 30]
    assert evaluated_steps(EveryNSteps(10, start=7), range(7, 35)) == [7, 10, 20, 30]


def test_steps_that_jump_over_multiples():
    assert evaluated_steps(EveryNSteps(10), range(0, 60, 7)) == [0, 14, 21, 35, 42, 56]


@given(st.integers(1, 50), st.integers(1, 30), st.integers(0, 40))
def test_a_resumed_run_evaluates_where_an_undisturbed_one_does(every, stride, stop):
    steps = list(range(0, 40 * stride, stride))
    whole = evaluated_steps(EveryNSteps(every), steps)
    first = EveryNSteps(every)
    before = evaluated_steps(first, steps[:stop])
    second = EveryNSteps(every, start=steps[stop] if stop < len(steps) else steps[-1])
    second.load_state_dict(first.state_dict(), evaluate_on_resume=False)
    assert before + evaluated_steps(second, steps[stop:]) == whole
    third = EveryNSteps(every)
    third.load_state_dict(first.state_dict())
    resumed = evaluated_steps(third, steps[stop:])
    assert set(resumed) | set(before) == set(whole) | set(steps[stop : stop + 1])


def test_looking_ahead_changes_nothing():
    schedule = EveryNSteps(10)
    schedule.mark(0)
    assert [schedule.check(10), schedule.check(10), schedule.check(5)] == [True, True, False]


def test_bad_steps_are_refused():
    with pytest.raises(InputError, match="every 0 steps; expected at least 1"):
        EveryNSteps(0)
    schedule = EveryNSteps(10)
    schedule.mark(20)
    with pytest.raises(InputError, match="step 10 comes after step 20"):
        schedule.mark(10)


class Evaluation:
    """Measures how often it was asked."""

    def __init__(self, name="tracking", buffer=False, breaks=False):
        self.cfg = SimpleNamespace(name_in_logs=name, requires_replay_buffer=lambda: buffer)
        self.runs, self.breaks = [], breaks

    def run(self, *, timestep, agent_or_model, logger=None, env=None, **kwargs):
        if self.breaks:
            raise RuntimeError("diverged")
        self.runs.append((timestep, env, kwargs))
        metrics = {"walk": {"emd": 0.5}, "kick": {"emd": 2.0}}
        log = {"emd": 1.25, "emd#std": 0.75}
        if logger is not None:
            logger.log({f"eval/{self.cfg.name_in_logs}/{key}": value for key, value in log.items()}, timestep)
        return metrics, log


class Library:
    names = ("walk", "kick")
    weights = np.ones(2)

    def update_sampling_weights(self, weights):
        self.weights = weights


def loop(callback, steps, stride, env=None):
    """A training loop in small: what it truncates, where it resets."""
    truncated, reset = [], []
    for step in range(0, steps, stride):
        advice = callback(step, "agent", next_step=step + stride, env=env)
        if advice.reset_environment:
            reset.append(step)
        if advice.truncate:
            truncated.append(step)
    return truncated, reset


def test_the_step_before_an_evaluation_is_truncated_and_the_environment_reset_after_it():
    evaluation = Evaluation()
    truncated, reset = loop(EvaluationCallback([evaluation], 12), 40, 4, env="env")
    assert [run[0] for run in evaluation.runs] == [0, 12, 24, 36]
    assert reset == [0, 12, 24, 36]
    assert truncated == [8, 20, 32]


def test_an_evaluation_after_every_step():
    truncated, reset = loop(EvaluationCallback([Evaluation()], 4), 16, 4, env="env")
    assert reset == truncated == [0, 4, 8, 12]


def test_an_environment_that_is_not_lent_is_left_alone():
    assert loop(EvaluationCallback([Evaluation()], 12), 40, 4) == ([], [])


def test_what_was_measured_is_logged_and_practised():
    logger, library = DictLogger(), Library()
    callback = EvaluationCallback([Evaluation()], 10, logger=logger, practice=Practice(library=library))
    advice = callback(0, "agent", next_step=1)
    assert advice.evaluated
    assert advice.logs["tracking"]["emd"] == 1.25
    assert logger.series("eval/tracking/emd#std") == {0: 0.75}
    np.testing.assert_array_equal(library.weights, [2.0, 16.0])
    assert advice.curriculum.weights == {"walk": 2.0, "kick": 16.0}
    assert not callback(1, "agent", next_step=2).evaluated


def test_a_replay_buffer_goes_to_who_needs_it():
    rewards, tracking = Evaluation("rewards", buffer=True), Evaluation()
    EvaluationCallback([rewards, tracking], 10)(0, "agent", next_step=1, replay_buffer="buffer")
    assert rewards.runs[0][2] == {"replay_buffer": "buffer"}
    assert tracking.runs[0][2] == {}


def test_an_evaluation_that_fails_stays_due():
    evaluation = Evaluation(breaks=True)
    callback = EvaluationCallback([evaluation], 10)
    with pytest.raises(RuntimeError, match="diverged"):
        callback(0, "agent", next_step=1)
    evaluation.breaks = False
    assert callback(1, "agent", next_step=2).evaluated


def test_state_survives_a_resume():
    first = EvaluationCallback([Evaluation()], 10)
    first(12, "agent", next_step=13)
    second = EvaluationCallback([Evaluation()], 10, start=15)
    second.load_state_dict(first.state_dict(), evaluate_on_resume=False)
    assert not second(15, "agent", next_step=16).evaluated
    assert second(20, "agent", next_step=21).evaluated
    third = EvaluationCallback([Evaluation()], 10, start=15)
    third.load_state_dict(first.state_dict())
    assert third(15, "agent", next_step=16).evaluated


def test_names_must_differ_and_exist():
    with pytest.raises(InputError, match=r"two evaluations have one name_in_logs \(tracking, tracking\)"):
        EvaluationCallback([Evaluation(), Evaluation()], 10)
    with pytest.raises(InputError, match='reads the evaluation "rewards"; there is tracking'):
        EvaluationCallback([Evaluation()], 10, practice=Practice(evaluation="rewards"))


@pytest.mark.parametrize("breaks", [False, True])
def test_what_evaluations_take_of_the_time_is_counted(monkeypatch, breaks):
    now = [0.0]
    monkeypatch.setattr("proctor.training.callback.time.monotonic", lambda: now[0])

    class Slow(Evaluation):
        def run(self, **keys):
            now[0] += 3.0
            return super().run(**keys)

    callback = EvaluationCallback([Slow(breaks=breaks)], eval_every_steps=10)
    assert callback.share == 0.0
    with pytest.raises(RuntimeError) if breaks else nullcontext():
        callback(0, "agent", next_step=1)
    now[0] += 9.0
    assert callback.seconds == 3.0
    assert callback.share == 0.25
