"""Chunks of actions: how many are run before the policy is asked again, and the mean of chunks that overlap, each trial
for itself."""

from __future__ import annotations

import ast
import os
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from examining import TOYS, by_key, digests, examination, policy, task
from gymnasium import spaces

from proctor import ConfigError, InputError, config_from_dict, run_evaluation
from proctor.policies.options import PolicyOptions
from proctor.policies.pipeline import Pipeline
from proctor.policies.protocol import Actions, Batch, Policy, SpaceInfo, Stage, StagedPolicy
from proctor.registry import import_file
from proctor.suites import make_env
from proctor.testing import PolicyConformance
from proctor_host.trials import Trial

LEROBOT = os.environ.get("PROCTOR_LEROBOT")
BOX = spaces.Box(-5, 5, (2,))


class Given(Policy):
    """Answers with chunks that were written down: `script[trial][n]` for its n-th question."""

    def __init__(self, script: np.ndarray):
        self.script = script

    def reset(self, trials: Any) -> Any:
        return {"asked": np.zeros(len(trials), np.int64)}

    def act(self, batch: Batch) -> Actions:
        asked = batch.state["asked"]
        chunks = [self.script[trial.index][n] for trial, n in zip(batch.trials, asked, strict=True)]
        return Actions(np.stack(chunks), {"asked": asked + 1})


def around(inner: Any, action: Any = BOX, **options: Any) -> Any:
    info = SpaceInfo({"task": BOX}, {"task": action})
    return Pipeline(PolicyOptions(**options), info, None).around(inner)


def asked(wrapped: Policy, indices: list[int], times: int) -> np.ndarray:
    """What is run of each answer, (times, rows, steps, *action), of trials side by side."""
    trials = [Trial("a", "task", index, index) for index in indices]
    state, answers = wrapped.reset(trials), []
    for _ in range(times):
        batch = Batch(np.zeros((len(trials), 2), np.float32), state, [t.policy_rng() for t in trials], trials)
        answer = wrapped.act(batch)
        assert isinstance(answer, Actions)
        answers.append(np.asarray(answer.actions))
        state = answer.state
    return np.stack(answers)


def as_act_does(chunks: np.ndarray, k: float) -> np.ndarray:
    """ACT's temporal aggregation as its paper has it: all that was said of a step, oldest first, weighted."""
    steps, horizon, *action = chunks.shape
    said = np.full((steps, steps + horizon, *action), np.nan)
    found = []
    for step, chunk in enumerate(chunks):
        said[step, step : step + horizon] = chunk
        here = said[: step + 1, step]
        here = here[~np.isnan(here).any(axis=1)]
        weights = np.exp(-k * np.arange(len(here)))
        found.append((here * (weights / weights.sum())[:, None]).sum(axis=0))
    return np.stack(found)


@pytest.mark.parametrize("k", [0.01, 0.0, 1.5, -0.4])
def test_the_ensemble_is_acts(k: float) -> None:
    script = np.random.default_rng(3).normal(size=(1, 15, 6, 2))
    found = asked(around(Given(script), temporal_ensemble=k), [0], 15)
    assert found.shape == (15, 1, 1, 2)
    np.testing.assert_allclose(found[:, 0, 0], as_act_does(script[0], k), rtol=1e-12)


def test_the_ensemble_by_hand() -> None:
    """Of the third step the first chunk says 3, the second 12, the third 21: with k = ln 2, weights 1, 1/2 and 1/4."""
    chunks = [[1, 2, 3], [11, 12, 13], [21, 22, 23]]
    script = np.array(chunks, np.float64)[None, :, :, None].repeat(2, -1)
    found = asked(around(Given(script), temporal_ensemble=np.log(2.0)), [0], 3)[:, 0, 0, 0]
    np.testing.assert_allclose(found, [1, (2 + 11 / 2) / 1.5, (3 + 12 / 2 + 21 / 4) / 1.75])


def test_weights_too_large_for_a_number_leave_the_oldest_or_the_newest() -> None:
    script = np.random.default_rng(3).normal(size=(1, 30, 30, 2))
    oldest = asked(around(Given(script), temporal_ensemble=100.0), [0], 30)[:, 0, 0]
    newest = asked(around(Given(script), temporal_ensemble=-100.0), [0], 30)[:, 0, 0]
    np.testing.assert_allclose(oldest, script[0, 0])
    np.testing.assert_allclose(newest, script[0, :, 0])


def test_a_trial_has_an_ensemble_of_its_own() -> None:
    script = np.random.default_rng(3).normal(size=(4, 5, 3, 2)).astype(np.float32)
    wrapped = around(Given(script), temporal_ensemble=0.1)
    together = asked(wrapped, [0, 1, 2, 3], 5)
    assert together.dtype == np.float32
    for row in (2, 0):
        np.testing.assert_array_equal(together[:, row : row + 1], asked(wrapped, [row], 5))


def test_one_action_at_a_time_is_its_own_mean_and_a_chunk_of_one() -> None:
    script = np.random.default_rng(3).normal(size=(1, 5, 2))
    np.testing.assert_array_equal(asked(around(Given(script), temporal_ensemble=0.1), [0], 5)[:, 0, 0], script[0])
    np.testing.assert_array_equal(asked(around(Given(script), replan_steps=3), [0], 5)[:, 0, 0], script[0])


def test_replan_steps_runs_the_first_actions_of_a_chunk() -> None:
    script = np.random.default_rng(3).normal(size=(2, 4, 6, 2))
    found = asked(around(Given(script), replan_steps=4), [0, 1], 4)
    np.testing.assert_array_equal(found, script[:, :, :4].swapaxes(0, 1))
    assert asked(around(Given(script), replan_steps=9), [0, 1], 4).shape == (4, 2, 6, 2)


def test_an_ensemble_comes_before_the_scale() -> None:
    """As in ACT and LeRobot, where the mean is taken of what the network says."""
    script = np.random.default_rng(3).normal(size=(1, 4, 3, 2))
    scale = {"scale": 2.0, "offset": 1.0, "clip": [-0.5, 0.5]}
    found = asked(around(Given(script), temporal_ensemble=0.1, action_scale=scale), [0], 4)[:, 0, 0]
    np.testing.assert_allclose(found, 1 + 2 * np.clip(as_act_does(script[0], 0.1), -0.5, 0.5), rtol=1e-6)


class TestEnsembled(PolicyConformance):
    observation_space = BOX
    action_space = BOX

    def make(self) -> Any:
        class Waving(Policy):
            def act(self, batch: Batch) -> np.ndarray:
                return np.sin(batch.observation[:, None] * np.arange(1, 4)[:, None]) + 0.1 * batch.normal((3, 2))

        return around(Waving(), temporal_ensemble=0.05)


# Other people's -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(LEROBOT is None, reason="PROCTOR_LEROBOT names no checkout of LeRobot")
@pytest.mark.parametrize("k", [0.01, 0.0, -0.2])
def test_the_ensemble_is_lerobots(k: float) -> None:
    """Its own class, cut out of its file; it computes in float32, as it is given it."""
    torch = pytest.importorskip("torch")
    file = Path(str(LEROBOT)) / "src" / "lerobot" / "policies" / "act" / "modeling_act.py"
    kinds = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
    names: dict[str, Any] = {"torch": torch, "Tensor": torch.Tensor}
    ensembler = [node for node in kinds if node.name == "ACTTemporalEnsembler"]
    exec(compile(ast.Module(ensembler, []), "LeRobot", "exec"), names)
    theirs = names["ACTTemporalEnsembler"](k, 20)
    script = np.random.default_rng(3).normal(size=(1, 50, 20, 2)).astype(np.float32)
    expected = [theirs.update(torch.from_numpy(chunk[None].copy()))[0].numpy() for chunk in script[0]]
    found = asked(around(Given(script), temporal_ensemble=k), [0], 50)[:, 0, 0]
    np.testing.assert_allclose(found, np.stack(expected), atol=2e-6)


def test_replanning_is_that_of_openpis_broker() -> None:
    pytest.importorskip("tree", reason="openpi-client's broker needs dm-tree")
    broker = pytest.importorskip("openpi_client.action_chunk_broker", reason="openpi-client is not installed")
    script = np.random.default_rng(3).normal(size=(1, 4, 6, 2))
    chunks = iter(script[0])
    inner = types.SimpleNamespace(infer=lambda _: {"actions": next(chunks)})
    theirs = broker.ActionChunkBroker(inner, action_horizon=4)
    expected = [theirs.infer({})["actions"] for _ in range(16)]
    found = asked(around(Given(script), replan_steps=4), [0], 4)
    np.testing.assert_array_equal(found.reshape(16, 2), expected)


# In a run -------------------------------------------------------------------------------------------------------------


def run(folder: Path, **keys: Any) -> Any:
    found = run_evaluation(config_from_dict(examination(folder, **keys)))
    assert all(result.outcome.scored and not result.error for result in by_key(found).values())
    return found


@pytest.mark.parametrize("options", [{"temporal_ensemble": 0.01}, {"replan_steps": 2}])
def test_a_parallel_run_is_the_serial_one(tmp_path: Path, options: dict[str, Any]) -> None:
    agents = [policy("Noisy", **options)]
    serial = digests(run(tmp_path / "serial", agents=agents, num_parallel=1))
    assert digests(run(tmp_path / "parallel", agents=agents, num_parallel=5, workers=2)) == serial
    assert serial != digests(run(tmp_path / "plain", agents=[policy("Noisy")], num_parallel=1))


def test_a_run_is_a_loop_written_by_hand(tmp_path: Path) -> None:
    """A step, a question, the mean of what was said: the actions of the record."""
    found = run(tmp_path, agents=[policy("Noisy", temporal_ensemble=0.2)], n_trials=2)
    noisy, env = import_file(TOYS).Noisy(), make_env("gymnasium", task()["options"], render=False, worlds=1)
    for result in by_key(found).values():
        trial, chunks = result.trial, []
        observation, rng, spare = env.reset(trial.seed, trial.index), trial.policy_rng(), np.random.default_rng(0)
        with np.load(found.path / str(result.npz)) as record:
            for taken in record["actions"]:
                batch = Batch(np.tile(observation, (16, 1)), None, [rng] + [spare] * 15, [trial] * 16)
                chunks.append(noisy.act(batch)[0])
                action = as_act_does(np.stack(chunks), 0.2)[-1]
                np.testing.assert_allclose(taken, action, rtol=1e-6)
                observation = env.step(taken).observation
    env.close()


# What cannot be -------------------------------------------------------------------------------------------------------


def test_a_mean_of_choices_is_none() -> None:
    with pytest.raises(InputError, match=r"takes the mean of actions; task \"task\" has Discrete\(3\)"):
        around(Given(np.zeros((1, 1, 2))), action=spaces.Discrete(3), temporal_ensemble=0.1)


def test_a_plan_says_itself_how_long_its_chunks_are_run() -> None:
    class Planner(StagedPolicy):
        stages = (Stage("plan"), Stage("expert"))

        def forward(self, stage: str, batch: Batch) -> Any:
            raise NotImplementedError

    with pytest.raises(InputError, match="for policies of one stage; Planner has stages plan, expert, which say them"):
        around(Planner(), replan_steps=2)


def test_an_ensemble_asks_in_every_step() -> None:
    with pytest.raises(ConfigError, match="temporal_ensemble asks in every step, and replan_steps is 3; leave one of"):
        config_from_dict({"agents": [policy("Noisy", temporal_ensemble=0.1, replan_steps=3)], "tasks": [task()]})
