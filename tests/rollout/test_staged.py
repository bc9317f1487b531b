"""Planner and expert in the engine: the parallel run is the serial run, and each stage has a queue of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import ask, task_of
from examining import TOYS, by_key, digests, examination, task
from gymnasium.spaces import Box
from planners import ACTION, Flowing, agent

from proctor import InputError, Trial, config_from_dict, run_evaluation
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import Stage
from proctor.policies.rows import pick_rows, sample_batch
from proctor.policies.stages import stages_of
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner

pytest.importorskip("torch", reason="the extra `torch` is not installed")

N = 5
SEEN, DONE = Box(-1.0, 1.0, (6,), np.float32), Box(-1.0, 1.0, (ACTION,), np.float32)


def examine(folder: Path, agents: list[dict[str, Any]], **keys: Any) -> Any:
    return run_evaluation(config_from_dict(examination(folder, agents=agents, n_trials=N, **keys)))


def two_tasks() -> list[dict[str, Any]]:
    return [task(), {**task(kwargs={"scale": 0.3}), "name": "weak", "wait_steps": 2}]


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    run = examine(tmp_path_factory.mktemp("serial"), [agent("Flowing")], tasks=two_tasks(), num_parallel=1)
    assert all(result.error is None for result in by_key(run).values())
    return digests(run)


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ({"num_parallel": 16}, {}),
        ({"num_parallel": 16, "workers": 2}, {}),
        ({"num_parallel": 16}, {"stages": {"plan": {"max_batch": 1}, "act": {"max_batch": 3}}}),
        ({"num_parallel": 7}, {"max_batch": 64, "stages": {"plan": {"max_wait_s": 0.02}}}),
    ],
    ids=["16 slots", "2 processes", "small batches", "large batches"],
)
def test_the_parallel_run_is_the_serial_run(
    serial: dict[str, str | None], tmp_path: Path, keys: dict[str, Any], options: dict[str, Any]
) -> None:
    run = examine(tmp_path, [agent("Flowing", **options)], tasks=two_tasks(), **keys)
    assert digests(run) == serial


@pytest.mark.parametrize("stage", ["plan", "act"])
def test_changing_one_row_changes_no_other(stage: str) -> None:
    """Of both stages: another observation, another state and another generator in row 2."""
    policy = Flowing()
    trials = [Trial("a", "toy", i, i) for i in range(4)]
    batch = sample_batch(policy, SEEN, trials)
    if stage == "act":
        batch.state = policy.forward("plan", pick_rows(batch, range(4))).state
        batch.tokens, batch.token_mask = batch.tokens[:, -8:], batch.token_mask[:, -8:]
    before = policy.forward(stage, pick_rows(batch, range(4)))
    other = pick_rows(batch, range(4))
    other.observation[2] += 1
    other.rngs[2].random()
    other.state["memory"]["features"][2] += 1
    after = policy.forward(stage, other)
    for row in range(4):
        same = [(before.state[key][row] == after.state[key][row]).all() for key in ("waypoints", "left", "start")]
        if stage == "act":
            pair = before.decisions[row].actions, after.decisions[row].actions
            same.append(pair[0].tobytes() == pair[1].tobytes())
        assert all(same) == (row != 2)


def test_a_stage_has_rows_and_tokens_of_its_own() -> None:
    seen: dict[str, Any] = {}

    class Watching(Flowing):
        def forward(self, stage: str, batch: Any) -> Any:
            seen[stage] = len(batch), batch.tokens.shape, batch.tokens[0, -3:].tolist()
            return super().forward(stage, batch)

    policy = Watching()
    runner = PolicyRunner(policy, 16, stages_of(policy, PolicyOptions()))
    request = Request(None, Trial("a", "toy", 0, 0), task_of("toy", SEEN, DONE), "plan")
    request.show([np.zeros(6, np.float32)])
    for stage in ("plan", "act"):
        (answer,) = ask(runner, stage, [request.ask(1, 0.0)])
        request.state = answer.state
    letters = [ord(letter) for letter in "toy"]
    assert seen == {"plan": (4, (4, 12), letters), "act": (16, (16, 8), letters)}


def test_an_instruction_that_is_too_long_is_the_policys_error(tmp_path: Path) -> None:
    long = {**task(), "name": "a-long-name-of-a-task"}
    run = examine(tmp_path, [agent("Flowing")], tasks=[long, task()])
    for key, result in by_key(run).items():
        says = "ValueError: found 21 tokens; the stage declares LeftPad(12). Declare a greater length, or shorten the"
        assert (result.error or "").startswith(says) == ("/a-long" in key)


def test_an_empty_plan_twice_ends_the_trial_and_no_other(tmp_path: Path) -> None:
    agents = [agent("Scripted", kwargs={"durations": [3], "lengths": [None, 0, 0]}), agent("Flowing")]
    results = by_key(examine(tmp_path, agents))
    scripted = [r for key, r in results.items() if key.startswith("scripted")]
    assert {(r.outcome.value, r.steps_total) for r in scripted} == {("policy_error", 3)}
    assert scripted[0].error == "the planner gave an empty plan, and another when it was asked again"
    assert not any(r.error for key, r in results.items() if key.startswith("flowing"))


def test_a_cycle_without_a_step_takes_the_dummy_action(tmp_path: Path) -> None:
    run = examine(tmp_path, [agent("Scripted", kwargs={"durations": [0]})], max_episode_steps=4)
    for result in by_key(run).values():
        actions = run.episode(result).arrays["actions"]
        assert actions.shape == (4, ACTION)
        assert not actions.any()


def test_the_steps_of_an_episode_are_those_of_its_plans(tmp_path: Path) -> None:
    """Plans of 3 + 2 steps: the actions say how many were left of each leg, and which plan it was."""
    run = examine(tmp_path, [agent("Scripted", kwargs={"horizon": 2})], max_episode_steps=7, num_parallel=3)
    episode = run.episode(max(by_key(run).values(), key=lambda r: r.steps_total))
    assert (100 * episode.arrays["actions"]).round().tolist() == [
        [3, 1], [3, 1], [1, 1], [2, 1], [2, 1], [3, 2], [3, 2],
    ]  # fmt: skip


def test_options_come_before_the_declaration_and_that_before_the_agents_options() -> None:
    options = PolicyOptions.model_validate(
        {"max_wait_s": 0.5, "pad_to": 8, "stages": {"act": {"max_batch": 3, "max_wait_s": 0.0}}}
    )
    declared = (Stage("plan", max_batch=2, max_wait_s=0.1, pad_to=4), Stage("act", max_wait_s=0.2), Stage("look"))
    policy = Flowing()
    policy.stages = declared
    assert stages_of(policy, options) == (
        Stage("plan", 2, 0.1, 4),
        Stage("act", 3, 0.0, 8),
        Stage("look", 8, 0.5, 8),
    )


def test_options_of_a_stage_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"options.stages: found paln; the policy's stages are plan, act"):
        examine(tmp_path, [agent("Flowing", stages={"paln": {"max_batch": 2}})])
    plain = {"name": "linear", "policy": f"{TOYS}:Linear", "options": {"stages": {"plan": {}}}}
    with pytest.raises(InputError, match=r"found plan; the policy's stages are act"):
        examine(tmp_path, [plain])
