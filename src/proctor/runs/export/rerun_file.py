"""The chosen trials as a recording of Rerun: signals as plots, films, positions in space, on one time axis.

Needs the extra `rerun`. Each trial is an entity of its key, so that trials can be laid side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import optional
from proctor.runs.export.chosen import Episodes, Recorded, film_of

WIDEST = 256
"""Numbers in a row of an array that is still drawn as a plot."""
SPACE = "pos3d"
"""How the names of positions in space end."""


def write_rerun(episodes: Episodes, path: Path) -> list[str]:
    """Write the file; what it says of what was left out."""
    rr = optional("rerun", "writing recordings of Rerun", "rerun")
    left_out: dict[str, None] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    name = episodes.run.path.resolve().name
    stream = rr.RecordingStream("proctor", recording_id=name)
    try:
        stream.save(str(temporary))
        stream.send_recording_name(name)
        for recorded in episodes:
            left_out |= dict.fromkeys(_trial(rr, stream, recorded, film_of(episodes.run, recorded.result)))
        stream.flush()
        stream.disconnect()
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return [f"{name} is left out: it is too wide for a plot" for name in left_out]


def _trial(rr: Any, stream: Any, recorded: Recorded, film: Path | None) -> list[str]:
    """Log a trial; the names of what was left out."""
    at, left_out = recorded.key, []
    stream.log(at, rr.TextDocument(_about(recorded), media_type=rr.MediaType.MARKDOWN), static=True)
    if film is not None:
        _film(rr, stream, f"{at}/film", film)
    for name, values in recorded.constants.items():
        if name.endswith(SPACE) and values.shape[-1:] == (3,):
            stream.log(f"{at}/space/{name}", rr.Points3D(values.reshape(-1, 3)), static=True)
    after, before = np.arange(recorded.n_steps) + 1, np.arange(recorded.n_steps + 1)
    for name, values in recorded.steps.items():
        if name.endswith(SPACE) and values.shape[-1:] == (3,):
            _space(stream, f"{at}/space/{name}", _Axis(rr, after, recorded.dt_s), values)
        elif not _plot(stream, f"{at}/{name}", _Axis(rr, after, recorded.dt_s), values):
            left_out.append(name)
    for name, values in recorded.observed.items():
        axis = _Axis(rr, before[: len(values)], recorded.dt_s)
        if not _plot(stream, f"{at}/{name.replace('.', '/')}", axis, values):
            left_out.append(name)
    return left_out


@dataclass(frozen=True)
class _Axis:
    """The steps at which something was recorded, and the time, where the environment has a clock."""

    rr: Any
    steps: np.ndarray
    dt_s: float

    def columns(self) -> list[Any]:
        found = [self.rr.TimeColumn("step", sequence=self.steps)]
        if np.isfinite(self.dt_s):
            found.append(self.rr.TimeColumn("time", duration=self.steps * self.dt_s))
        return found

    def move(self, stream: Any, step: int) -> None:
        stream.set_time("step", sequence=step)
        if np.isfinite(self.dt_s):
            stream.set_time("time", duration=step * self.dt_s)


def _plot(stream: Any, at: str, axis: _Axis, values: np.ndarray) -> bool:
    """Log numbers over time, a line for each; images as such. False where it is neither."""
    rr = axis.rr
    if values.dtype == np.uint8 and values.ndim == 4 and values.shape[-1] in (1, 3):
        for step, image in zip(axis.steps.tolist(), values, strict=True):
            axis.move(stream, step)
            stream.log(at, rr.Image(image if image.shape[-1] == 3 else image[..., 0]).compress(90))
        stream.reset_time()
        return True
    rows = values.reshape(len(values), -1).astype(np.float64)
    if rows.shape[1] > WIDEST:
        return False
    if rows.size:
        stream.send_columns(at, indexes=axis.columns(), columns=rr.Scalars.columns(scalars=rows))
    return True


def _space(stream: Any, at: str, axis: _Axis, values: np.ndarray) -> None:
    """Log points in space over time."""
    points = values.reshape(len(values), -1, 3)
    if points.size:
        own = axis.rr.Points3D.columns(positions=points.reshape(-1, 3)).partition([points.shape[1]] * len(points))
        stream.send_columns(at, indexes=axis.columns(), columns=own)


def _film(rr: Any, stream: Any, at: str, path: Path) -> None:
    asset = rr.AssetVideo(path=path)
    stream.log(at, asset, static=True)
    shown = asset.read_frame_timestamps_nanos()
    times = rr.TimeColumn("time", duration=1e-9 * np.asarray(shown))
    stream.send_columns(at, indexes=[times], columns=rr.VideoFrameReference.columns_nanos(shown))


def _about(recorded: Recorded) -> str:
    """A few lines on a trial: what came of it, and what was measured."""
    result = recorded.result
    lines = [f"# {recorded.key}", f"seed {result.trial.seed}, {result.outcome}, {recorded.n_steps:,} steps"]
    lines += [f"- {name}: {value:.6g}" for name, value in (result.metrics or {}).items() if value is not None]
    return "\n\n".join([*lines[:2], "\n".join(lines[2:])])
