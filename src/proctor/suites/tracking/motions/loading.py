"""From sources to a library: find the files, read each, cut clips, and say everything that is wrong at once.

References of files that were read before are kept in `.npz` files named after everything they depend on. Two processes
never see half a file, and a file that cannot be read counts as absent.

A motion at its own rate becomes a reference at the control rate. One of `length` seconds, from its first frame to its
last, becomes T = ceil(length / dt) frames at 0, dt, 2 dt, ...: the end itself is not among them, so clips that follow
each other share no frame. Positions and angles are interpolated linearly, rotations on the shortest arc. At the
motion's own rate nothing changes.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.foreign import read_npz
from proctor.registry import did_you_mean
from proctor.suites.tracking.motions.checks import checked
from proctor.suites.tracking.motions.library import MotionLibrary
from proctor.suites.tracking.motions.motion import ARRAYS, Frames, Motion, Reference, concatenate
from proctor.suites.tracking.motions.options import MotionOptions
from proctor.suites.tracking.motions.procedural import make_procedural
from proctor.suites.tracking.motions.readers import SUFFIXES, read_motions
from proctor.suites.tracking.robot import Robot
from proctor.suites.tracking.robot.config import validated
from proctor.suites.tracking.rotations import conjugate, continuous, into, log, multiply, slerp
from proctor_host.npz import write_npz

Source = str | Path | Mapping[str, Any]
PROCEDURAL = "procedural:"


def load_motions(
    sources: Source | Sequence[Source],
    robot: Robot,
    dt_s: float = 0.02,
    *,
    base: Path | None = None,
    cache: str | Path | None = None,
    **options: Any,
) -> MotionLibrary:
    """The library of all motions that the sources name, in their order.

    A source is a file, a folder (all motion files in it and below, sorted), a glob, `procedural:all`,
    `procedural:NAME` or `procedural:NAME?seed=N`, or a mapping with the key `path` and options of its own. Paths are
    relative to `base`. `options` are those of `MotionOptions`. `cache` is a folder for what was read, relative to
    `base`; None keeps nothing. Raises one InputError with all problems of all files; two motions of one name are a
    problem."""
    if not 0 < dt_s < math.inf:
        raise InputError(f"the control period must be positive; found {dt_s} s")
    general = validated(MotionOptions, options, "motions", "option")
    folder = None if cache is None else (base or Path()) / Path(cache).expanduser()
    reader = _Reader(robot, dt_s, ReferenceCache(folder, robot, dt_s))
    problems: list[str] = []
    loaded: list[tuple[Reference, str]] = []
    for source in [sources] if isinstance(sources, str | Path | Mapping) else sources:
        with _noting(problems):
            own = _own_options(source, general)
            for item in _find(str(source["path"] if isinstance(source, Mapping) else source), base):
                with _noting(problems):
                    loaded += reader.load(item, own)
    problems += _twice(loaded)
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise InputError(problems[0] if len(problems) == 1 else f"{len(problems)} problems with motions:\n{listed}")
    return MotionLibrary([reference for reference, _ in loaded])


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    """An InputError becomes one more problem."""
    try:
        yield
    except InputError as error:
        problems.append(str(error))


@dataclass(frozen=True)
class _Reader:
    robot: Robot
    dt_s: float
    cache: ReferenceCache

    def load(self, item: str | Path, options: MotionOptions) -> list[tuple[Reference, str]]:
        """The references of a file or a procedural source, cut into clips, each with its origin."""
        whole = self._made(item) if isinstance(item, str) else self._read(item, options)
        return [(clip, str(item)) for reference in whole for clip in cut(reference, options.clip_s)]

    def _made(self, item: str) -> list[Reference]:
        motions = make_procedural(item.removeprefix(PROCEDURAL), self.robot)
        return [make_reference(motion, self.robot, self.dt_s) for motion in motions]

    def _read(self, path: Path, options: MotionOptions) -> list[Reference]:
        kept = self.cache.get(path, options)
        if kept is not None:
            return kept
        raws = read_motions(path, self.robot, options)
        motions = [checked(raw, path, self.robot, options) for raw in raws]
        try:
            references = [make_reference(motion, self.robot, self.dt_s) for motion in motions]
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        self.cache.put(path, options, references)
        return references


def cut(reference: Reference, clip_s: float | None) -> list[Reference]:
    """Clips of `clip_s` seconds that together are the reference, named `NAME@START-ENDs`. The last may be shorter; one
    frame alone is left with the clip before it. A reference no longer than a clip stays as it is."""
    if clip_s is None or clip_s >= len(reference) * reference.dt_s:
        return [reference]
    step = clip_s / reference.dt_s
    if step < 2:
        raise InputError(f"clip_s: found {clip_s:g} s; a clip needs two frames, {2 * reference.dt_s:g} s")
    starts = [round(i * step) for i in range(int(len(reference) / step) + 1)]
    starts = [start for start in starts if start <= len(reference) - 2]
    stops = [*starts[1:], len(reference)]
    return [
        reference.clip(f"{reference.name}@{a * reference.dt_s:.6g}-{b * reference.dt_s:.6g}s", a, b)
        for a, b in zip(starts, stops, strict=True)
    ]


def _own_options(source: Source, general: MotionOptions) -> MotionOptions:
    if not isinstance(source, Mapping):
        return general
    if "path" not in source:
        raise InputError(f"motions: a source without a path: {dict(source)!r}")
    own = {key: value for key, value in source.items() if key != "path"}
    keys = {**general.model_dump(exclude_unset=True), **own}
    return validated(MotionOptions, keys, f"motions: {source['path']}", "option")


def _find(source: str, base: Path | None) -> Iterator[str | Path]:
    """The files that a source means, or the procedural source itself."""
    if source.startswith(PROCEDURAL):
        yield source
        return
    path = (base or Path()) / Path(source).expanduser()
    if os.path.isfile(path):
        yield path
    elif os.path.isdir(path):
        found = sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
        if not found:
            raise InputError(f"motions: the folder {path} has no motion files ({', '.join(SUFFIXES)})")
        yield from found
    elif glob.has_magic(source):
        matches = sorted(Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file())
        if not matches:
            raise InputError(f"motions: no file matches {path}")
        yield from matches
    else:
        siblings = [p.name for p in path.parent.iterdir()] if os.path.isdir(path.parent) else []
        raise InputError(f"motions: no file or folder {path}" + did_you_mean(path.name, siblings))


def _twice(loaded: Sequence[tuple[Reference, str]]) -> list[str]:
    origins: dict[str, str] = {}
    problems = []
    for reference, origin in loaded:
        if (name := reference.name) in origins:
            problems.append(f'two motions are called "{name}": in {origins[name]} and in {origin}; rename one')
        origins.setdefault(name, origin)
    return problems


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


_SAME = 1e-6
"""Of a frame: times closer than this to a frame are that frame's."""


def n_frames(length_s: float, dt_s: float) -> int:
    """T = ceil(length / dt)."""
    return math.ceil(length_s / dt_s - _SAME)


def make_reference(motion: Motion, robot: Robot, dt_s: float) -> Reference:
    """The motion at the control rate, with all bodies and velocities. Raises InputError for one that is shorter than
    two control steps."""
    n = n_frames(motion.length_s, dt_s)
    if n < 2:
        raise InputError(
            f"motion {motion.name}: {len(motion)} frames at {motion.fps:g} a second last {motion.length_s:g} s; more "
            f"than {dt_s:g} s are needed for two frames at the control rate"
        )
    lower, part = _places(n, dt_s * motion.fps, len(motion))
    pos = _linear(motion.root_pos, lower, part)
    upper = np.minimum(lower + 1, len(motion) - 1)
    quat = continuous(slerp(motion.root_quat[lower], motion.root_quat[upper], part))
    joints = _linear(motion.joint_pos, lower, part)
    lin = differences(pos, dt_s) if motion.root_lin_vel is None else _linear(motion.root_lin_vel, lower, part)
    ang = angular_velocity(quat, dt_s) if motion.root_ang_vel is None else _linear(motion.root_ang_vel, lower, part)
    speed = differences(joints, dt_s) if motion.joint_vel is None else _linear(motion.joint_vel, lower, part)
    frames = Frames.of(
        robot,
        np.concatenate([pos, quat, joints], axis=1),
        np.concatenate([lin, into(quat, ang), speed], 1),
    )
    return Reference(name=motion.name, dt_s=dt_s, **vars(frames))


def _places(n: int, frames_per_step: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each control step the motion's frame before it and the part of the way to the next, in [0, 1)."""
    place = np.arange(n) * frames_per_step
    nearest = np.rint(place)
    place = np.where(np.abs(place - nearest) < _SAME, nearest, place)
    lower = np.minimum(np.floor(place).astype(np.int64), count - 1)
    return lower, place - lower


def _linear(values: np.ndarray, lower: np.ndarray, part: np.ndarray) -> np.ndarray:
    first, second = values[lower], values[np.minimum(lower + 1, len(values) - 1)]
    return first + part[:, None] * (second - first)


def differences(values: np.ndarray, dt_s: float) -> np.ndarray:
    """Time derivative of (T, D), T >= 2: central differences, one-sided at the ends."""
    return np.gradient(values, dt_s, axis=0)


def angular_velocity(quat: np.ndarray, dt_s: float) -> np.ndarray:
    """In the world frame, (T, 3) rad/s, of rotations (T, 4), T >= 2: the rotation from the frame before to the frame
    after, one-sided at the ends."""
    frames = np.arange(len(quat))
    before, after = np.maximum(frames - 1, 0), np.minimum(frames + 1, len(quat) - 1)
    turn = log(multiply(quat[after], conjugate(quat[before])))
    return turn / ((after - before) * dt_s)[:, None]
