"""Preprocessors: a function of the observation and of `info`, before everything else."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium import spaces

from proctor.config.models import AgentCfg
from proctor.errors import InputError
from proctor.policies import fingerprint, load_policy
from proctor.policies.options import PolicyOptions
from proctor.policies.pipeline import Pipeline
from proctor.policies.preprocess import channels_first
from proctor.policies.protocol import Policy, SpaceInfo
from proctor.testing import PolicyConformance

SOURCE = """
import numpy as np

def act(obs):
    return obs[:1]

def both(obs, info):
    return np.concatenate([obs, info["wind"]])

def alone(obs):
    return 2.0 * obs

def scaled(obs, info, factor=1.0):
    return factor * info["wind"]

class Contestant:
    def modify_state(self, obs, info):
        if len(obs.shape) == 1:
            obs = np.expand_dims(obs, axis=0)
            info["wind"] = np.expand_dims(info["wind"], axis=0)
        return np.hstack((obs, info["wind"]))

class Callable:
    def __init__(self, sign=1):
        self.sign = sign

    def __call__(self, obs, info):
        return self.sign * info["wind"]

class Useless:
    pass

def picky(obs):
    return obs / obs.shape[5]

def three(obs, info, task):
    return obs

def words(obs):
    return "text"

def varying(obs):
    return obs[obs != 0]
"""
PLAIN = spaces.Box(-1, 1, (2,), np.float64)
HANDED = spaces.Dict({"observation": PLAIN, "info": spaces.Dict({"wind": spaces.Box(-9, 9, (1,), np.float64)})})
ACTION = spaces.Box(-9, 9, (1,))


@pytest.fixture
def base(tmp_path):
    (tmp_path / "prep.py").write_text(SOURCE)
    return tmp_path


class Same(Policy):
    def act(self, batch):
        return batch.observation


def through(base, given, batch, **options):
    """What the model sees, and the space that it is told."""
    space = HANDED if isinstance(batch.observation, dict) else PLAIN
    pipeline = Pipeline(
        PolicyOptions(preprocessor=given, **options), SpaceInfo({"task": space}, {"task": ACTION}), base
    )
    seen = pipeline.around(Same()).act(batch).actions
    assert pipeline.model_spaces.observation["task"].shape == seen.shape[1:]
    return seen


@pytest.fixture
def handed(make_batch):
    rng = np.random.default_rng(0)
    observation, wind = rng.uniform(-1, 1, (5, 2)), rng.uniform(-1, 1, (5, 1))
    batch = make_batch(observation)
    batch.observation = {"observation": observation, "info": {"wind": wind}}
    return batch


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("prep.py:both", lambda o, w: np.hstack([o, w])),
        ("prep.py:Contestant", lambda o, w: np.hstack([o, w])),
        ("prep.py:alone", lambda o, w: 2 * o),
        ("prep.py:Callable", lambda o, w: w),
        ({"target": "prep.py:Callable", "kwargs": {"sign": -1}}, lambda o, w: -w),
        ({"target": "prep.py:scaled", "kwargs": {"factor": 3.0}}, lambda o, w: 3 * w),
        ({"target": "prep.py:both", "shape": [3]}, lambda o, w: np.hstack([o, w])),
    ],
)
def test_each_row_is_what_the_function_makes_of_it(base, handed, given, expected):
    observation, wind = handed.observation["observation"].copy(), handed.observation["info"]["wind"].copy()
    seen = through(base, given, handed)
    assert seen.dtype == np.float32
    np.testing.assert_array_equal(seen, expected(observation, wind).astype(np.float32))
    assert np.array_equal(handed.observation["info"]["wind"], wind), "what it changes are copies"


def test_it_needs_no_info(base, make_batch):
    observation = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    seen = through(base, "prep.py:alone", make_batch(observation))
    np.testing.assert_array_equal(seen, (2 * observation).astype(np.float32))


def test_frames_are_stacked_after_it(base, handed):
    handed.state = {"frames": np.zeros((5, 2, 3), np.float32), "started": np.zeros(5, bool)}
    assert through(base, "prep.py:both", handed, frame_stack=2).shape == (5, 6)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (
            "both",
            'takes (observation, info), but task "task" hands policies no info. In the suites gymnasium ',
        ),
        ("Useless", "has neither modify_state(observation, info) nor __call__(observation, info)"),
        ("picky", 'for an observation of zeros of task "task", which it was given to learn the shape of what it gives'),
        ("three", "takes obs, info, task; expected (observation, info) or (observation)"),
        ("words", "expected an array of numbers"),
        ("SOURCE", 'has no "SOURCE"'),
    ],
)
def test_what_cannot_work_is_said_when_it_is_loaded(base, target, text):
    agent = AgentCfg(name="a", policy="prep.py:act", options={"preprocessor": f"prep.py:{target}"})
    with pytest.raises(InputError) as error:
        load_policy(agent, SpaceInfo({"task": PLAIN}, {"task": ACTION}), base)
    assert text in str(error.value)


def test_another_shape_in_a_step_is_the_policys_error(base, make_batch):
    with pytest.raises(ValueError, match=r"gave an array \(1,\); expected \(0,\)"):
        through(base, "prep.py:varying", make_batch(np.array([[0.0, 1.0]])))


def test_its_file_belongs_to_the_agent(base):
    agent = AgentCfg(name="a", policy="random", options={"preprocessor": "prep.py:alone"})
    before = fingerprint(agent, base)
    (base / "prep.py").write_text(SOURCE + "\n# changed\n")
    assert list(before) == ["preprocessor source prep.py"]
    assert fingerprint(agent, base) != before


class TestPreprocessedLaws(PolicyConformance):
    observation_space, action_space = HANDED, ACTION

    @pytest.fixture(autouse=True)
    def _files(self, base):
        agent = AgentCfg(name="a", policy="prep.py:act", options={"preprocessor": "prep.py:Contestant"})
        self.loaded = lambda: load_policy(agent, SpaceInfo({"task": HANDED}, {"task": ACTION}), base)

    def make(self):
        return self.loaded()


# Layout and kind of number --------------------------------------------------------------------------------------------

IMAGE = spaces.Box(0, 255, (6, 8, 3), np.uint8)


def moved(space, observation, make_batch, **options):
    pipeline = Pipeline(PolicyOptions(**options), SpaceInfo({"task": space}, {"task": ACTION}), None)
    seen = pipeline.around(Same()).act(make_batch(observation)).actions
    return seen, pipeline.model_spaces.observation["task"]


def test_channels_go_where_the_model_wants_them(make_batch):
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 8, 3), np.uint8)
    first, space = moved(IMAGE, pixels, make_batch, image_layout="channels_first")
    assert space.shape == first.shape[1:] == (3, 6, 8)
    assert np.array_equal(first, np.transpose(pixels, (0, 3, 1, 2)))
    back, _ = moved(space, first, make_batch, image_layout="channels_last")
    assert np.array_equal(back, pixels)
    same, _ = moved(IMAGE, pixels, make_batch, image_layout="channels_last")
    assert np.array_equal(same, pixels)


def test_integers_become_floats(make_batch):
    pixels = np.full((2, 6, 8, 3), 51, np.uint8)
    unit, space = moved(IMAGE, pixels, make_batch, integers="unit")
    assert unit.dtype == space.dtype == np.float32
    assert (space.low.min(), space.high.max()) == (0.0, 1.0)
    np.testing.assert_allclose(unit, 0.2)
    floats, _ = moved(IMAGE, pixels, make_batch, integers="float")
    assert floats.dtype == np.float32
    assert (floats == 51).all()


@pytest.mark.parametrize("shape", [(8, 8, 8), (3, 8, 3), (4, 3, 8), (8, 3, 8)])
def test_channels_that_cannot_be_told_are_refused(shape):
    with pytest.raises(InputError, match="cannot be told which axis counts channels; move it in a preprocessor"):
        channels_first(shape)
