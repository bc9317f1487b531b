"""`stop_when`: what it may say, and what is said of anything else."""

from __future__ import annotations

from typing import Any

import pytest

from proctor import ConfigError, config_from_dict


def stop(rule: Any, n_trials: int = 50) -> Any:
    agents = [{"name": "ppo", "policy": "random"}, {"name": "zero", "policy": "zero"}]
    raw = {"agents": agents, "tasks": ["CartPole-v1", "Acrobot-v1"], "n_trials": n_trials, "stop_when": rule}
    return config_from_dict(raw).stop_when


def test_the_maximum_is_filled_in_with_all_planned_trials() -> None:
    assert stop({"compare": ["ppo", "zero"]}).max_trials == 100
    assert stop({"interval_width": 0.1, "max_trials": 20}).max_trials == 20
    assert stop(None) is None
    narrow = stop({"interval_width": 0.1})
    assert stop(narrow.model_dump(mode="json")) == narrow, "a run folder has every key, with its default"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ({}, "stop_when: found neither of compare and interval_width; expected one: compare: [a, b] to settle a "
             "difference, or interval_width: 0.1 to measure each agent's rate"),
        ({"compare": ["ppo", "zero"], "interval_width": 0.1}, "found both of compare and interval_width"),
        ({"compare": ["pp0", "zero"]}, 'stop_when.compare[0]: no agent is named "pp0"; expected some of ppo, zero; did '
                                       'you mean "ppo"?'),
        ({"compare": ["zero", "zero"]}, 'stop_when.compare: "zero" is compared with itself; name different agents'),
        ({"compare": ["ppo"]}, "stop_when.compare: found a list of 1; expected at least 2 entries"),
        ({"compare": [f"a{i}" for i in range(11)]},
         "stop_when.compare: found a list of 11; expected at most 10 entries"),
        ({"compare": ["ppo", "zero"], "on": "reward"}, 'stop_when.on: found "reward"; expected one of success, score'),
        ({"interval_width": 0.1, "on": "score"},
         "stop_when: found on with interval_width; it goes with compare: [a, b]"),
        ({"compare": ["ppo", "zero"], "on": "score", "futility": 0.1},
         "stop_when: spend and futility are for comparisons of success; leave them out with on: score"),
        ({"compare": ["ppo", "zero"], "on": "score", "spend": "even"}, "spend and futility are for comparisons of"),
        ({"compare": ["ppo", "zero"], "futility": 0}, "stop_when.futility: found 0; expected more than 0"),
        ({"compare": "ppo"}, 'stop_when.compare: found "ppo"; expected a list'),
        ({"interval_width": 1}, "stop_when.interval_width: found 1; expected less than 1"),
        ({"interval_width": 0}, "stop_when.interval_width: found 0; expected more than 0"),
        ({"interval_width": 0.1, "alpha": 1}, "stop_when.alpha: found 1; expected less than 1"),
        ({"interval_with": 0.1}, "stop_when.interval_with: unknown key; expected one of alpha, compare, futility, "
                                 'interval_width, max_trials, on, spend; did you mean "interval_width"?'),
        ({"interval_width": 0.1, "max_trials": 101}, "stop_when.max_trials: found 101, but only 100 trials of each "
         "agent are planned over all tasks; raise n_trials, or leave max_trials out"),
        ([], "stop_when: found an empty list; expected a mapping"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(rule: Any, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        stop(rule)
    assert text in str(error.value)


def test_a_comparison_without_end_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"a comparison of up to 20,002 pairs; expected at most 20,000"):
        stop({"compare": ["ppo", "zero"]}, n_trials=10_001)
