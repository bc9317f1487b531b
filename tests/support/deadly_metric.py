"""A metric that kills its process: once, where DEADLY_METRIC names a file that is not there yet, or always."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import ClassVar, Literal

from proctor import Episode
from proctor.metrics import Metric


class Deadly(Metric):
    """Nothing but the process that computes it."""

    name: ClassVar[str] = "deadly"
    unit: ClassVar[str] = "1"
    direction: ClassVar[Literal["none"]] = "none"

    def __call__(self, episode: Episode) -> float | None:
        said = os.environ.get("DEADLY_METRIC", "")
        if said == "always" or (said and not Path(said).exists()):
            if said != "always":
                Path(said).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 1.0
