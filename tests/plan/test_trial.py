"""A trial's generator is a function of its seed and its task."""

from __future__ import annotations

import numpy as np

from proctor_host.trials import Trial


def draws(trial: Trial) -> list[float]:
    return trial.policy_rng().random(4).tolist()


def test_the_generator_is_the_same_every_time_and_for_every_agent() -> None:
    assert draws(Trial("a", "t", 0, 5)) == draws(Trial("a", "t", 0, 5)) == draws(Trial("b", "t", 3, 5))


def test_other_seeds_and_tasks_and_the_environment_draw_otherwise() -> None:
    streams = [draws(Trial("a", t, 0, s)) for t in ("t", "u") for s in (5, 6)]
    streams.append(np.random.default_rng(5).random(4).tolist())
    assert len({tuple(s) for s in streams}) == len(streams)


def test_keys_sort_like_trials() -> None:
    assert Trial("a", "t", 7, 130).key == "a/t/0007"
    assert sorted(Trial("a", "t", i, i).key for i in (10, 9, 100)) == ["a/t/0009", "a/t/0010", "a/t/0100"]
