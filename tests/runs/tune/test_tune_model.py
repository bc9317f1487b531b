"""From costs to a rate: laws of the model, and proposals for machines and policies that everybody knows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.runs.tune import Costs, Settings, predict
from proctor.runs.tune.model import propose

FLAT = {1: 0.02, 16: 0.02, 256: 0.02}
"""A policy that takes 20 ms, whatever the batch."""
seconds = st.floats(1e-6, 1.0)
COSTS = st.builds(
    Costs,
    env_s=seconds,
    forwards=st.fixed_dictionaries({1: seconds, 8: seconds, 64: seconds}),
    horizon=st.floats(1, 32),
    engine_s=seconds,
    transfer_s=seconds,
    message_s=seconds,
    cores=st.integers(1, 16),
    policy_on_cores=st.booleans(),
)


def test_a_forward_between_measured_sizes_lies_on_the_line() -> None:
    costs = Costs(0.001, {2: 0.1, 4: 0.3, 8: 0.4})
    assert [costs.forward_s(n) for n in (1, 2, 3, 4, 6, 8, 16)] == pytest.approx([0.1, 0.1, 0.2, 0.3, 0.35, 0.4, 0.8])


def test_hand_computed() -> None:
    """16 slots, a 20 ms forward, 10 ms steps on 4 workers: the workers do 400 steps/s, the slots 16 / 30 ms = 533."""
    costs = Costs(0.01, FLAT, cores=8, policy_on_cores=False)
    assert predict(costs, Settings(4, 16, 16)) == (pytest.approx(400), "the workers")
    assert predict(costs, Settings(8, 16, 16)) == (pytest.approx(16 / 0.03), "the slots")
    assert predict(costs, Settings(8, 64, 1)) == (pytest.approx(50), "the policy")
    assert predict(replace(costs, horizon=4), Settings(8, 64, 1)) == (pytest.approx(200), "the policy")
    assert predict(costs, Settings(0, 4, 4)) == (pytest.approx(1 / (0.01 + 0.02 / 4)), "the one thread")


@given(COSTS, st.integers(1, 16), st.integers(1, 64))
def test_more_workers_or_a_quicker_environment_never_slow_a_run(costs: Costs, workers: int, slots: int) -> None:
    rate = predict(costs, Settings(workers, slots, slots))[0]
    assert predict(costs, Settings(workers + 1, slots, slots))[0] >= rate
    assert predict(replace(costs, env_s=costs.env_s / 2), Settings(workers, slots, slots))[0] >= rate


@given(COSTS)
def test_candidates_are_near_the_best_of_their_kind(costs: Costs) -> None:
    process, inline = (predict(costs, settings)[0] for settings in propose(costs, 16, most_slots=32))
    for slots in (1, 2, 4, 8, 16, 32):
        batch = 32 if slots > 16 else 16
        assert inline >= 0.95 * predict(costs, Settings(0, slots, batch))[0] - 1e-9
        for workers in range(1, costs.cores + 1):
            if 4 * workers <= slots:
                assert process >= 0.95 * predict(costs, Settings(workers, slots, batch))[0] - 1e-9


def test_a_slow_policy_gets_many_slots() -> None:
    costs = Costs(0.001, FLAT, transfer_s=0.0005, cores=4, policy_on_cores=False)
    found, _ = propose(costs, pad_to=None)
    assert found.num_parallel >= 64
    assert found.max_batch == found.num_parallel
    assert found.max_wait_s == 0.02


@pytest.mark.parametrize(("forward", "wait"), [(0.0001, None), (0.004, 0.004), (3.0, 0.05)])
def test_a_request_waits_about_as_long_as_a_forward_takes(forward, wait) -> None:
    costs = Costs(0.01, {1: forward, 256: forward}, cores=2)
    assert {settings.max_wait_s for settings in propose(costs, 16)} == {wait}


def test_a_slow_environment_gets_every_core() -> None:
    costs = Costs(0.05, {1: 1e-4, 16: 1e-4}, transfer_s=1e-3, cores=8)
    process, inline = propose(costs, 16)
    assert process.workers == 8
    assert predict(costs, process)[0] > 7 * predict(costs, inline)[0]


def test_where_both_are_tiny_nothing_should_cross_a_border() -> None:
    costs = Costs(1e-6, {1: 2e-5, 16: 2e-5, 128: 1e-4}, engine_s=2e-5, transfer_s=1e-3, message_s=2e-4, cores=2)
    process, inline = propose(costs, 16)
    assert predict(costs, inline)[0] > predict(costs, process)[0]


@pytest.mark.parametrize(("pad_to", "expected"), [(16, 64), (48, 96), (None, 64)])
def test_batches_are_whole_blocks(pad_to, expected) -> None:
    costs = Costs(0.0001, {1: 0.1, 128: 0.1}, cores=2, policy_on_cores=False)
    for found in propose(costs, pad_to, most_slots=64):
        assert (found.num_parallel, found.max_batch) == (64, expected)


def test_few_slots_still_have_candidates() -> None:
    costs = Costs(0.01, FLAT, cores=8)
    assert [settings.num_parallel for settings in propose(costs, 16, most_slots=1)] == [1, 1]
