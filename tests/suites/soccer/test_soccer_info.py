"""A contestant's own preprocessor sees what the competition's runner shows it."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.config.models import AgentCfg
from proctor.policies import load_policy
from proctor.policies.protocol import SpaceInfo
from proctor.suites.soccer.env import SoccerEnv
from proctor.suites.soccer.options import SoccerOptions
from proctor_host.trials import Trial

pytest.importorskip("sai_mujoco", reason="the extra `soccer` is not installed")

CONTESTANT = """
import numpy as np
from proctor.suites.soccer.preprocessing import _FIELD, _SENSORS, gravity_in_robot_frame

class Preprocessor:
    def modify_state(self, obs, info):
        gravity = gravity_in_robot_frame(info["robot_quat"])
        for name in (*_SENSORS, *_FIELD):
            info[name] = np.expand_dims(info[name], axis=0)
        parts = [info[name] for name in (*_SENSORS, *_FIELD)]
        return np.hstack([obs[None, :24], gravity[None], *parts, info["task_index"][None]])

def act(obs):
    assert obs.shape == (89,)
    return obs[:12]
"""


def test_it_builds_what_the_official_one_builds(tmp_path):
    (tmp_path / "mine.py").write_text(CONTESTANT)
    official = SoccerEnv(SoccerOptions(task="kick_to_target", preprocessor="official"))
    handed = SoccerEnv(SoccerOptions(task="kick_to_target", info=True))
    agent = AgentCfg(name="a", policy="mine.py:act", options={"preprocessor": "mine.py:Preprocessor"})
    spaces = SpaceInfo({"task": handed.observation_space}, {"task": handed.action_space})
    policy = load_policy(agent, spaces, tmp_path)
    seen, expected = handed.reset(3, 0), official.reset(3, 0)
    for _ in range(3):
        row = {
            "observation": seen["observation"][None],
            "info": {key: value[None] for key, value in seen["info"].items()},
        }
        given = policy.pipeline.preprocess(row, [Trial("a", "task", 0, 3)])
        np.testing.assert_array_equal(given[0], expected)
        action = np.zeros(12, np.float32)
        seen, expected = handed.step(action).observation, official.step(action).observation


def test_a_preprocessor_in_the_task_is_sent_to_the_agent():
    with pytest.raises(ValueError, match=r"belongs to it: options: \{preprocessor: p.py:P\}; the task hands it info"):
        SoccerOptions(preprocessor="p.py:P")
