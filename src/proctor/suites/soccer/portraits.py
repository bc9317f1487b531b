"""Pictures of a recorded soccer trial: the robot and the ball at the start, at the worst moment, at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.offscreen import Canvas
from proctor.suites.protocol import Moment, Portrayer
from proctor.suites.soccer.env import SoccerEnv
from proctor.suites.soccer.options import SoccerOptions

SIZE = (300, 400)
"""Height and width in pixels."""
NEAR_M, FAR_M, HEIGHT_M = 2.6, 9.0, 0.45
AZIMUTH_DEG, ELEVATION_DEG = 130.0, -14.0


class SoccerPortrayer(Portrayer):
    """Puts the simulator into recorded states and draws them; no step is made, and no evaluation function is run."""

    def __init__(self, options: SoccerOptions):
        import mujoco

        self._env = SoccerEnv(options.model_copy(update={"evaluation": None}))
        base = self._env.base
        self._model, self._data = base.sim.model._model, base.sim.data._data
        screen = self._model.vis.global_
        screen.offheight, screen.offwidth = max(screen.offheight, SIZE[0]), max(screen.offwidth, SIZE[1])
        self._canvas = Canvas(self._model, SIZE)
        self._canvas.camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        self._canvas.camera.azimuth, self._canvas.camera.elevation = AZIMUTH_DEG, ELEVATION_DEG

    def moments(self, arrays: Mapping[str, np.ndarray]) -> Sequence[Moment]:
        states = arrays.get("qpos")
        if states is None or states.ndim != 2 or states.shape[1] != self._model.nq or not len(states):
            raise InputError(
                f"the record has no states of this task, an array qpos (steps, {self._model.nq}); runs of an older "
                "version did not keep them"
            )
        whole = np.flatnonzero(np.isfinite(states).all(axis=1))
        if not whole.size:
            raise InputError("no state of the record is finite")
        self._env.reset(int(arrays["reset_seed"]), 0)
        worst, what = worst_step(arrays, whole)
        chosen = (("start", "", whole[0]), ("worst", f"{what}, ", worst), ("end", "", whole[-1]))
        dt = float(arrays["action_dt_s"])
        return [Moment(name, f"{words}{(at + 1) * dt:.2f} s", self._drawn(states[at])) for name, words, at in chosen]

    def _drawn(self, state: np.ndarray) -> np.ndarray:
        """The robot and the ball, from as near as it takes to see both."""
        import mujoco

        self._data.qpos[:] = state
        mujoco.mj_forward(self._model, self._data)
        robot, ball = self._env.places()
        middle, apart = (robot + ball) / 2, float(np.linalg.norm(robot[:2] - ball[:2]))
        camera: Any = self._canvas.camera
        camera.lookat[:] = [*(middle if apart < FAR_M else robot)[:2], HEIGHT_M]
        camera.distance = min(max(NEAR_M, 1.5 * apart), FAR_M)
        return self._canvas.frame(self._data, SIZE)

    def close(self) -> None:
        self._canvas.free()
        self._env.close()


def worst_step(arrays: Mapping[str, np.ndarray], among: np.ndarray) -> tuple[int, str]:
    """The step of the first fall, or, where the trial ended with it, that in which the trunk sank fastest; without a
    fall, that of the lowest reward. And what it is."""
    fallen, places = arrays.get("robot_fallen"), arrays.get("robot_pos_m")
    down = np.zeros(0, int) if fallen is None else np.flatnonzero(fallen[among])
    if down.size and (down[0] < len(among) - 1 or places is None or len(among) < 2):
        return int(among[down[0]]), "first fall"
    if down.size and places is not None:
        return int(among[1 + int(np.argmin(np.diff(places[among, 2])))]), "falls fastest"
    rewards = arrays["rewards"][among]
    place = int(np.argmin(np.where(np.isfinite(rewards), rewards, np.inf)))
    return int(among[place]), f"lowest reward, {rewards[place]:.2g}"
