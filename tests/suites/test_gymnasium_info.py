"""What an environment says in `info` reaches a policy, the same wherever the environment runs."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from examining import by_key, digests

from proctor.errors import InputError
from proctor.suites.gymnasium.informing import Informing
from proctor.suites.gymnasium.suite import GymnasiumSuite
from proctor.testing import EnvConformance

ENVIRONMENT = """
import gymnasium
import numpy as np

class Windy(gymnasium.Env):
    observation_space = action_space = gymnasium.spaces.Box(-9.0, 9.0, (1,), np.float32)

    def told(self):
        return {"wind": np.array([self.wind]), "gusts": 2, "calm": False, "name": "north", "more": {"a": 1}}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.wind, self.left = self.np_random.normal(), 5
        return np.zeros(1, np.float32), self.told()

    def step(self, action):
        self.left -= 1
        lost = float(action[0]) - self.wind
        self.wind = self.np_random.normal()
        return np.full(1, self.left, np.float32), -abs(lost), self.left == 0, False, {**self.told(), "success": True}

if "Windy-v0" not in gymnasium.registry:
    gymnasium.register("Windy-v0", Windy)
"""
POLICY = """
def act(obs):
    return obs

def blind(obs):
    assert obs.shape == (1,)
    return 0.0 * obs

def seen(obs, info):
    return info["wind"]
"""


def config(folder: Path, **more):
    agents = [
        {
            "name": "sailor",
            "policy": f"{folder / 'sailor.py'}:act",
            "options": {"preprocessor": f"{folder / 'sailor.py'}:seen"},
        },
        {"name": "zero", "policy": "zero"},
        {"name": "blind", "policy": f"{folder / 'sailor.py'}:blind"},
    ]
    task = {
        "suite": "gymnasium",
        "name": "windy",
        "options": {"id": f"{folder / 'windy.py'}:Windy-v0", "info": ["wind"]},
    }
    return {"agents": agents, "tasks": [task], "n_trials": 3, "scoring": "return", **more}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "windy.py").write_text(ENVIRONMENT)
    (tmp_path / "sailor.py").write_text(POLICY)
    return tmp_path


def test_one_agent_sees_it_and_others_do_not(folder, examine):
    run = examine(**config(folder, workers="inline"))
    trials = by_key(run)
    for index in range(3):
        lost = run.episode(trials[f"sailor/windy/{index:04d}"]).arrays["rewards"]
        np.testing.assert_allclose(lost, 0.0, atol=1e-6)
        others = [run.episode(trials[f"{name}/windy/{index:04d}"]).arrays["rewards"] for name in ("zero", "blind")]
        assert np.array_equal(*others)
        assert others[0].sum() < -0.1


def test_it_is_the_same_in_another_process(folder, examine):
    here = digests(examine(**config(folder, workers="inline")))
    assert digests(examine(**config(folder, workers={"kind": "process", "count": 1}))) == here


def test_entries_are_described_by_the_first_info():
    info = {"wind": np.zeros(2, np.float32), "gusts": 2, "calm": False, "name": "north", "share": 0.5}
    space = Informing(None, info, "Windy-v0").space(gymnasium.spaces.Discrete(2))
    kinds = {name: (entry.shape, entry.dtype) for name, entry in space["info"].spaces.items()}
    assert kinds == {"wind": ((2,), "float32"), "gusts": ((), "int64"), "calm": ((), "uint8"), "share": ((), "float64")}


@pytest.mark.parametrize(
    ("wanted", "info", "text"),
    [
        (["rain"], {"wind": 1.0}, 'the first info of "W" has no numbers called "rain" (it has wind)'),
        (["name"], {"name": "north"}, '"name" (it has str there)'),
        (None, {"name": "north"}, "has no numbers, so there is nothing to hand on"),
    ],
)
def test_what_is_not_there_is_said(wanted, info, text):
    with pytest.raises(InputError) as error:
        Informing(wanted, info, "W")
    assert text in str(error.value)


def test_what_a_step_lacks_is_the_environments_fault():
    with pytest.raises(ValueError, match=r'the environment gave no info\["wind"\], which the first one had'):
        Informing(["wind"], {"wind": 1.0}, "W")(np.zeros(1), {})


def test_vector_environments_hand_none_on():
    with pytest.raises(ValueError, match="info is not handed on from a vector environment"):
        GymnasiumSuite.Options(id="CartPole-v1", vector=True, info=True)


TAXI = "Taxi-v3" if "Taxi-v3" in gymnasium.registry else "Taxi-v4"
"""As this version of Gymnasium calls it."""


class TestTaxi(EnvConformance):
    def make(self):
        suite = GymnasiumSuite()
        return suite.make(suite.Options(id=TAXI, info=["action_mask"]), render=False, worlds=1)
