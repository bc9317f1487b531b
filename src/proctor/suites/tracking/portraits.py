"""Pictures of a recorded tracking trial: the robot beside its reference at the start, the worst moment and the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from proctor.errors import InputError
from proctor.suites.protocol import Moment, Portrayer
from proctor.suites.tracking.metrics.frames import is_upright
from proctor.suites.tracking.metrics.recorded import episode_options, episode_tracks
from proctor.suites.tracking.metrics.track import Track, TrackOptions
from proctor.suites.tracking.options import TrackingOptions
from proctor.suites.tracking.rendering import TrackingRenderer
from proctor.suites.tracking.suite import robot_of
from proctor_host.episode import Episode, Outcome

WIDTH, HEIGHT = 400, 300
STATE = ("root_pos", "root_quat", "joint_pos")


class TrackingPortrayer(Portrayer):
    """Draws states as they were recorded; nothing is simulated."""

    def __init__(self, options: TrackingOptions):
        self._renderer = TrackingRenderer(robot_of(options), WIDTH, HEIGHT)

    def moments(self, arrays: Mapping[str, np.ndarray]) -> Sequence[Moment]:
        missing = [name for name in STATE if any(f"{p}{name}" not in arrays for p in ("", "first.", "reference."))]
        if missing:
            raise InputError(f"the record has no {', '.join(missing)}")
        agent, reference = _states(arrays, first=True), _states(arrays, first=False)
        n = min(len(agent), len(reference))
        whole = np.flatnonzero(np.isfinite(agent[:n]).all(axis=1) & np.isfinite(reference[:n]).all(axis=1))
        if not whole.size:
            raise InputError("no state of the record is finite")
        episode = Episode(dict(arrays), Outcome.TRUNCATED, max_steps=1)
        options = episode_options(episode)
        tracks = episode_tracks(episode)
        assert tracks is not None
        worst, what = worst_frame(*tracks, options, whole)
        chosen = (("start", "", whole[0]), ("worst", f"{what}, ", worst), ("end", "", whole[-1]))
        return [
            Moment(name, f"{words}{_time(int(at), options)}", self._renderer.render(agent[at], reference[at]))
            for name, words, at in chosen
        ]

    def close(self) -> None:
        self._renderer.close()


def worst_frame(agent: Track, reference: Track, options: TrackOptions, among: np.ndarray) -> tuple[int, str]:
    """The frame of the first fall; without one, that of the largest mean body error, or joint error. And what it is."""
    if agent.root_pos is not None and agent.anchor_quat is not None:
        pairs = [(getattr(agent, n)[among], getattr(reference, n)[among]) for n in ("root_pos", "anchor_quat")]
        heights = (pairs[0][0][:, 2], pairs[0][1][:, 2])
        down = np.flatnonzero(~is_upright(heights, pairs[1], replace(options, dt_s=options.dt_s or 1.0)))
        if down.size:
            return int(among[down[0]]), "first fall"
    for name, unit, what in (("body_pos", "m", "body"), ("joint_pos", "rad", "joint")):
        own, wanted = getattr(agent, name), getattr(reference, name)
        if own is None or wanted is None:
            continue
        apart = own[among] - wanted[among]
        errors = np.linalg.norm(apart, axis=-1).mean(axis=-1) if what == "body" else np.abs(apart).mean(axis=-1)
        place = int(np.nanargmax(errors))
        return int(among[place]), f"largest mean {what} error, {errors[place]:.2g} {unit}"
    return int(among[-1]), "last frame"


def _states(arrays: Mapping[str, np.ndarray], *, first: bool) -> np.ndarray:
    """qpos (T, 7 + J) of the agent, its first state as frame 0, or of the reference."""
    if first:
        parts = [np.concatenate([arrays[f"first.{name}"][None], arrays[name]]) for name in STATE]
    else:
        parts = [arrays[f"reference.{name}"] for name in STATE]
    return np.concatenate(parts, axis=1).astype(np.float64)


def _time(frame: int, options: TrackOptions) -> str:
    return f"frame {frame}" if options.dt_s is None else f"{frame * options.dt_s:.2f} s"
