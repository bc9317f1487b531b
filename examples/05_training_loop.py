"""A training loop that practises what it does badly.

    python examples/05_training_loop.py

A small latent-conditioned model learns to steer a humanoid along eight motions, by regression on slices of them. Every
so many steps Proctor evaluates it in worlds of its own, and the curriculum turns each motion's distance from its
reference (EMD) into how often its slices are drawn. Motions that the model is bad at are drawn more often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from proctor import DictLogger, EvaluationCallback, Practice, TrackingEvaluation, TrackingEvaluationCfg
from proctor.suites.tracking import TrajectoryBuffer, load_task

EVALUATION = TrackingEvaluationCfg(
    motions=["procedural:all"], max_episode_length_s=3.0, num_envs=8, targets={"emd": 0.75}
)
STEPS, EVAL_EVERY, BATCH, RATE = 90, 30, 32, 0.03


class Tracker:
    """z is the state to bring about (joint positions and velocities); the action is linear in it."""

    def __init__(self, joints: int):
        self.joints = joints
        self.weights = np.zeros((2 * joints + 1, joints))

    def backward_map(self, obs: Mapping[str, np.ndarray]) -> np.ndarray:
        return obs["state"][:, : 2 * self.joints]

    def project_z(self, z: np.ndarray) -> np.ndarray:
        return z

    def act(self, obs: Mapping[str, np.ndarray], z: np.ndarray, mean: bool = True) -> np.ndarray:
        return self.features(z) @ self.weights

    def features(self, z: np.ndarray) -> np.ndarray:
        return np.concatenate([z[:, : self.joints], 0.1 * z[:, self.joints :], np.ones((len(z), 1))], axis=1)

    def learn(self, z: np.ndarray, actions: np.ndarray) -> None:
        """One step of gradient descent on the squared error."""
        features = self.features(z)
        self.weights -= RATE * features.T @ (features @ self.weights - actions)


def main() -> None:
    robot, library = load_task(EVALUATION)
    buffer = TrajectoryBuffer(robot, library)
    model, logger, rng = Tracker(robot.description.n_joints), DictLogger(), np.random.default_rng(0)
    callback = EvaluationCallback(
        [TrackingEvaluation(EVALUATION)],
        eval_every_steps=EVAL_EVERY,
        logger=logger,
        practice=Practice(library=library, buffer=buffer),
    )
    gains = robot.description.damping / robot.description.stiffness
    drawn = np.zeros(len(library), int)
    print(f"{'step':>17} " + " ".join(f"{name:>13}" for name in library.names))
    for step in range(STEPS + 1):
        advice = callback(step, model, next_step=step + 1)
        if advice.curriculum is not None:
            show("slices drawn", drawn, "13d")
            show(f"{step} emd, rad", advice.curriculum.difficulty.values(), "13.2f")
            show("next share", advice.curriculum.shares.values(), "13.0%")
            drawn[:] = 0
        slices = buffer.sample(BATCH, rng)
        state = slices.observation["state"][:, 0]
        z = model.backward_map({"state": state})
        joints, velocities = np.split(z, 2, axis=1)
        model.learn(z, (joints + gains * velocities) / robot.description.action_scale)
        drawn += np.bincount(slices.motion_id[:, 0], minlength=len(library))
    emd = logger.series("eval/tracking/emd")
    print("mean emd: " + " -> ".join(f"{value:.3f}" for value in emd.values()))
    print("target reached" if logger.history[STEPS]["eval/tracking/passed"] else "target missed")


def show(what: str, values: Iterable[float], form: str) -> None:
    print(f"{what:>17} " + " ".join(f"{value:{form}}" for value in values))


if __name__ == "__main__":
    main()
