"""Doing what a worker has left to the engine: to write a record that was sent, to measure it, to encode its film.

A worker of another interpreter has no metrics and no encoder, one on another machine no run folder. A trial counts as
done when all that is done here, on a thread beside the engine's loop; its slot stays taken until then.
"""

from __future__ import annotations

import io
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from proctor import metrics
from proctor.errors import RunError
from proctor.foreign import read_npz
from proctor.record.video import VideoWriter, poster_of
from proctor_host.cfg import WorkerCfg
from proctor_host.episode import Episode, Outcome
from proctor_host.files import write_synced
from proctor_host.frames import SUFFIX, frames
from proctor_host.messages import Done, Left, Start
from proctor_host.result import TrialResult


def finished(done: Done, cfg: WorkerCfg) -> Done:
    """The same event with nothing left to do. `cfg` is the engine's, with the folder of the run."""
    left, result = done.left, done.result
    if left == Left():
        return done
    assert cfg.folder is not None
    folder = Path(cfg.folder)
    try:
        if left.record is not None and result.npz is not None:
            write_synced(_within(folder, "trials", result.npz), left.record)
        if not left.measured:
            result = replace(result, metrics=_measured(result, left, folder, tuple(cfg.metrics)))
        if result.video is not None and result.video.endswith(SUFFIX):
            result = replace(result, video=_encoded(result.video, left, folder))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise RunError(f"what a worker sent of trial {result.trial.key} cannot be used: {error}") from error
    return done._replace(result=result, left=Left())


def named_by_outcome(result: TrialResult, folder: Path | None) -> TrialResult:
    """The same result, with its film and the film's still picture called as it ended: `videos/STEM_success.mp4`. An
    attempt that was lost after its film had its name, and ended otherwise, leaves none behind."""
    if result.video is None or folder is None:
        return result
    film = _within(folder, "videos", result.video)
    for other in Outcome:
        if other is not result.outcome:
            of_other = film.with_name(f"{film.stem}_{other}.mp4")
            for file in (of_other, poster_of(of_other)):
                file.unlink(missing_ok=True)
    named = film.with_name(f"{film.stem}_{result.outcome}.mp4")
    with suppress(FileNotFoundError):
        os.replace(poster_of(film), poster_of(named))
    try:
        os.replace(film, named)
    except FileNotFoundError:
        return replace(result, video=None)
    return replace(result, video=f"videos/{named.name}")


_KINDS: dict[str, tuple[type, ...]] = {
    "outcome": (Outcome,), "success": (bool,), "steps_total": (int,), "steps_to_success": (int,),
    "first_success": (int,), "episode_reward": (float,), "max_steps": (int,), "clipped_steps": (int,),
    "wall_time_s": (float,), "sim_time_s": (float,), "metrics": (dict,), "error": (str,), "npz_size": (int,),
    "npz_crc": (int,), "digest": (str,), "trace": (str,), "case": (str,),
}  # fmt: skip


def is_of(result: TrialResult, start: Start) -> bool:
    """Whether a result that a worker sent is of the trial that it was told to begin, names no file but the trial's own,
    and has values of the right kinds."""
    files = {
        "npz": (None, f"trials/{start.stem}.npz"),
        "video": (None, f"videos/{start.stem}.mp4", f"videos/{start.stem}{SUFFIX}"),
    }
    own = result.trial == start.trial and all(getattr(result, name) in known for name, known in files.items())
    values = {name: getattr(result, name) for name in _KINDS}
    return own and all(value is None or type(value) in _KINDS[name] for name, value in values.items())


def _within(folder: Path, kind: str, path: str) -> Path:
    """A file in one of the run's folders. Raises ValueError for a path that leads anywhere else."""
    place = folder / kind / Path(path).name
    if path != f"{kind}/{place.name}":
        raise ValueError(f'found the path "{path}"; expected a file in {kind}/')
    return place


def _measured(result: TrialResult, left: Left, folder: Path, further: tuple[str, ...]) -> dict[str, float | None]:
    source = io.BytesIO(left.record) if left.record is not None else _within(folder, "trials", result.npz or "")
    assert result.max_steps is not None
    episode = Episode(read_npz(source), result.outcome, result.max_steps, result.trial.task)
    return metrics.compute(episode, further)


def _encoded(video: str, left: Left, folder: Path) -> str | None:
    """Encode the frames of a trial: the path of the video; None where nothing can encode here."""
    spool = _within(folder, "videos", video)
    path = spool.with_name(spool.name.removesuffix(SUFFIX) + ".mp4")
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = VideoWriter(path, left.fps, poster=True)
    try:
        with _opened(spool, left) as file:
            for frame in frames(file):
                writer.add(frame)
        return f"videos/{path.name}" if writer.close() else None
    except BaseException:
        writer.discard()
        raise
    finally:
        with suppress(FileNotFoundError):
            spool.unlink()


def _opened(spool: Path, left: Left) -> IO[bytes]:
    return spool.open("rb") if left.film is None else io.BytesIO(left.film)
