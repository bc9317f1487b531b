"""The short form of a benchmark, written out."""

from __future__ import annotations

import pytest

from proctor.suites.endovascular.benchmark_form import expand, is_benchmark_form

SHORT = {
    "name": "arch",
    "agents": [{"name": "a", "tool": "micro", "checkpoint": "a.zip"}, {"name": "b", "policy": "random"}],
    "n_trials": 3,
    "policy_device": "cuda",
    "use_non_mp_sim": True,
    "anatomy": {"type": "aortic_arch", "arch_type": "II", "seed": 3, "target_branches": ["lcca"]},
    "scoring": {"mode": "default_v1"},
}


def test_only_an_anatomy_without_tasks_is_the_short_form() -> None:
    assert is_benchmark_form(SHORT)
    assert not is_benchmark_form({**SHORT, "tasks": []})
    assert not is_benchmark_form({"agents": []})


def test_everything_is_carried_over() -> None:
    normal = expand(SHORT, lambda: False)
    assert normal == {
        "name": "arch",
        "agents": [
            {"device": "cuda", "name": "a", "tool": "micro", "checkpoint": "a.zip"},
            {"device": "cuda", "name": "b", "policy": "random"},
        ],
        "n_trials": 3,
        "base_seed": 123,
        "max_episode_steps": 1000,
        "scoring": {"mode": "default_v1"},
        "tasks": [{"suite": "endovascular", "options": {"anatomy": SHORT["anatomy"]}}],
    }
    assert SHORT["agents"][0] == {"name": "a", "tool": "micro", "checkpoint": "a.zip"}


@pytest.mark.parametrize(
    ("simulator", "there", "suite"),
    [
        ("auto", True, "steve"),
        ("auto", False, "endovascular"),
        ("sofa", False, "steve"),
        ("embedded", True, "endovascular"),
    ],
)
def test_the_simulator_decides_the_suite(simulator: str, there: bool, suite: str) -> None:
    assert expand({**SHORT, "simulator": simulator}, lambda: there)["tasks"][0]["suite"] == suite


def test_an_unknown_simulator_is_refused() -> None:
    with pytest.raises(ValueError, match="simulator: found 'gazebo'; expected one of auto, sofa, embedded"):
        expand({**SHORT, "simulator": "gazebo"})


def test_the_navigator_gets_what_it_needs() -> None:
    agent = {"name": "nav", "policy": "proctor.suites.endovascular.agents:Navigator"}
    assert expand({**SHORT, "agents": [agent]}, lambda: False)["tasks"][0]["options"]["privileged"] is True


def test_what_is_not_of_the_form_is_left_for_validation() -> None:
    normal = expand({"anatomy": 3, "agents": "all", "spede": 1}, lambda: False)
    assert normal["agents"] == "all"
    assert normal["spede"] == 1
    assert normal["tasks"] == [{"suite": "endovascular", "options": {"anatomy": 3}}]
