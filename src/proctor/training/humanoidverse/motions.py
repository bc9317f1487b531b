"""The motions of a HumanoidVerse environment: references to follow, and what a curriculum weighs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from proctor.errors import InputError, optional
from proctor.suites.tracking import rotations
from proctor.suites.tracking.metrics import Track
from proctor.training.humanoidverse.environment import simulated_bodies
from proctor.training.humanoidverse.library import all_motions
from proctor.training.humanoidverse.references import reference_observation

BackwardObservation = Callable[[Any, int], Mapping[str, Any]]
"""(the inner environment, motion) -> observations of all frames of the motion."""

_PROBABILITIES = ("_sampling_prob", "_sampling_batch_prob")


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
        bodies = simulated_bodies(self.inner.simulator, int(env.num_envs))
        self.body_names: Sequence[str] = tuple(tracked or (n for n in bodies if "wrist" not in n and "hand" not in n))
        self._bodies = [bodies.index(name) for name in self.body_names]
        self._anchor = bodies.index(anchor)
        self._default = self.inner.default_dof_pos.detach().cpu().numpy().reshape(-1)[: len(self.joint_names)]
        self._lengths: np.ndarray | None = None
        self._cache: dict[int, dict[str, np.ndarray]] = {}

    @property
    def lengths(self) -> np.ndarray:
        """As HumanoidVerse counts frames, in the precision of its library: one more than the length says where the
        quotient is rounded up."""
        if self._lengths is not None:
            return self._lengths
        with all_motions(self._library):
            frames = np.ceil((self._library._motion_lengths / self._dt).detach().cpu().numpy())
        self._lengths = found = frames.astype(np.int64)
        return found

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
        angular = rotations.into(rotations.normalized(quat), first["body_ang_vel_t"][:, 0])
        qpos = np.concatenate([first["rg_pos_t"][:, 0], quat, first["dof_pos"]], axis=1)
        return qpos, np.concatenate([first["body_vel_t"][:, 0], angular, first["dof_vel"]], axis=1)

    def observations(self) -> Mapping[str, Any]:
        """On the simulator's device, float32."""
        torch = _torch()
        make = self._backward or self._backward_observation
        with all_motions(self._library):
            parts = [make(self.inner, motion) for motion in range(len(self.names))]
        return {
            key: torch.cat([torch.as_tensor(part[key][1:], dtype=torch.float32) for part in parts]).to(
                self.inner.device
            )
            for key in parts[0]
        }

    def _backward_observation(self, inner: Any, motion: int) -> Any:
        default = inner.default_dof_pos.reshape(-1)[: len(self.joint_names)]
        return reference_observation(inner, self._state(motion), default, self._velocity_multiplier)

    def update_sampling_weights(self, weights: np.ndarray) -> None:
        """Motions are drawn in proportion to these weights (M,) from now on."""
        ids = list(range(len(self.names)))
        self._library.update_sampling_weight_by_id(
            priorities=np.asarray(weights, np.float64).tolist(), motions_id=ids, file_name=dict(enumerate(self.names))
        )

    def state(self) -> dict[str, Any]:
        """How the library samples; what it holds is kept with its environment."""
        return {name: vars(self._library)[name].clone() for name in _PROBABILITIES}

    def restore(self, state: dict[str, Any]) -> None:
        vars(self._library).update(state)
        self._cache.clear()

    def _state(self, motion: int) -> Mapping[str, Any]:
        """What the library gives for all frames of a motion, on the simulator's device."""
        torch = _torch()
        frames = int(self.lengths[motion])
        times = torch.arange(frames, device=self.inner.device) * self._dt
        ids = torch.full((frames,), motion, dtype=torch.long, device=self.inner.device)
        with all_motions(self._library):
            return self._library.get_motion_state(ids, times)

    def _host(self, motion: int) -> dict[str, np.ndarray]:
        if motion not in self._cache:
            found = self._state(motion)
            wanted = ("dof_pos", "dof_vel", "rg_pos_t", "rg_rot_t", "body_vel_t", "body_ang_vel_t")
            self._cache[motion] = {key: found[key].detach().cpu().numpy().astype(np.float64) for key in wanted}
        return self._cache[motion]


def _torch() -> Any:
    return optional("torch", "a HumanoidVerse environment", "torch")
