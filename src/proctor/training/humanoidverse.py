"""HumanoidVerse environments (Isaac Sim, Isaac Gym), lent by a training loop.

A process holds only one such simulator, and all its worlds are reset together. What is used of it:

    env: num_envs, reset(target_states={"dof_states", "root_states"}, to_numpy=False), step(action, to_numpy=False)
    env._env: dt, device, default_dof_pos, simulator, _motion_lib, set_is_evaluating(), set_is_training()
    env._env.simulator: dof_names, body_names, _rigid_body_pos, _rigid_body_rot, robot_root_states, dof_state
    env._env._motion_lib: _num_unique_motions, _motion_lengths, _motion_data_keys, curr_motion_keys, all_motions_loaded,
        load_motions(), get_motion_state(ids, times), load_motions_for_training(), update_sampling_weight_by_id()

Quaternions are xyzw there, angular velocities are in the world frame. Tensors stay on the simulator's device until the
rollout is over. Afterwards the library samples as before (`load_motions_for_training`, its probabilities put back) and
the environment is in training mode; its worlds are to be reset by the training loop, since the simulator cannot be put
back to where they stood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError, optional
from proctor.suites.tracking import rotations
from proctor.suites.tracking.metrics import Track
from proctor.training.lent import QuaternionOrder, Starts, WorldState

BackwardObservation = Callable[[Any, int], Mapping[str, Any]]
"""(the inner environment, motion) -> observations of all frames of the motion."""

_KEPT = ("_sampling_prob", "_sampling_batch_prob")
_UNLIMITED_STEPS = 2**30


class HumanoidVerseEnvironment:
    """A `HumanoidVerseVectorEnv` as a LentEnvironment. `anchor` is the body whose orientation is compared."""

    partial_reset = False
    quaternion: QuaternionOrder = "xyzw"

    def __init__(self, env: Any, anchor: str = "torso_link"):
        self._torch = _torch()
        self.env, self.inner = env, env._env
        self.num_worlds = int(env.num_envs)
        self.joint_names: Sequence[str] = tuple(self.inner.simulator.dof_names)
        self.body_names: Sequence[str] = tuple(self.inner.simulator.body_names)
        if anchor not in self.body_names:
            raise InputError(f'the environment has no body "{anchor}" (it has {", ".join(self.body_names)})')
        self._anchor = self.body_names.index(anchor)
        self._observed: Any = None

    def reset(self, starts: Starts) -> Any:
        order = np.argsort(starts.worlds)
        qpos, qvel = starts.qpos[order], starts.qvel[order]
        angular = rotations.rotate(qpos[:, [6, 3, 4, 5]], qvel[:, 3:6])
        root = np.concatenate([qpos[:, :7], qvel[:, :3], angular], axis=1)
        target_states = {
            "dof_states": self._tensor(np.stack([qpos[:, 7:], qvel[:, 6:]], axis=-1)),
            "root_states": self._tensor(root),
        }
        observation, _ = self.env.reset(target_states=target_states, to_numpy=False)
        self._observed = observation["state"][:, : len(self.joint_names)]
        return observation

    def step(self, actions: Any) -> tuple[Any, Any]:
        action = self._torch.as_tensor(actions, dtype=self._torch.float32, device=self.inner.device)
        observation, _, terminated, truncated, _ = self.env.step(action, to_numpy=False)
        self._observed = observation["state"][:, : len(self.joint_names)]
        return observation, terminated | truncated

    def read(self) -> WorldState:
        simulator, worlds = self.inner.simulator, self.num_worlds
        rotations = simulator._rigid_body_rot.reshape(worlds, -1, 4)
        joint_pos = simulator.dof_state.reshape(worlds, -1, 2)[..., 0]
        return WorldState(
            joint_pos=joint_pos,
            body_pos=simulator._rigid_body_pos.reshape(worlds, -1, 3)[:, : len(self.body_names)],
            root_pos=simulator.robot_root_states[:, :3],
            root_quat=simulator.robot_root_states[:, 3:7],
            anchor_quat=rotations[:, self._anchor],
            observed_joint_pos=self._observed,
        )

    def state(self) -> dict[str, Any]:
        """What is given back: the mode, the step limit, and how the library samples. The environment evaluates from
        here on: no world is reset by its step limit, and the library has all motions."""
        library = self.inner._motion_lib
        kept = {name: getattr(library, name).clone() for name in _KEPT}
        kept["max_episode_length"] = self.inner.max_episode_length
        self.inner.set_is_evaluating()
        self.inner.max_episode_length = _UNLIMITED_STEPS
        if not library.all_motions_loaded:
            library.load_motions(random_sample=False, num_motions_to_load=library._num_unique_motions)
        return kept

    def restore(self, state: dict[str, Any]) -> None:
        library = self.inner._motion_lib
        self.inner.max_episode_length = state["max_episode_length"]
        library.load_motions_for_training()
        for name in _KEPT:
            setattr(library, name, state[name])
        self.inner.set_is_training()

    def _tensor(self, values: np.ndarray) -> Any:
        return self._torch.as_tensor(values, dtype=self._torch.float32, device=self.inner.device)


class HumanoidVerseMotions:
    """The motions that such an environment was loaded with, as a MotionSource; also what a Curriculum gives weights
    to."""

    def __init__(
        self,
        env: Any,
        tracked: Sequence[str] | None = None,
        anchor: str = "torso_link",
        velocity_multiplier: float = 1.0,
        backward_observation: BackwardObservation | None = None,
    ):
        """`tracked`: the bodies that are compared; None: all but wrists, hands and bodies that the simulator does not
        have. `backward_observation`: the function that made such observations for training; None: as HumanoidVerse
        makes them, velocities scaled by `velocity_multiplier`."""
        self._backward, self._velocity_multiplier = backward_observation, velocity_multiplier
        self.inner = env._env
        self._library = self.inner._motion_lib
        self._dt = float(self.inner.dt)
        names = [str(name) for name in self._library._motion_data_keys]
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise InputError(f"the motion library has {', '.join(twice)} more than once; rename one of each")
        self.names: Sequence[str] = tuple(names)
        self.dt_s = self._dt
        self.joint_names: Sequence[str] = tuple(self.inner.simulator.dof_names)
        bodies = tuple(self.inner.simulator.body_names)
        self.body_names: Sequence[str] = tuple(tracked or (n for n in bodies if "wrist" not in n and "hand" not in n))
        self._bodies = [bodies.index(name) for name in self.body_names]
        self._anchor = bodies.index(anchor)
        self._default = self.inner.default_dof_pos.detach().cpu().numpy().reshape(-1)[: len(self.joint_names)]
        self._cache: dict[int, dict[str, np.ndarray]] = {}

    @property
    def lengths(self) -> np.ndarray:
        seconds = self._library._motion_lengths.detach().cpu().numpy().astype(np.float64)
        return np.ceil(np.round(seconds / self._dt, 3)).astype(np.int64)

    def track(self, motion: int) -> Track:
        state = self._host(motion)
        return Track(
            joint_pos=state["dof_pos"],
            body_pos=state["rg_pos_t"][:, self._bodies],
            root_pos=state["rg_pos_t"][:, 0],
            root_quat=state["rg_rot_t"][:, 0][:, [3, 0, 1, 2]],
            anchor_quat=state["rg_rot_t"][:, self._anchor][:, [3, 0, 1, 2]],
            observed=state["dof_pos"] - self._default,
        )

    def start(self, motions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        states = [self._host(motion) for motion in motions.tolist()]
        first = {key: np.stack([state[key][0] for state in states]) for key in states[0]}
        quat = first["rg_rot_t"][:, 0][:, [3, 0, 1, 2]]
        angular = rotations.into(quat, first["body_ang_vel_t"][:, 0])
        qpos = np.concatenate([first["rg_pos_t"][:, 0], quat, first["dof_pos"]], axis=1)
        return qpos, np.concatenate([first["body_vel_t"][:, 0], angular, first["dof_vel"]], axis=1)

    def observations(self) -> Mapping[str, Any]:
        """On the simulator's device, float32."""
        torch = _torch()
        make = self._backward or self._backward_observation
        parts = [make(self.inner, motion) for motion in range(len(self.names))]
        return {
            key: torch.cat([torch.as_tensor(part[key][1:], dtype=torch.float32) for part in parts]).to(
                self.inner.device
            )
            for key in parts[0]
        }

    def _backward_observation(self, inner: Any, motion: int) -> dict[str, np.ndarray]:
        """`state` and `privileged_state` of all frames, as `humanoidverse` makes them of its motion library: the root's
        angular velocity in the world frame, the root height only where its config observes it."""
        from proctor.suites.tracking import kernels

        found, scale = self._host(motion), self._velocity_multiplier
        quat, angular = found["rg_rot_t"][..., [3, 0, 1, 2]], found["body_ang_vel_t"] * scale
        rows, bodies = quat.shape[:2]
        parts = (found["rg_pos_t"], quat, found["body_vel_t"] * scale, angular)
        privileged = np.empty((rows, 1 + 3 * (bodies - 1) + 12 * bodies))
        kernels.privileged(tuple(map(np.ascontiguousarray, parts)), np.arange(bodies), 0, privileged)
        joints = [found["dof_pos"] - self._default, found["dof_vel"] * scale]
        return {
            "state": np.concatenate([*joints, rotations.gravity_in(quat[:, 0]), angular[:, 0]], axis=1),
            "privileged_state": privileged if inner.config.obs.root_height_obs else privileged[:, 1:],
            "last_action": np.zeros_like(found["dof_pos"]),
        }

    def update_sampling_weights(self, weights: np.ndarray) -> None:
        """Motions are drawn in proportion to these weights (M,) from now on."""
        ids = list(range(len(self.names)))
        self._library.update_sampling_weight_by_id(
            priorities=np.asarray(weights, np.float64).tolist(), motions_id=ids, file_name=dict(enumerate(self.names))
        )

    def state(self) -> None:
        """The library is kept with its environment."""

    def restore(self, state: None) -> None:
        self._cache.clear()

    def _host(self, motion: int) -> dict[str, np.ndarray]:
        if motion not in self._cache:
            torch = _torch()
            frames = int(self.lengths[motion])
            times = torch.arange(frames, device=self.inner.device) * self._dt
            ids = torch.full((frames,), motion, dtype=torch.long, device=self.inner.device)
            found = self._library.get_motion_state(ids, times)
            wanted = ("dof_pos", "dof_vel", "rg_pos_t", "rg_rot_t", "body_vel_t", "body_ang_vel_t")
            self._cache[motion] = {key: found[key].detach().cpu().numpy().astype(np.float64) for key in wanted}
        return self._cache[motion]


def _torch() -> Any:
    return optional("torch", "a HumanoidVerse environment", "torch")
