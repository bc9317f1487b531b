"""Where work is done is chosen by measurement, and changes no byte."""

from __future__ import annotations

import time

import pytest
from examining import digests, examination, policy, task
from own_envs import UnevenSlope, pull_rows

from proctor import config_from_dict, evaluate, run_evaluation
from proctor.policies.protocol import Policy
from proctor.rollout import placing
from proctor.rollout.crew import devices_of
from proctor.rollout.placing import choose_workers

CARTPOLE = {"suite": "gymnasium", "options": {"id": "CartPole-v1"}}


def config(tmp_path, **keys):
    keys = {"workers": "auto", "agents": [{"name": "random", "policy": "random"}], "tasks": [CARTPOLE], **keys}
    return config_from_dict(examination(tmp_path, **keys))


def chosen(cfg, trials=5, first=True):
    pending = [(cfg.agents[0].name, task.name, i) for task in cfg.tasks for i in range(trials)]
    found = choose_workers(cfg, pending, first=first)
    return found.workers.kind, found.why


def placement(run):
    return run.environment().current["placement"]


def test_a_short_run_of_harmless_environments_starts_no_process(tmp_path):
    run = run_evaluation(config(tmp_path, n_trials=2, max_episode_steps=20))
    assert placement(run)["workers"] == "inline"
    assert "all steps take 0.0 s at most" in placement(run)["why"]
    assert run.plain_config().workers.kind == "auto"


def test_a_long_run_a_stranger_and_a_second_session_get_processes(tmp_path):
    cfg = config(tmp_path)
    assert chosen(cfg)[0] == "inline"
    assert chosen(cfg, trials=1_000_000)[0] == "process"
    assert chosen(cfg, first=False) == ("process", "the run goes on after an earlier session")
    assert chosen(config(tmp_path, tasks=[task()])) == ("process", "toy is not known to be harmless")
    wrapped = {"options": {**CARTPOLE["options"], "wrappers": ["gymnasium.wrappers:ClipReward"]}, "suite": "gymnasium"}
    assert chosen(config(tmp_path, tasks=[wrapped]))[0] == "process"
    assert chosen(config(tmp_path, workers={"count": 3})) == ("process", "3 workers, as the config says")
    assert chosen(config(tmp_path, workers="inline")) == ("inline", "as the config says")


def test_an_environment_is_stepped_however_long_its_reset_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(placing, "LOOK_S", 0.0)
    assert chosen(config(tmp_path))[0] == "inline"


@pytest.fixture
def eager(monkeypatch):
    """Agents move as soon as they have been asked at all."""
    monkeypatch.setattr(placing, "ENOUGH", 1)
    monkeypatch.setattr(placing, "WAY_S", 100.0)
    monkeypatch.setattr(placing, "HERE_S", 100.0)


@pytest.mark.parametrize("workers", ["auto", 2])
def test_an_agent_that_moves_to_the_workers_changes_no_byte(tmp_path, monkeypatch, eager, workers):
    monkeypatch.setattr("proctor.rollout.engine.WATCH_S", 0.0)
    monkeypatch.setattr(placing, "_harmless", lambda task: True)
    monkeypatch.setattr(placing, "SHORT_RUN_S", 1000.0)  # whatever a step takes on a busy machine
    agents = [policy("Linear"), policy("Noisy")]
    stays = [{**agent, "options": {**agent["options"], "placement": "engine"}} for agent in agents]
    keys = {"n_trials": 12, "num_parallel": 2, "workers": workers}
    moving = run_evaluation(config_from_dict(examination(tmp_path, agents=agents, **keys)))
    staying = run_evaluation(config_from_dict(examination(tmp_path, agents=stays, **keys)))
    assert set(placement(moving)["moved"]) == {"linear", "noisy"}
    assert placement(moving)["moved"]["linear"]["after_trials"] < 12
    assert placement(staying)["moved"] == {}
    assert digests(moving) == digests(staying)
    assert placement(moving)["workers"] == ("inline" if workers == "auto" else "process")
    if workers != "auto":
        assert "is asked in the workers from now on" in (moving.path / "run.log").read_text()


def test_slow_forwards_go_to_the_engine(tmp_path, monkeypatch):
    monkeypatch.setattr(placing, "HERE_S", 0.0)
    monkeypatch.setattr(placing, "SHORT_RUN_S", 1000.0)
    monkeypatch.setattr(placing, "_harmless", lambda task: True)
    monkeypatch.setattr("proctor.rollout.engine.WATCH_S", 0.0)
    monkeypatch.setattr("proctor.rollout.worker.TELL_S", 0.0)
    keys = {"agents": [policy("Linear")], "n_trials": 12, "num_parallel": 2, "workers": "auto"}
    run = run_evaluation(config_from_dict(examination(tmp_path, **keys)))
    assert placement(run)["moved"] == {}
    assert "is asked by the engine from now on" in (run.path / "run.log").read_text()
    monkeypatch.setattr(placing, "HERE_S", 100.0)
    assert digests(run) == digests(run_evaluation(config_from_dict(examination(tmp_path, **keys))))


def test_plain_policies_begin_with_the_engine():
    assert Policy.placement == "engine"


def napping(observations):
    """Reads its rows only after others had time to write theirs."""
    time.sleep(0.004)
    return pull_rows(observations)


def test_a_lane_and_a_worker_of_this_process_share_a_policy_one_at_a_time(tmp_path, monkeypatch):
    """Forwards of milliseconds go to the engine, while the first trials are still asked in the worker."""
    monkeypatch.setattr("proctor.rollout.engine.WATCH_S", 0.0)
    monkeypatch.setattr("proctor.rollout.worker.TELL_S", 0.0)
    keys = {"n": 10, "num_parallel": 3, "out": tmp_path, "progress": False, "workers": "inline"}
    mixed = evaluate({"pull": napping}, {"slope": UnevenSlope}, **keys)
    assert "is asked by the engine from now on" in (mixed.path / "run.log").read_text()
    assert digests(mixed) == digests(evaluate({"pull": pull_rows}, {"slope": UnevenSlope}, **keys))


@pytest.mark.parametrize(
    ("devices", "workers"),
    [(["cuda"], 1), (["cuda", "cuda:0"], 1), (["cuda:0", "cuda:1"], 2), (["cuda", "cpu"], None), (["cpu"], None)],
)
def test_one_worker_keeps_a_gpu_busy(tmp_path, devices, workers):
    def given(device, i):
        physics = "cpu" if device == "cpu" else "warp"
        options = {"motions": "procedural:wave", "physics": physics, "device": device}
        return {"suite": "tracking", "name": f"t{i}", "options": options}

    tasks = [given(device, i) for i, device in enumerate(devices)]
    cfg = config(tmp_path, tasks=tasks)
    assert devices_of(cfg, [task["name"] for task in tasks]) == workers
