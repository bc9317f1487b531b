"""References of files that were read before, in `.npz` files named after everything they depend on.

Two processes never see half a file, and a file that cannot be read counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

import numpy as np

from proctor.foreign import read_npz
from proctor.suites.tracking.motions.motion import ARRAYS, Reference, concatenate
from proctor.suites.tracking.motions.options import MotionOptions
from proctor.suites.tracking.robot import Robot
from proctor_host.npz import write_npz

_FORMAT = "2"


class ReferenceCache:
    """References by file content, robot, rate and options. `folder` None: nothing is kept."""

    def __init__(self, folder: Path | None, robot: Robot, dt_s: float):
        self._folder, self._robot, self._dt_s = folder, robot, dt_s

    def key(self, path: Path, options: MotionOptions) -> str:
        """Differs whenever the references could. Clips are cut later and leave it alone."""
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        said = options.model_dump_json(exclude={"clip_s"})
        parts = (_FORMAT, path.name, content, self._robot.fingerprint, repr(self._dt_s), said)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def get(self, path: Path, options: MotionOptions) -> list[Reference] | None:
        """The references of a file, or None where they are not there."""
        if self._folder is None:
            return None
        try:
            found = read_npz(self._folder / f"{self.key(path, options)}.npz")
            names, ends = [str(name) for name in found["names"]], found["ends"].tolist()
            arrays = {name: found[name] for name in ARRAYS}
        except (OSError, ValueError, KeyError):
            return None
        whole = Reference(name="", dt_s=self._dt_s, **arrays)
        return [whole.clip(*place) for place in zip(names, [0, *ends[:-1]], ends, strict=True)]

    def put(self, path: Path, options: MotionOptions, references: list[Reference]) -> None:
        """Keep the references of a file. A folder that cannot be written is left alone."""
        if self._folder is None:
            return
        ends = np.cumsum([len(reference) for reference in references])
        names, frames = np.array([reference.name for reference in references]), vars(concatenate(references))
        with contextlib.suppress(OSError, ValueError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_npz(self._folder / f"{self.key(path, options)}.npz", {"names": names, "ends": ends, **frames})
