"""Zips of sb3-contrib act as the genuine `predict` does, rebuilt without unpickling."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import load_policy
from proctor.policies.plain import as_policy
from proctor.policies.protocol import Actions, Batch, SpaceInfo
from proctor.policies.rows import sample_batch
from proctor.testing import LoaderConformance
from proctor_host.trials import Trial

torch = pytest.importorskip("torch")
contrib = pytest.importorskip("sb3_contrib")

BOX = spaces.Box(-1, 1, (3,))
IMAGE = spaces.Box(0, 255, (36, 36, 3), np.uint8)
PUSH = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 5], np.float32))
TRIALS = [Trial("a", "task", i, i) for i in range(16)]
TINY = {"net_arch": [8]}
LSTM = {"net_arch": [8], "lstm_hidden_size": 8}
CASES = {
    "trpo": ("TRPO", "MlpPolicy", BOX, PUSH, TINY),
    "tqc": ("TQC", "MlpPolicy", BOX, PUSH, {**TINY, "n_quantiles": 5}),
    "qrdqn": ("QRDQN", "MlpPolicy", BOX, spaces.Discrete(3), {**TINY, "n_quantiles": 7}),
    "qrdqn_image": ("QRDQN", "CnnPolicy", IMAGE, spaces.Discrete(3), {"n_quantiles": 7}),
    "crossq": ("CrossQ", "MlpPolicy", BOX, PUSH, TINY),
    "ars": ("ARS", "MlpPolicy", BOX, PUSH, TINY),
    "ars_linear": ("ARS", "LinearPolicy", BOX, spaces.Discrete(3), {}),
    "maskable": ("MaskablePPO", "MlpPolicy", BOX, spaces.Discrete(3), TINY),
}
RECURRENT = {
    "recurrent": (BOX, spaces.Discrete(3), LSTM),
    "recurrent_box": (BOX, PUSH, {**LSTM, "n_lstm_layers": 2}),
    "recurrent_shared": (BOX, PUSH, {**LSTM, "shared_lstm": True, "enable_critic_lstm": False}),
}


class Toy(gymnasium.Env):
    def __init__(self, observation, action):
        self.observation_space, self.action_space = observation, action

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.5, False, True, {}

    def action_masks(self):
        return np.ones(self.action_space.n, bool)


def made(name, kind, observation, action, policy_kwargs):
    more = {"buffer_size": 4} if name in ("TQC", "QRDQN", "CrossQ") else {}
    model = getattr(contrib, name)(kind, Toy(observation, action), policy_kwargs=dict(policy_kwargs), seed=3, **more)
    with torch.no_grad():  # trained weights differ from the first ones, which may be zero
        generator = torch.Generator().manual_seed(0)
        for weight in model.policy.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return model


def loaded(folder, observation, action, **options):
    agent = AgentCfg(name="a", policy="sb3", checkpoint="m.zip", options=options)
    return load_policy(agent, SpaceInfo({"task": observation}, {"task": action}), folder)


@pytest.mark.parametrize("case", CASES)
def test_it_acts_as_the_genuine_model(case, tmp_path):
    name, kind, observation, action, policy_kwargs = CASES[case]
    model = made(name, kind, observation, action, policy_kwargs)
    model.save(tmp_path / "m.zip")
    policy = loaded(tmp_path, observation, action)
    batch = sample_batch(policy, observation, TRIALS)
    assert np.array_equal(policy.act(batch), model.predict(batch.observation, deterministic=True)[0])
    if case in ("tqc", "ars_linear", "trpo"):
        trusted = loaded(tmp_path, observation, action, trust=True)
        assert np.array_equal(trusted.act(batch), policy.act(batch))


@pytest.mark.parametrize("case", RECURRENT)
@pytest.mark.parametrize("rows", [1, 16])
def test_the_memory_of_recurrent_ppo_is_the_trials_own(case, rows, tmp_path):
    """As the genuine loop with `state` and `episode_start`, step by step; rows change places on the way."""
    observation, action, policy_kwargs = RECURRENT[case]
    model = made("RecurrentPPO", "MlpLstmPolicy", observation, action, policy_kwargs)
    model.save(tmp_path / "m.zip")
    policy, rng = loaded(tmp_path, observation, action), np.random.default_rng(2)
    trials = [Trial("a", "task", i, i) for i in range(rows)]
    state, genuine, starts = policy.reset(trials), None, np.ones(rows, bool)
    order = np.roll(np.arange(rows), 1)
    for _ in range(5):
        seen = rng.uniform(-1, 1, (rows, 3)).astype(np.float32)
        expected, genuine = model.predict(seen, genuine, starts, deterministic=True)
        starts = np.zeros(rows, bool)
        moved = Batch(seen[order], tuple(part[order] for part in state), [None] * rows, trials)
        answer = policy.act(moved)
        assert isinstance(answer, Actions)
        assert np.array_equal(answer.actions[np.argsort(order)], expected)
        state = tuple(part[np.argsort(order)] for part in answer.state)
    assert not np.array_equal(state[0], policy.reset(trials)[0])


def test_a_recurrent_model_in_memory_remembers_too():
    model = made("RecurrentPPO", "MlpLstmPolicy", BOX, PUSH, LSTM)
    policy = as_policy(model)
    assert [part.shape for part in policy.reset([Trial("a", "t", 0, 0)])] == [(1, 1, 8), (1, 1, 8)]


def test_masks_come_with_the_observation(tmp_path):
    model = made("MaskablePPO", "MlpPolicy", BOX, spaces.Discrete(3), TINY)
    model.save(tmp_path / "m.zip")
    handed = spaces.Dict({"observation": BOX, "info": spaces.Dict({"action_mask": spaces.Box(0, 1, (3,), np.int8)})})
    policy = loaded(tmp_path, handed, spaces.Discrete(3), action_mask="info.action_mask")
    rng = np.random.default_rng(5)
    seen, masks = rng.uniform(-1, 1, (16, 3)).astype(np.float32), np.eye(3, dtype=np.int8)[rng.integers(0, 3, 16)]
    trials = [Trial("a", "task", i, i) for i in range(16)]
    actions = policy.act(Batch({"observation": seen, "info": {"action_mask": masks}}, None, [None] * 16, trials))
    assert np.array_equal(actions, masks.argmax(1))
    assert not np.array_equal(actions, model.predict(seen, deterministic=True)[0])
    with pytest.raises(
        InputError, match=r'the observation of task "task" has no "info.action_mask" .* info: \[action_mask\]'
    ):
        loaded(tmp_path, BOX, spaces.Discrete(3), action_mask="info.action_mask")


@pytest.mark.parametrize("case", ["tqc", "qrdqn", "trpo", "crossq", "recurrent"])
def test_samples_come_from_the_trials_own_generators(case, tmp_path):
    given = CASES[case] if case in CASES else ("RecurrentPPO", "MlpLstmPolicy", *RECURRENT[case])
    made(*given).save(tmp_path / "m.zip")
    policy = loaded(tmp_path, given[2], given[3], deterministic=False)
    answers = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        batch = sample_batch(policy, given[2], TRIALS)
        answer = policy.act(batch)
        answers.append(answer.actions if isinstance(answer, Actions) else answer)
    assert np.array_equal(*answers)


class TestRecurrentLaws(LoaderConformance):
    observation_space = BOX
    action_space = PUSH
    checkpoint = ""

    @pytest.fixture(autouse=True)
    def _saved(self, tmp_path):
        made("RecurrentPPO", "MlpLstmPolicy", BOX, PUSH, LSTM).save(tmp_path / "m.zip")
        self.checkpoint = str(tmp_path / "m.zip")

    def make_loader(self):
        from proctor.policies.from_sb3 import Sb3Loader

        return Sb3Loader()
