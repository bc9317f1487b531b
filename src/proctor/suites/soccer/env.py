"""A task of sai-mujoco as an environment.

The reward is the environment's own. What the competition pays is made of the raw reward terms, which are recorded at
every step as signals `term/NAME`, numbers as they are and booleans as 1.0 and 0.0. Their order is the constant
`reward_terms`: sums of rounded numbers depend on it.

Terms are those that the environment computed in its step. The competition's function asks for them again in the same
state, which gives the same numbers and changes nothing (`tests/suites/soccer` holds both).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from proctor.errors import MissingExtra
from proctor.suites.gymnasium.env import as_frame
from proctor.suites.gymnasium.informing import Informing
from proctor.suites.gymnasium.making import find_spec, make_single
from proctor.suites.soccer.evaluating import Evaluation
from proctor.suites.soccer.preprocessing import LENGTH, official_observation, task_code
from proctor.suites.soccer.readings import Readings
from proctor.suites.soccer.tasks import code_index
from proctor.suites.states import States
from proctor_host.environments import Env, Step
from proctor_host.extras import Options
from proctor_host.values import flag

if TYPE_CHECKING:
    from proctor.suites.soccer.options import SoccerOptions

PICTURE = {"width": 640, "height": 360}
TERM = "term/"


def require_simulator() -> None:
    """Raise MissingExtra where sai-mujoco is not installed."""
    for package in ("sai_mujoco", "imageio"):
        try:
            __import__(package)
        except ModuleNotFoundError as error:
            raise MissingExtra("the soccer suite", (error.name or package).partition(".")[0], "soccer") from None


def _remember_places(model: Any) -> None:
    """Look up once where a joint lies in the state. The simulator does so for every joint at every step, which takes a
    good part of its time; a model does not change."""
    model.get_joint_qpos_addr = cache(model.get_joint_qpos_addr)
    model.get_joint_qvel_addr = cache(model.get_joint_qvel_addr)


class SoccerEnv(Env):
    """One robot and one ball. The simulator's environment, unwrapped, is `base`."""

    def __init__(self, options: SoccerOptions, *, render: bool = False):
        require_simulator()
        self.options = options
        picture = dict(PICTURE) if render else {}
        made: Any = Options(id=options.task, imports=["sai_mujoco"], kwargs=picture, wrappers=[])
        self.max_steps = find_spec(made).max_episode_steps
        self.base: Any = make_single(made, render=render).unwrapped
        _remember_places(self.base.sim.model)
        self.action_dt_s = float(self.base.control_timestep)
        self.action_space = self.base.action_space
        self._official = options.preprocessor == "official"
        self._code = task_code(code_index(options.task, options.task_index), options.task_count)
        length = LENGTH + options.task_count if self._official else self.base.observation_space.shape[0]
        self.observation_space: Any = spaces.Box(-np.inf, np.inf, (length,), np.float32)
        self._informing = None
        if options.info:
            first = self._told(self.base.reset(seed=0)[1])
            self._informing = Informing(None if options.info is True else options.info, first, options.task)
            self.observation_space = self._informing.space(self.observation_space)
        self._signal_of = {name: f"{TERM}{name}" for name in self.base.compute_reward()}
        self._readings = Readings(self.base)
        self._states: States | None = None
        self._evaluation = None if options.evaluation is None else Evaluation(options.evaluation)
        self._steps, self._seed = 0, 0

    def reset(self, seed: int, index: int) -> Any:
        self._seed = seed
        observation, info = self.base.reset(seed=self._seed)
        self._steps = 0
        self._readings.reset()
        sim = self.base.sim
        self._states = States(sim.model._model, sim.data._data) if self.records_states else None
        if self._evaluation is not None:
            self._evaluation.reset()
        return self._observed(observation, info)

    def _observed(self, observation: np.ndarray, info: Mapping[str, Any]) -> Any:
        seen = official_observation(observation, info, self._code) if self._official else observation
        return seen if self._informing is None else self._informing(seen, self._told(info))

    def _told(self, info: Mapping[str, Any]) -> Mapping[str, Any]:
        """What contestants find in `info`: with the task code, as the competition's runner puts it there."""
        return {**info, "task_index": self._code}

    def step(self, action: Any) -> Step:
        observation, reward, terminated, _, info = self.base.step(action)
        ended = flag("terminated", terminated)
        self._steps += 1
        terms = {name: float(value) for name, value in info["reward_terms"].items()}
        signals: dict[str, Any] = {self._signal_of[name]: value for name, value in terms.items()}
        signals.update(self._readings.read(terms))
        if self._states is not None:
            signals.update(self._states.signals())
        if self._evaluation is not None:
            last = self._steps >= (self.step_limit or self.max_steps or np.inf)
            signals["evaluation_reward"] = self._evaluation(self.base, ended, bool(last))
        success = flag('info["success"]', info["success"])
        return Step(self._observed(observation, info), float(reward), ended, False, success, signals)

    def constants(self) -> Mapping[str, Any]:
        """`reward_terms`: names, in the order in which a score adds them. `reset_seed`: what the simulator was reset
        with. `target_pos_m`: (3,), where the ball should go. `evaluation_sha256`: of the user's evaluation function.
        Where states are recorded, the shapes of the model."""
        own = {} if self._evaluation is None else {"evaluation_sha256": self._evaluation.sha256}
        own |= {} if self._states is None else self._states.constants()
        return {
            "reward_terms": np.array([*self._signal_of]),
            "reset_seed": np.uint64(self._seed),
            "target_pos_m": self._target(),
            **own,
        }

    def _target(self) -> np.ndarray:
        """The target that a task has, else the middle of the goal."""
        base = self.base
        goal = base.parameters_dict["team_parameters"][base.current_team]["goal"]["name"]
        name = base.target_name if base.target_name != base.robots[0].parts["torso"].site_name else goal
        return np.array(base.sim.data.get_site_xpos(name))

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the robot's trunk and the ball are now, (3,) each."""
        return self._readings.places()

    def render(self) -> np.ndarray:
        return as_frame(self.base.render(), self.options.task)

    def close(self) -> None:
        self.base.close()


def make(options: SoccerOptions, *, render: bool, worlds: int) -> Env:
    """The environment of a task."""
    return SoccerEnv(options, render=render)
