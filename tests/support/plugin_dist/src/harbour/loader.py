"""A loader: a pilot with a gain."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor import AgentCfg, Batch, Loader, Policy, PolicyOptions, SpaceInfo


class PilotOptions(PolicyOptions):
    """`gain`: how hard the pilot steers towards the quay."""

    gain: float = 1.0


class Pilot(Policy):
    """Steers against the distance."""

    def __init__(self, gain: float):
        self._gain = gain

    def act(self, batch: Batch) -> np.ndarray:
        return np.clip(-self._gain * np.asarray(batch.observation)[:, :1], -1.0, 1.0)


class PilotLoader(Loader):
    """A pilot who steers towards the quay."""

    name: ClassVar[str] = "harbour_pilot"
    Options: ClassVar[type[PolicyOptions]] = PilotOptions

    def load(self, agent: AgentCfg, options: Any, spaces: SpaceInfo, base: Path | None) -> Policy:
        return Pilot(options.gain)
