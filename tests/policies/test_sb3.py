"""SB3 zips, rebuilt without unpickling, act as SB3's own `predict` does."""

from __future__ import annotations

import json
import warnings
import zipfile

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import load_policy
from proctor.policies.protocol import SpaceInfo
from proctor.policies.rows import sample_batch
from proctor.policies.sb3_sampling import pick
from proctor.testing import PolicyConformance
from proctor_host.trials import Trial

torch = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")
from stable_baselines3.common.logger import Logger  # noqa: E402 - only where it is installed

BOX = spaces.Box(-1, 1, (3,))
IMAGE = spaces.Box(0, 255, (36, 36, 3), np.uint8)
DICT = spaces.Dict({"z": spaces.Box(-1, 1, (2,)), "image": IMAGE, "d": spaces.Discrete(4)})
PENDULUM = spaces.Box(-2, 2, (1,))
SKEWED = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 5], np.float32))


class Toy(gymnasium.Env):
    """Random observations, two steps an episode."""

    def __init__(self, observation, action):
        self.observation_space, self.action_space = observation, action

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.count += 1
        return self.observation_space.sample(), 0.5, False, self.count >= 2, {}


CASES = {
    "ppo": ("PPO", BOX, spaces.Discrete(3), {"n_steps": 16, "batch_size": 16, "n_epochs": 1}),
    "ppo_box": ("PPO", BOX, SKEWED, {"policy_kwargs": {"activation_fn": torch.nn.ReLU, "net_arch": [8]}}),
    "ppo_net": (
        "PPO",
        BOX,
        spaces.MultiDiscrete([2, 3]),
        {"policy_kwargs": {"net_arch": {"pi": [5], "vf": [7, 7]}}},
    ),
    "ppo_discrete_obs": ("PPO", spaces.Discrete(5), spaces.MultiBinary(3), {}),
    "ppo_image": (
        "PPO",
        IMAGE,
        spaces.Discrete(2),
        {"policy_kwargs": {"features_extractor_kwargs": {"features_dim": 16}}},
    ),
    "ppo_dict": (
        "PPO",
        DICT,
        spaces.Discrete(2),
        {"policy_kwargs": {"features_extractor_kwargs": {"cnn_output_dim": 8}}},
    ),
    "ppo_sde": ("PPO", BOX, SKEWED, {"use_sde": True, "policy_kwargs": {"log_std_init": -1.0}}),
    "a2c": ("A2C", BOX, PENDULUM, {"n_steps": 4}),
    "dqn": ("DQN", BOX, spaces.Discrete(3), {"learning_starts": 4}),
    "sac": ("SAC", BOX, SKEWED, {"policy_kwargs": {"net_arch": [16]}, "learning_starts": 8}),
    "sac_sde": ("SAC", BOX, SKEWED, {"policy_kwargs": {"net_arch": {"pi": [4], "qf": [6]}}, "use_sde": True}),
    "td3": ("TD3", BOX, SKEWED, {"policy_kwargs": {"net_arch": [16]}, "learning_starts": 8}),
    "ddpg": ("DDPG", BOX, PENDULUM, {"policy_kwargs": {"net_arch": [16, 8]}}),
}
TRAINED = {"ppo": 16, "a2c": 8, "dqn": 16, "sac": 12, "td3": 12}
SAMPLED = ["ppo", "ppo_box", "ppo_net", "ppo_discrete_obs", "a2c", "sac", "dqn", "td3"]


def make_model(case):
    algorithm, observation, action, kwargs = CASES[case]
    kind = {spaces.Dict: "MultiInputPolicy"}.get(
        type(observation), "CnnPolicy" if observation is IMAGE else "MlpPolicy"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(sb3, algorithm)(kind, Toy(observation, action), seed=0, device="cpu", **kwargs)
        if case in TRAINED:
            model.set_logger(Logger(folder=None, output_formats=[]))  # SB3's own would leave a folder in /tmp
            model.learn(TRAINED[case])
    return model


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """Models by case, made when first asked for; each with the folder it is saved in as m.zip."""
    made = {}

    def get(case):
        if case not in made:
            folder = tmp_path_factory.mktemp(case)
            made[case] = make_model(case), folder
            made[case][0].save(folder / "m.zip")
        return made[case]

    return get


def load(folder, observation, action, **options):
    agent = AgentCfg(name="net", policy="sb3", checkpoint="m.zip", options=options)
    return load_policy(agent, SpaceInfo({"task": observation}, {"task": action}), folder)


def batch_for(policy, observation, rows=16):
    return sample_batch(policy, observation, [Trial("a", "task", i, i) for i in range(rows)])


@pytest.mark.parametrize("case", CASES)
def test_actions_equal_sb3_s_own(zoo, case):
    model, folder = zoo(case)
    _, observation, action, _ = CASES[case]
    policy = load(folder, observation, action)
    batch = batch_for(policy, observation)
    expected, _ = model.predict(batch.observation, deterministic=True)
    found = policy.act(batch)
    assert np.array_equal(found, expected)
    assert all(action.contains(a if np.ndim(a) else np.int64(a)) for a in found.astype(action.dtype))


@pytest.mark.parametrize("case", ["ppo_box", "sac", "dqn", "a2c"])
def test_trust_loads_it_the_sb3_way_and_acts_alike(zoo, case):
    _, folder = zoo(case)
    _, observation, action, _ = CASES[case]
    rebuilt, trusted = load(folder, observation, action), load(folder, observation, action, trust=True)
    batch = batch_for(rebuilt, observation)
    assert np.array_equal(rebuilt.act(batch), trusted.act(batch))


@pytest.mark.parametrize("case", [*SAMPLED, "ppo_image", "ppo_dict"])
class TestLaws(PolicyConformance):
    steps = 2

    @pytest.fixture(autouse=True)
    def _subject(self, zoo, case):
        self.case, self.folder = case, zoo(case)[1]
        _, self.observation_space, self.action_space, _ = CASES[case]

    def make(self):
        deterministic = self.case not in SAMPLED
        return load(self.folder, self.observation_space, self.action_space, deterministic=deterministic)


def test_gaussian_samples_have_the_policy_s_mean_and_spread(zoo):
    model, folder = zoo("a2c")
    policy = load(folder, BOX, PENDULUM, deterministic=False)
    batch = batch_for(policy, BOX, 4000)
    batch.observation[:] = batch.observation[0]
    drawn = policy.act(batch)
    found = model.policy.get_distribution(torch.as_tensor(batch.observation[:1])).distribution
    low, high = -2, 2
    inside = (drawn > low) & (drawn < high)
    assert drawn[inside].std() == pytest.approx(found.stddev.item(), rel=0.15)
    assert np.median(drawn) == pytest.approx(found.mean.item(), abs=0.1)


def test_categorical_samples_have_the_policy_s_probabilities(zoo):
    model, folder = zoo("ppo")
    policy = load(folder, BOX, spaces.Discrete(3), deterministic=False)
    batch = batch_for(policy, BOX, 6000)
    batch.observation[:] = batch.observation[0]
    shares = np.bincount(policy.act(batch), minlength=3) / 6000
    probs = model.policy.get_distribution(torch.as_tensor(batch.observation[:1])).distribution.probs
    assert shares == pytest.approx(probs.detach().numpy()[0], abs=0.03)


def test_pick_is_the_inverse_of_the_cumulative_distribution():
    probs = np.array([[0.0, 0.5, 0.5]] * 4)
    assert pick(probs, np.array([0.0, 0.49, 0.5, 0.999999])).tolist() == [1, 1, 2, 2]


def test_vec_normalize_is_applied(zoo, tmp_path, make_batch):
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    model, folder = zoo("ppo")
    vec = VecNormalize(DummyVecEnv([lambda: Toy(spaces.Box(-1, 1, (3,)), spaces.Discrete(3))]))
    vec.reset()
    for _ in range(10):
        vec.step(np.array([0]))
    vec.save(str(folder / "vec.pkl"))
    policy = load(folder, BOX, spaces.Discrete(3), vec_normalize="vec.pkl")
    x = np.random.default_rng(0).uniform(-1, 1, (16, 3)).astype(np.float32)
    expected, _ = model.predict(vec.normalize_obs(x), deterministic=True)
    assert np.array_equal(policy.act(make_batch(x)).actions, expected)


@pytest.mark.parametrize(
    ("observation", "action", "message"),
    [
        (
            spaces.Box(-1, 1, (4,)),
            SKEWED,
            r"trained with the observation space Box of shape \(3,\); the task has Box",
        ),
        (BOX, spaces.Discrete(3), "trained with the action space Box; the task has Discrete"),
        (
            BOX,
            spaces.Box(-1, 1, (2,)),
            r"trained with action bounds \[-1.  0.\] to \[1. 5.\]; .*options.action_scale",
        ),
        (DICT, SKEWED, "the task has Dict"),
    ],
)
def test_other_spaces_are_refused(zoo, observation, action, message):
    with pytest.raises(InputError, match=message):
        load(zoo("sac")[1], observation, action)


def test_discrete_sizes_are_compared(zoo):
    with pytest.raises(InputError, match=r"Discrete with n 3; the task has Discrete\(4\)"):
        load(zoo("dqn")[1], BOX, spaces.Discrete(4))
    with pytest.raises(InputError, match="Dict with d, image, z"):
        load(zoo("ppo_dict")[1], spaces.Dict({"z": BOX}), spaces.Discrete(2))


def test_action_scale_allows_other_bounds(zoo, make_batch):
    model, folder = zoo("sac")
    policy = load(folder, BOX, spaces.Box(-100, 100, (2,)), action_scale={"scale": 10.0})
    x = np.random.default_rng(0).uniform(-1, 1, (16, 3)).astype(np.float32)
    assert policy.act(make_batch(x)).actions == pytest.approx(10 * model.predict(x, deterministic=True)[0], rel=1e-6)


def test_tasks_must_share_their_spaces(zoo):
    info = SpaceInfo({"a": BOX, "b": BOX}, {"a": spaces.Discrete(3), "b": spaces.Discrete(4)})
    agent = AgentCfg(name="net", policy="sb3", checkpoint="m.zip")
    with pytest.raises(InputError, match='tasks "a" and "b" differ'):
        load_policy(agent, info, zoo("dqn")[1])


def rewrite(source, target, change):
    """A copy of a zip with changed JSON."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "data":
                data = json.loads(content)
                change(data)
                content = json.dumps(data).encode()
            new.writestr(name, content)


def test_nothing_serialized_is_ever_unpickled(zoo, tmp_path):
    """Every pickle in the archive is replaced by one that would fail: the rebuilt policy does not notice."""

    def poison(data):
        for value in data.values():
            if isinstance(value, dict) and ":serialized:" in value:
                value[":serialized:"] = "bm90IGEgcGlja2xl"

    model, folder = zoo("ppo_box")
    rewrite(folder / "m.zip", tmp_path / "m.zip", poison)
    policy = load(tmp_path, BOX, SKEWED)
    batch = batch_for(policy, BOX)
    assert np.array_equal(policy.act(batch), model.predict(batch.observation, deterministic=True)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"policy_kwargs": {"features_extractor_class": "<class 'mine.Net'>"}},
            r"policy_kwargs\[\"features_extractor_class\"\] is <class 'mine.Net'>",
        ),
        ({"policy_kwargs": {"activation_fn": "<class 'mine.Act'>"}}, "mine.Act"),
        ({"policy_kwargs": {"net_arch": "<function f>"}}, r"policy_kwargs\[\"net_arch\"\] is <function f>"),
    ],
)
def test_what_only_a_pickle_tells_names_trust(zoo, tmp_path, change, message):
    rewrite(zoo("ppo_box")[1] / "m.zip", tmp_path / "m.zip", lambda data: data.update(change))
    with pytest.raises(InputError, match=message) as error:
        load(tmp_path, BOX, SKEWED)
    assert "set options.trust: true" in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"policy_class": {"__module__": "mine"}},
            r"its policy class is from mine; the sb3 loader runs those of Stable-Baselines3 and sb3-contrib\. Export "
            r"the policy to ONNX, or load it in Python \(policy: file.py:function\)",
        ),
        ({"policy_class": None}, "its policy class is from an unknown module"),
        ({"policy_kwargs": {"unknown": 3}}, "does not accept the fields found .* Save the model again"),
        ({"observation_space": None}, "does not say what its observation_space is"),
    ],
)
def test_what_unpickling_would_not_help_says_something_else(zoo, tmp_path, change, message):
    rewrite(zoo("ppo_box")[1] / "m.zip", tmp_path / "m.zip", lambda data: data.update(change))
    with pytest.raises(InputError, match=message) as error:
        load(tmp_path, BOX, SKEWED)
    assert "trust" not in str(error.value)


def test_a_damaged_file_is_called_damaged(zoo, tmp_path):
    whole = (zoo("ppo_box")[1] / "m.zip").read_bytes()
    (tmp_path / "m.zip").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="is no SB3 model") as error:
        load(tmp_path, BOX, SKEWED)
    assert "trust" not in str(error.value)
    for damage in (lambda weights: weights[: len(weights) // 2], lambda weights: b"", lambda weights: b"\x00" * 100):
        with zipfile.ZipFile(zoo("ppo_box")[1] / "m.zip") as old, zipfile.ZipFile(tmp_path / "m.zip", "w") as new:
            for name in old.namelist():
                new.writestr(name, damage(old.read(name)) if name == "policy.pth" else old.read(name))
        with pytest.raises(InputError, match=r"is damaged|is not read as weights") as error:
            load(tmp_path, BOX, SKEWED)
        assert "trust" not in str(error.value)


def test_another_architecture_is_named(zoo, tmp_path):
    rewrite(zoo("ppo_box")[1] / "m.zip", tmp_path / "m.zip", lambda d: d.update(policy_kwargs={"net_arch": [9]}))
    with pytest.raises(InputError, match="checkpoint of another architecture than ActorCriticPolicy: other shape"):
        load(tmp_path, BOX, SKEWED)


def test_activation_can_be_given(zoo, tmp_path):
    model, folder = zoo("ppo_box")
    rewrite(folder / "m.zip", tmp_path / "m.zip", lambda data: data["policy_kwargs"].pop("activation_fn"))
    given, default = load(tmp_path, BOX, SKEWED, activation_fn="relu"), load(tmp_path, BOX, SKEWED)
    batch = batch_for(given, BOX)
    expected = model.predict(batch.observation, deterministic=True)[0]
    assert np.array_equal(given.act(batch), expected)
    assert not np.array_equal(default.act(batch), expected)


def test_sampling_with_gsde_is_refused(zoo):
    for case in ("ppo_sde", "sac_sde"):
        with pytest.raises(InputError, match="not supported for a policy trained with use_sde"):
            load(zoo(case)[1], BOX, SKEWED, deterministic=False)


@pytest.mark.parametrize("content", [b"text", None])
def test_other_files_are_refused(tmp_path, content):
    if content is None:
        with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
            archive.writestr("data", "{}")
    else:
        (tmp_path / "m.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"is no SB3 model: .*expected a zip with data and policy.pth"):
        load(tmp_path, BOX, SKEWED)
