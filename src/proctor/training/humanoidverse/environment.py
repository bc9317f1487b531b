"""A HumanoidVerse environment as a LentEnvironment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np

from proctor.errors import InputError, optional
from proctor.policies.arrays import is_tensor
from proctor.suites.tracking import rotations
from proctor.suites.tracking.metrics.track import Legacy
from proctor.training.humanoidverse.library import all_motions
from proctor.training.lent import QuaternionOrder, Starts, WorldState

WRITTEN: Mapping[str, QuaternionOrder] = {"IsaacSim": "wxyz"}
"""The order in which a simulator of this class takes the root's quaternion; any other takes xyzw."""

COUNTED = (
    "max_episode_length", "motion_ids", "motion_start_times", "motion_len", "common_step_counter", "push_interval_s",
    "push_robot_counter", "push_robot_plot_counter", "push_robot_recovery_counter", "command_counter",
    "average_episode_length", "reward_penalty_scale", "current_noise_curriculum_value",
    "soft_dof_pos_curriculum_value", "soft_dof_vel_curriculum_value", "soft_torque_curriculum_value",
    "terminate_when_motion_far_threshold",
)  # fmt: skip
"""What the environment counts from reset to reset and step to step, and what its curricula follow from it."""

UNLIMITED_STEPS = 2**30


class _Kept(NamedTuple):
    counted: dict[str, Any]
    loaded: ExitStack


class HumanoidVerseEnvironment:
    """A `HumanoidVerseVectorEnv` as a LentEnvironment. `anchor` is the body whose orientation is compared; `written`
    the order in which the simulator takes the root's quaternion, None: by its class, as HumanoidVerse itself does.
    With `legacy`, an episode in HumanoidVerse's MuJoCo begins with what the one before has left in the simulator, as in
    the original evaluation; otherwise it is a function of its motion alone.

    Positions are relative to each world's own origin. Randomisation, noise and pushes go on as in training, as they do
    in the original evaluation. Afterwards the motion library, the counters and the curricula are as before; the worlds
    are to be reset by the training loop, since the simulator cannot be put back to where they stood."""

    partial_reset = False
    quaternion: QuaternionOrder = "xyzw"

    def __init__(
        self,
        env: Any,
        anchor: str = "torso_link",
        written: QuaternionOrder | None = None,
        legacy: Legacy | None = None,
    ):
        self._torch = optional("torch", "a HumanoidVerse environment", "torch")
        self.env, self.inner = env, env._env
        self.num_worlds = int(env.num_envs)
        simulator = self.inner.simulator
        self._kind, self._legacy = type(simulator).__name__, legacy
        self._written = written or WRITTEN.get(self._kind, "xyzw")
        self.joint_names: Sequence[str] = tuple(simulator.dof_names)
        self.body_names: Sequence[str] = simulated_bodies(simulator, self.num_worlds)
        if anchor not in self.body_names:
            raise InputError(f'the environment has no body "{anchor}" (it has {", ".join(self.body_names)})')
        self._anchor = self.body_names.index(anchor)
        self._observed: Any = None

    def reset(self, starts: Starts) -> Any:
        order = np.argsort(starts.worlds)
        qpos, qvel = starts.qpos[order], starts.qvel[order]
        wxyz = qpos[:, [6, 3, 4, 5]]
        angular = rotations.rotate(rotations.normalized(wxyz), qvel[:, 3:6])
        quat = wxyz if self._written == "wxyz" else qpos[:, 3:7]
        root = np.concatenate([qpos[:, :3], quat, qvel[:, :3], angular], axis=1)
        target_states = {
            "dof_states": self._tensor(np.stack([qpos[:, 7:], qvel[:, 6:]], axis=-1)),
            "root_states": self._tensor(root),
        }
        if self._legacy is None:
            _begin_afresh(self.inner.simulator, self._kind, wxyz)
        observation, _ = self.env.reset(target_states=target_states, to_numpy=False)
        self._observed = observation["state"][:, : len(self.joint_names)]
        return observation

    def step(self, actions: Any) -> tuple[Any, Any]:
        action = self._torch.as_tensor(actions, dtype=self._torch.float32, device=self.inner.device)
        observation, _, terminated, truncated, _ = self.env.step(action, to_numpy=False)
        self._observed = observation["state"][:, : len(self.joint_names)]
        return observation, terminated | truncated

    def read(self) -> WorldState:
        simulator, worlds, origins = self.inner.simulator, self.num_worlds, self.inner.env_origins
        _move_bodies(simulator, self._kind)
        bodies = simulator._rigid_body_pos.reshape(worlds, -1, 3)[:, : len(self.body_names)]
        return WorldState(
            joint_pos=simulator.dof_state.reshape(worlds, -1, 2)[..., 0],
            body_pos=bodies - origins[:, None],
            root_pos=simulator.robot_root_states[:, :3] - origins,
            root_quat=simulator.robot_root_states[:, 3:7],
            anchor_quat=simulator._rigid_body_rot.reshape(worlds, -1, 4)[:, self._anchor],
            observed_joint_pos=self._observed,
        )

    def state(self) -> _Kept:
        """What is given back. From here on no world is reset by its step limit, and the library has all motions."""
        counted = {name: _copy(value) for name, value in vars(self.inner).items() if name in COUNTED}
        loaded = ExitStack()
        loaded.enter_context(all_motions(self.inner._motion_lib))
        self.inner.max_episode_length = UNLIMITED_STEPS
        return _Kept(counted, loaded)

    def restore(self, state: _Kept) -> None:
        vars(self.inner).update(state.counted)
        state.loaded.close()

    def _tensor(self, values: np.ndarray) -> Any:
        return self._torch.as_tensor(values, dtype=self._torch.float32, device=self.inner.device)


def simulated_bodies(simulator: Any, worlds: int) -> tuple[str, ...]:
    """The bodies that the simulator's state has. Its list of names may go on with bodies that only references have (a
    head), where the environment has appended them to it. Raises InputError where names are missing."""
    names = tuple(simulator.body_names)
    count = simulator._rigid_body_pos.reshape(worlds, -1, 3).shape[1]
    if count > len(names):
        raise InputError(
            f"the simulator has {count} bodies but names {len(names)} ({', '.join(names)}); give body_names all of them"
        )
    return names[:count]


def _begin_afresh(simulator: Any, kind: str, wxyz: np.ndarray) -> None:
    """HumanoidVerse's MuJoCo class leaves its solver's memory as it is when it is reset, and turns the new angular
    velocity by the old orientation: the original evaluation, run twice in one process, differs from itself by percents.
    So the simulator is cleared, and the root turned to where it will be put."""
    if kind == "MuJoCo":
        import mujoco

        mujoco.mj_resetData(simulator.model, simulator.data)
        simulator.data.qpos[3:7] = wxyz[0]


def _move_bodies(simulator: Any, kind: str) -> None:
    """HumanoidVerse's MuJoCo class shows bodies where they stood before its last physics step, and after a reset those
    of the episode before. Kinematics brings them to the joints; the next physics step computes it anyway, so nothing of
    the simulation changes."""
    if kind == "MuJoCo":
        import mujoco

        mujoco.mj_kinematics(simulator.model, simulator.data)


def _copy(value: Any) -> Any:
    return value.clone() if is_tensor(value) else value
