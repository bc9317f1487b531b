"""The tracking worlds on a device as an environment of the engine, and as plain worlds for a training loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from proctor.suites.protocol import Columns, DeviceEnv
from proctor.suites.states import POSITIONS, TURNS, shapes_of
from proctor.suites.tracking.batch import action_space, neutral_action
from proctor.suites.tracking.device.capture import Program, abreast
from proctor.suites.tracking.device.judging import DeviceJudge, DeviceVerdict
from proctor.suites.tracking.device.observing import DeviceObservation, DeviceObserver
from proctor.suites.tracking.device.physics import device_named
from proctor.suites.tracking.device.worlds import DeviceWorlds
from proctor.suites.tracking.motions import MotionLibrary
from proctor.suites.tracking.observations import reference_signals
from proctor.suites.tracking.observing import in_float32, observation_space
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.rendering import TrackingRenderer
from proctor.suites.tracking.robot import Robot


class TrackingDeviceEnv(DeviceEnv):
    """N worlds on a device, as `TrackingBatchEnv` has them on the processor: trial i has motion i modulo the number of
    motions. A simulation that breaks down, and one that has no room for all its contacts, gives a reward of NaN.

    A training loop calls `begin_where` and `step_device` with tensors; neither waits for the device."""

    partial_reset = True

    def __init__(self, robot: Robot, library: MotionLibrary, n: int, options: TrackingOptions):
        place = device_named(options.device)
        self.device, self.num_worlds = str(place), n
        self.exact = options.physics == "warp" and place.type == "cpu"
        self.robot, self.library, self.options = robot, library, options
        self.worlds = DeviceWorlds(robot, library, n, options, place)
        self._observer, self._judge = DeviceObserver(self.worlds, options), DeviceJudge(self.worlds, options)
        self.observation_space = in_float32(observation_space(robot, library, options))
        self.action_space = action_space(robot)
        self.action_dt_s = self.worlds.dt_s
        self.max_steps = int(self.worlds.lengths.max()) - 1
        self._motions = np.zeros(n, np.int64)
        self._first_noise: list[np.ndarray | None] = [None] * n
        self._known: dict[int, dict[str, Any]] = {}
        self._renderer: TrackingRenderer | None = None
        self._begin = Program(self.worlds.begin, place)
        self._look = Program(self._first, place)
        self._before = Program(self.worlds.before, place)
        self._after = Program(self._next, place)
        for program in (self._begin, self._look, self._before, self._after):
            program.capture()
        self._ask(np.arange(n), np.zeros(n, np.int64))
        self._start()

    @property
    def observed_state(self) -> torch.Tensor | None:
        """(n, 2J + 6): the state as last observed, noise included; None where no group needs it."""
        return self._observer.state

    def begin_device(self, worlds: np.ndarray, seeds: Sequence[int], indices: Sequence[int]) -> DeviceObservation:
        rows = np.asarray(worlds, np.int64)
        motions = np.asarray(indices, np.int64) % len(self.library)
        noise = self.worlds.drawing.draw(rows, seeds, self.worlds.physics)
        for i, world in enumerate(rows):
            self._motions[world] = motions[i]
            self._first_noise[world] = None if noise is None else noise[i]
        self._ask(rows, motions)
        return self._start()

    def begin_where(
        self, mask: torch.Tensor, motions: torch.Tensor, frames: torch.Tensor | None = None
    ) -> DeviceObservation:
        """Put the worlds of `mask` (n,) bool at `frames` (n,) of `motions` (n,), tensors of the device; without frames
        at the first ones. What else is random in these worlds stays as the last `begin_device` has drawn it. The
        observation of all worlds."""
        asked = self.worlds.asked
        asked[0].copy_(mask)
        asked[1].copy_(motions)
        if frames is None:
            asked[2].zero_()
        else:
            asked[2].copy_(frames)
        return self._start()

    def _ask(self, rows: np.ndarray, motions: np.ndarray) -> None:
        asked = torch.zeros((3, self.num_worlds), dtype=torch.int64)
        asked[0, rows], asked[1, rows] = 1, torch.from_numpy(motions)
        if self.worlds.device.type == "cuda":
            asked = asked.pin_memory()
        self.worlds.asked.copy_(asked, non_blocking=True)

    def _start(self) -> DeviceObservation:
        self._begin()
        self.worlds.physics.settle()
        return dict(self._look())

    def _first(self) -> DeviceObservation:
        found = self._observer.start()
        self._judge.start()
        return found

    def step_device(self, actions: Any) -> Columns:
        self.worlds.action.copy_(torch.as_tensor(actions).detach())
        self._before()
        self.worlds.physics.step()
        observation, verdict, anchor = self._after()
        _, reward, success, terminated, truncated = verdict
        signals = self._signals(verdict, anchor)
        return Columns(dict(observation), reward, terminated, truncated, success, signals)

    def _next(self) -> tuple[DeviceObservation, DeviceVerdict, torch.Tensor]:
        self._observer.remember()
        self.worlds.after()
        observation, verdict, anchor = abreast(self._observer.go_on, self._judge.judge, self._anchor)
        return observation, verdict, anchor

    def _anchor(self) -> torch.Tensor:
        return self.worlds.physics.bodies.quat[:, self.robot.anchor].clone()

    def _signals(self, verdict: DeviceVerdict, anchor: torch.Tensor) -> dict[str, torch.Tensor]:
        physics = self.worlds.physics
        found = {
            "joint_pos": physics.qpos[:, 7:],
            "body_pos": verdict.body_pos,
            "root_pos": physics.qpos[:, :3],
            "root_quat": physics.qpos[:, 3:7],
            "anchor_quat": anchor,
        }
        if self.records_states:
            found[POSITIONS], found[TURNS] = physics.bodies.pos, physics.bodies.quat
        if self._observer.state is not None:
            found["observed_joint_pos"] = self._observer.state[:, : self.robot.description.n_joints]
        return found

    def constants(self, world: int) -> Mapping[str, Any]:
        """What is known when a trial has begun: it begins exactly where its motion does, so nothing is read from the
        device."""
        known = self._constants_of(int(self._motions[world]))
        noise = self._first_noise[world]
        if noise is None or "first.observed_joint_pos" not in known:
            return known
        seen = known["first.observed_joint_pos"] + noise[: self.robot.description.n_joints]
        return known | {"first.observed_joint_pos": seen}

    def _constants_of(self, motion: int) -> dict[str, Any]:
        """The same arrays for all trials of a motion, which nobody can change."""
        if motion not in self._known:
            found = {name: np.array(value) for name, value in self._read_constants(motion).items()}
            for array in found.values():
                array.setflags(write=False)
            self._known[motion] = found
        return dict(self._known[motion])

    def _read_constants(self, motion: int) -> dict[str, Any]:
        reference = self.library.reference(motion).rows(slice(0, int(self.worlds.lengths[motion])))
        found = reference_signals(self.robot, reference)
        if self._observer.state is None:
            del found["observed_joint_pos"]
        description = self.robot.description
        constants: dict[str, Any] = {
            "case": np.array(self.library.names[motion]),
            "joint_names": np.array(description.joint_names),
            "body_names": np.array(description.tracked_bodies),
        }
        constants |= {f"reference.{name}": values for name, values in found.items()}
        constants |= {f"first.{name}": values[0].astype(np.float32) for name, values in found.items()}
        if self.records_states:
            constants |= self._shapes
            constants["scene.reference_body_pos"] = reference.body_pos.astype(np.float32)
            constants["scene.reference_body_quat"] = reference.body_quat.astype(np.float32)
        legacy = self.options.legacy
        return constants if legacy is None else constants | {"tracking.legacy": np.array(legacy)}

    @cached_property
    def _shapes(self) -> dict[str, np.ndarray]:
        return shapes_of(self.robot.model, first=1)

    def crowded(self) -> str | None:
        """A sentence where worlds had no room for all their contacts, since the environment was made; it waits for the
        device."""
        steps = int(self.worlds.physics.crowded.sum())
        if not steps:
            return None
        return (
            f"{steps} steps of worlds had no room for all contacts ({self.worlds.physics.room}), and count as broken "
            "down; raise the options contacts or constraints of the task"
        )

    def render(self, world: int) -> np.ndarray:
        """The robot, and beside it a translucent reference in the frame that it should be in."""
        w = self.worlds
        if self._renderer is None:
            self._renderer = TrackingRenderer(self.robot)
        at = self.library.rows(w.motion[world].cpu().numpy(), w.frame[world].cpu().numpy())
        return self._renderer.render(w.physics.qpos[world].double().cpu().numpy(), self.library.frames.qpos[at])

    def dummy_action(self) -> np.ndarray:
        return neutral_action(self.robot, self.options)

    def close(self) -> None:
        self.worlds.physics.close()
        if self._renderer is not None:
            self._renderer.close()
