"""What is random in a trial on a device: models, pushes and sensor noise. It is drawn on the host when a trial begins,
from the trial's own streams and in the order in which worlds on the processor draw it, so that it is the same there and
here; then it lies on the device until the trial ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from proctor.errors import InputError
from proctor.suites.tracking.device.physics import MODEL_FIELDS, DevicePhysics
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.randomise import PushCfg, Pushes, RandomiseCfg, RandomModels, SensorNoise, Streams, streams
from proctor.suites.tracking.robot import Robot

MOST_NOISE_BYTES = 8 << 30
"""Sensor noise of all worlds may take so much memory of the device."""


def fields_of(cfg: RandomiseCfg) -> tuple[str, ...]:
    """The fields of a model that this makes differ from world to world."""
    found: set[str] = set()
    if cfg.friction is not None:
        found.add("geom_friction")
    if cfg.stiffness is not None:
        found |= {"actuator_gainprm", "actuator_biasprm"}
    if cfg.damping is not None:
        found.add("actuator_biasprm")
    if cfg.mass is not None:
        found |= {"body_mass", "body_inertia", "body_subtreemass", "body_invweight0", "dof_invweight0"}
    return tuple(name for name in MODEL_FIELDS if name in found)


class Drawing:
    """Of n worlds, whose trials have at most `frames` frames. `model` is what is simulated where nothing is random;
    `fields` are those of the model that differ from world to world."""

    def __init__(self, model: Any, robot: Robot, options: TrackingOptions, n: int, frames: int, device: torch.device):
        self.model, self._n, self._frames, self._device = model, n, frames, device
        cfg = options.randomisation
        self.fields = fields_of(cfg)
        self._models = RandomModels(model, cfg, 1)
        self._amplitudes = options.sensor_noise.amplitudes(robot.description.n_joints)
        self._pushes, self._dt_s = cfg.pushes, 1.0 / options.control_hz
        self._used = torch.zeros(n, dtype=torch.int64, device=device)
        self._noise: torch.Tensor | None = None
        if self._amplitudes is not None:
            self._noise = self._room_for_noise(len(self._amplitudes))
        self._push_at: torch.Tensor | None = None
        if self._pushes is not None:
            most = _most_pushes(self._pushes, frames, self._dt_s)
            self._push_at = torch.full((n, most), -1, dtype=torch.int64, device=device)
            self._push_by = torch.zeros((n, most, 2), device=device)

    def _room_for_noise(self, width: int) -> torch.Tensor:
        size = 4 * self._n * self._frames * width
        if size > MOST_NOISE_BYTES:
            raise InputError(
                f"noise: the sensor noise of {self._n} worlds with {self._frames} frames each takes "
                f"{size / 2**30:.1f} GiB of the device, expected at most {MOST_NOISE_BYTES >> 30}; use fewer worlds, "
                "max_episode_length_s, or clip_s"
            )
        return torch.zeros((self._n, self._frames, width), device=self._device)

    @property
    def random(self) -> bool:
        """Whether anything is."""
        return bool(self.fields) or self._noise is not None or self._push_at is not None

    def draw(self, worlds: np.ndarray, seeds: Sequence[int], physics: DevicePhysics) -> np.ndarray | None:
        """Give these worlds what is random in trials with these seeds. The noise of their first observations
        (k, 2J + 6), where there is any."""
        if not self.random or not len(worlds):
            return None
        trials = [streams(np.random.default_rng(seed)) for seed in seeds]
        rows = torch.from_numpy(worlds).to(self._device)
        if self.fields:
            physics.change_models(rows, self._draw_models(trials))
        if self._push_at is not None:
            drawn = [self._draw_pushes(trial) for trial in trials]
            self._put(self._push_at, rows, np.stack([at for at, _ in drawn]))
            self._put(self._push_by, rows, np.stack([by for _, by in drawn]))
        if self._noise is None:
            return None
        noise = np.stack([self._draw_noise(trial) for trial in trials])
        self._put(self._noise, rows, noise)
        return noise[:, 0]

    def _put(self, whole: torch.Tensor, rows: torch.Tensor, values: np.ndarray) -> None:
        given = torch.from_numpy(values)
        if self._device.type == "cuda":
            given = given.pin_memory()
        whole.index_copy_(0, rows, given.to(self._device, whole.dtype, non_blocking=True))

    def _draw_models(self, trials: Sequence[Streams]) -> dict[str, np.ndarray]:
        found: dict[str, list[np.ndarray]] = {name: [] for name in self.fields}
        for trial in trials:
            self._models.draw(0, trial)
            for name, values in found.items():
                values.append(np.array(getattr(self._models.models[0], name)))
        return {name: np.stack(values) for name, values in found.items()}

    def _draw_noise(self, trial: Streams) -> np.ndarray:
        """(frames, 2J + 6) float32."""
        assert self._amplitudes is not None
        blocks = -(-self._frames // SensorNoise.BLOCK)
        drawn = trial.noise.uniform(-1.0, 1.0, (blocks * SensorNoise.BLOCK, len(self._amplitudes)))
        return (drawn[: self._frames] * self._amplitudes).astype(np.float32)

    def _draw_pushes(self, trial: Streams) -> tuple[np.ndarray, np.ndarray]:
        """Before which steps the world is pushed, and by how much: (most,) and (most, 2)."""
        assert self._push_at is not None
        assert self._pushes is not None
        at = np.full(self._push_at.shape[1], -1, np.int64)
        by = np.zeros((len(at), 2), np.float32)
        pushes = Pushes(self._pushes, 1, self._dt_s)
        pushes.start(0, trial.pushes)
        for i in range(len(at)):
            at[i] = pushes.next_step(0)
            by[i] = pushes.due(np.zeros(1, np.int64), at[i : i + 1])[0][1]
        return at, by

    def begin(self, mask: torch.Tensor) -> None:
        """Trials begin in these worlds."""
        self._used.masked_fill_(mask, 0)

    def push(self, steps: torch.Tensor) -> torch.Tensor | None:
        """The change of the roots' velocities (n, 2) before the step after `steps` (n,) steps."""
        if self._push_at is None:
            return None
        due = self._push_at == steps[:, None]
        return (self._push_by * due[..., None]).sum(dim=1)

    def noise(self, worlds: torch.Tensor) -> torch.Tensor | None:
        """What the sensors add now (n, 2J + 6), of the frame that each world stands at since its start; `used` then
        counts on."""
        if self._noise is None:
            return None
        return self._noise[worlds, self._used.clamp_max(self._frames - 1)]

    def used(self) -> None:
        """A step is over."""
        self._used += 1


def _most_pushes(cfg: PushCfg, frames: int, dt_s: float) -> int:
    """So many pushes at most fall into a trial."""
    return max(1, int(frames // max(1, round(cfg.every_s[0] / dt_s)))) + 1
