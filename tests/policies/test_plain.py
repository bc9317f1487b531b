"""Functions, models and objects as policies: one by one equals batched, nothing is shared between trials."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from asking import ask, task_of
from gymnasium import spaces

from proctor import Batch, InputError, Policy, SpaceInfo
from proctor.policies.plain import as_policy
from proctor.policies.rows import row_dependence
from proctor.rollout.ask.requests import Request
from proctor.rollout.ask.runner import PolicyRunner
from proctor_host.trials import Trial

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)


def one(obs):
    assert obs.shape == (3,)
    return obs[:1] * 2


def many(observations):
    assert observations.shape == (4, 3)
    return observations[:, :1] * 2


class Counter:
    """Answers how often it has been asked since its reset."""

    def __init__(self, step=1.0):
        self.step = step

    def reset(self):
        self.count = 0.0

    def act(self, observation):
        self.count += self.step
        return np.array([self.count])


def test_one_by_one_equals_batched(make_batch):
    batch = make_batch(ROWS)
    expected = ROWS[:, :1] * 2
    for found, batched in ((one, None), (many, None), (lambda o: many(o), True), (lambda batch: many(batch), None)):
        policy = as_policy(found, batched=batched)
        assert isinstance(policy, Policy)
        np.testing.assert_array_equal(policy.act(batch), expected)


def test_a_function_annotated_with_batch_is_given_the_batch(make_batch):
    def whole(rows: Batch):
        return rows.observation[:, :1] * len(rows)

    np.testing.assert_array_equal(as_policy(whole).act(make_batch(ROWS)), ROWS[:, :1] * 4)


def test_randomness_comes_from_the_trials_own_generator(make_batch):
    def noisy(obs, rng, trial):
        return rng.random(1) + trial.index

    def noisy_rows(observations, rngs, trials):
        return np.stack([rng.random(1) + trial.index for rng, trial in zip(rngs, trials, strict=True)])

    first, again = (as_policy(noisy).act(make_batch(ROWS)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, as_policy(noisy_rows).act(make_batch(ROWS)))
    assert len(np.unique(first % 1)) == 4


def test_dict_and_scalar_observations_come_as_the_environment_gives_them(make_batch):
    told = []
    as_policy(lambda obs: told.append(obs) or 0).act(make_batch({"a": ROWS, "n": np.array([3, 1, 2, 0])}))
    np.testing.assert_array_equal(told[1]["a"], ROWS[1])
    assert {3: "three"}[told[0]["n"]] == "three"


def test_what_a_function_keeps_is_its_own(make_batch):
    kept, rows = [], ROWS.copy()
    as_policy(lambda obs: kept.append(obs) or obs[:1]).act(make_batch(rows))
    rows[:] = -1
    np.testing.assert_array_equal(kept[0], ROWS[0])


@pytest.mark.parametrize("method", ["select_action", "predict", "act"])
def test_objects_are_asked_by_their_method(make_batch, method):
    model = type("Model", (), {method: lambda self, obs: obs[:1] * 2})()
    np.testing.assert_array_equal(as_policy(model).act(make_batch(ROWS)), ROWS[:, :1] * 2)


def test_a_method_can_be_named_and_partials_and_callables_work(make_batch):
    class Model:
        def best(self, obs):
            return obs[:1]

        def __call__(self, obs, scale=2.0):
            return obs[:1] * scale

    for found, method, scale in (
        (Model(), "best", 1),
        (Model(), None, 2),
        (functools.partial(Model(), scale=3), None, 3),
    ):
        np.testing.assert_array_equal(as_policy(found, method=method).act(make_batch(ROWS)), ROWS[:, :1] * scale)


def test_predict_is_asked_to_be_deterministic_and_its_state_is_refused(make_batch):
    class Model:
        state = None

        def predict(self, observation, state=None, deterministic=False):
            assert deterministic
            return observation[:1], self.state

    np.testing.assert_array_equal(as_policy(Model()).act(make_batch(ROWS)), ROWS[:, :1])
    Model.state = np.zeros(3)
    with pytest.raises(TypeError, match=r"predict returned a state beside the action, .* Keep the state in an object"):
        as_policy(Model()).act(make_batch(ROWS))


def test_none_beside_the_action_is_no_part_of_it(make_batch):
    np.testing.assert_array_equal(as_policy(lambda obs: (obs[:1], None)).act(make_batch(ROWS)), ROWS[:, :1])
    np.testing.assert_array_equal(as_policy(lambda obs: (obs[0], obs[1])).act(make_batch(ROWS)), ROWS[:, :2])


def test_a_factory_of_a_model_makes_one_for_all_trials(make_batch):
    torch = pytest.importorskip("torch")
    made = []

    def factory():
        made.append(torch.nn.Linear(3, 2))
        return made[-1]

    policy = as_policy(factory, spaces=SpaceInfo(action={"task": spaces.Discrete(2)}))
    scores = made[0](torch.as_tensor(ROWS)).detach().numpy()
    np.testing.assert_array_equal(policy.act(make_batch(ROWS)).actions, scores.argmax(-1))
    assert len(made) == 1


def run(policy, trials, steps):
    """Answers of trials that are asked together, step by step, as the engine asks."""
    runner = PolicyRunner(policy, 16)
    task = task_of("task", spaces.Box(-9, 9, (3,)))
    requests = [Request(None, trial, task, "act") for trial in trials]
    told = []
    for step in range(steps):
        for request in requests:
            request.show([np.full(3, step, np.float32)])
        answered = ask(runner, "act", requests)
        for request, answer in zip(requests, answered, strict=True):
            request.state = answer.state
            assert answer.error is None, answer.error
        told.append([float(answer.decision.actions[0, 0]) for answer in answered])
    return told


@pytest.mark.parametrize("make", [Counter, lambda: Counter()])
def test_a_class_or_maker_gives_every_trial_its_own(make):
    trials = [Trial("a", "task", i, i) for i in range(3)]
    assert run(as_policy(make), trials, 3) == [[1.0] * 3, [2.0] * 3, [3.0] * 3]


def test_asking_in_vain_leaves_an_object_as_it_was(make_batch):
    policy = as_policy(Counter)
    batch = make_batch(ROWS)
    batch.state = policy.reset(batch.trials)
    assert row_dependence(policy, batch) is None
    np.testing.assert_array_equal(policy.act(batch).actions, np.ones((4, 1)))


def test_rows_of_a_function_are_not_padded():
    asked = []
    runner = PolicyRunner(as_policy(lambda obs: asked.append(1) or [0.0]), 16)
    request = Request(None, Trial("a", "task", 0, 0), task_of("task", spaces.Box(-9, 9, (3,))), "act")
    request.show([ROWS[0]])
    assert ask(runner, "act", [request])[0].error is None
    assert len(asked) == 1


def test_a_function_that_raises_for_one_row_fails_that_trial_alone():
    def picky(obs):
        if obs[0] == 3:
            raise ValueError("not this one")
        return None if obs[0] == 6 else obs[:1]

    runner, task = PolicyRunner(as_policy(picky), 16), task_of("task", spaces.Box(-9, 9, (3,)))
    requests = [Request(None, Trial("a", "task", i, i), task, "act") for i in range(4)]
    for request, row in zip(requests, ROWS, strict=True):
        request.show([row])
    errors = [answer.error for answer in ask(runner, "act", requests)]
    assert errors[::3] == [None, None]
    assert "not this one" in errors[1]
    assert "returned None; expected an action" in errors[2]


def three(obs, state, info): ...


def swapped(rng, obs): ...


@pytest.mark.parametrize(
    ("found", "said", "sentence"),
    [
        (three, {}, "three wants state, info beside the observation"),
        (swapped, {}, "swapped does not take an observation; expected it as the first argument"),
        (Counter(), {}, r"Counter has a reset\(\), so it remembers.*\(lambda: Counter\(...\)\)"),
        ({"a": 1}, {}, "found a dict as a policy; expected a function"),
        (one, {"method": "best"}, r"one has no method best\(\)"),
        (Counter, {"batched": True}, "which has one observation; found batched"),
        (type("Picky", (), {"__init__": lambda self, size: None}), {}, r"lambda: Picky\(...\)"),
        (np.add, {}, "ufunc has no readable signature|add has no readable signature|wants"),
    ],
)
def test_what_cannot_answer_is_refused(found, said, sentence):
    with pytest.raises(InputError, match=sentence):
        as_policy(found, **said)


def test_a_policy_is_itself_and_its_class_or_maker_makes_it(make_batch):
    class Zeros(Policy):
        def act(self, batch):
            return np.zeros((len(batch), 1))

    policy = Zeros()
    assert as_policy(policy) is policy
    assert isinstance(as_policy(Zeros), Zeros)
    assert as_policy(lambda: policy) is policy


def test_a_torch_module_answers_rows_and_comes_back_as_it_was(make_batch):
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.9)).double().train()
    info = SpaceInfo({"task": spaces.Box(-9, 9, (3,))}, {"task": spaces.Discrete(2)})
    policy = as_policy(net, spaces=info)
    assert not net.training
    answer = policy.act(make_batch(ROWS))
    with torch.no_grad():
        expected = net(torch.from_numpy(ROWS).double()).argmax(1)
    np.testing.assert_array_equal(answer.actions, expected)
    policy.close()
    assert net.training


def test_an_sb3_model_acts_as_its_predict_does(make_batch):
    sb3 = pytest.importorskip("stable_baselines3")
    model = sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=2, batch_size=2, device="cpu")
    model.policy.set_training_mode(True)
    rows = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
    policy = as_policy(model)
    np.testing.assert_array_equal(policy.act(make_batch(rows)), model.predict(rows, deterministic=True)[0])
    policy.close()
    assert model.policy.training
