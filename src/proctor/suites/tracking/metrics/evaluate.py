"""All tracking metrics of one pair of tracks, or of many, and many motions as one dictionary.

Transport of all spaces and motions goes through one call, which has its own threads; beside them, the frame-wise
metrics of many trials are one array program, in numpy or on a device.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from proctor.errors import InputError, optional
from proctor.suites.tracking.metrics.frames import Values, frame_metrics_of
from proctor.suites.tracking.metrics.track import Legacy, Track, TrackOptions
from proctor.suites.tracking.parts import METRICS
from proctor.threads import cores

LEGACY_OBSERVED = 23
"""Entries of the observed joint block that the older evaluator compared."""

Pair = tuple[Track, Track]


class _Transport(NamedTuple):
    row: int
    name: str
    agent: np.ndarray
    reference: np.ndarray


def tracking_metrics(
    agent: Track,
    reference: Track,
    *,
    legacy: Legacy | None = None,
    dt_s: float | None = None,
    options: TrackOptions | None = None,
) -> Values:
    """The tracking metrics of one motion by name, those whose arrays both tracks have.

    None: the value does not exist (`first_fall_s` of an agent that never fell, `vel_dist` of one frame). NaN: it could
    not be computed, because the agent's numbers are not finite. Unequal lengths: transport compares all frames,
    frame-wise metrics the first ones that both have, and `frames_cut` says how many were left out. `legacy` and `dt_s`
    override what `options` says."""
    return evaluate_tracks([(agent, reference)], 1, legacy=legacy, dt_s=dt_s, options=options)[0]


def evaluate_tracks(
    pairs: Sequence[Pair],
    threads: int | None = None,
    *,
    legacy: Legacy | None = None,
    dt_s: float | None = None,
    options: TrackOptions | None = None,
    device: str | None = None,
) -> list[Values]:
    """`tracking_metrics` of every (agent, reference), in order; the same numbers for any number of threads, and however
    many pairs there are. `threads`: None for all cores that this process may use. `device`: what torch calls the one
    that computes frame-wise metrics, which are then the same up to rounding; None: this processor."""
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}; expected 1 or more, or None for all cores")
    given = {name: value for name, value in {"legacy": legacy, "dt_s": dt_s}.items() if value is not None}
    options = replace(options or TrackOptions(), **given)
    pairs = [(_prepared(a, options), _prepared(r, options)) for a, r in pairs]
    for position, (agent, reference) in enumerate(pairs):
        _check(agent, reference, f" of pair {position}" if len(pairs) > 1 else "")
    check_device(device)
    threads = min(cores() if threads is None else threads, max(1, len(pairs)))
    with ThreadPoolExecutor(1) as aside:
        beside = aside.submit(_transport, pairs, threads) if threads > 1 else None
        rows = frame_metrics_of(pairs, options, device)
        distances = _transport(pairs, threads) if beside is None else beside.result()
    found = [{**row, **distance} for row, distance in zip(rows, distances, strict=True)]
    return [{name: row[name] for name in METRICS if name in row} for row in found]


def check_device(device: str | None) -> None:
    """Raise InputError unless torch can compute there; None is always fine."""
    if device is None:
        return
    torch = optional("torch", f'metrics on device "{device}"', "torch")
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise InputError(f'device is "{device}", where torch cannot compute in double precision: {first}') from None


def _prepared(track: Track, options: TrackOptions) -> Track:
    if options.legacy != "bfm_zero" or track.observed is None:
        return track
    return replace(track, observed=track.observed[:, :LEGACY_OBSERVED])


JOINTS, OBSERVED = "emd", "obs_state_emd"


def _check(agent: Track, reference: Track, where: str) -> None:
    """Refuse arrays that cannot be compared, and a reference that is not finite."""
    for name in (f.name for f in fields(Track)):
        a, r = getattr(agent, name), getattr(reference, name)
        if a is None or r is None:
            continue
        if a.shape[1:] != r.shape[1:]:
            raise InputError(
                f"{name}{where}: one frame of the agent has shape {a.shape[1:]}, one of the reference {r.shape[1:]}; "
                "both tracks need the same joints and bodies in the same order"
            )
        if not np.isfinite(r).all():
            frame = int(np.flatnonzero(~np.isfinite(r).reshape(len(r), -1).all(axis=1))[0])
            raise InputError(f"{name}{where}: the reference is not finite at frame {frame}; repair or drop the motion")


def _transport(pairs: Sequence[Pair], threads: int) -> list[Values]:
    """The transport distances of each pair; NaN where the agent's numbers are not finite. Where joints are observed as
    they are, there is one problem less."""
    from proctor.metrics.transport import emd_many

    found: list[Values] = [{} for _ in pairs]
    possible: list[_Transport] = []
    for row, pair in enumerate(pairs):
        for job in _transports(row, *pair):
            found[row][job.name] = float("nan")
            if np.isfinite(job.agent).all():
                possible.append(job)
    same = [_same_as_joints(job, *pairs[job.row]) for job in possible]
    jobs = [job for job, known in zip(possible, same, strict=True) if not known]
    distances = emd_many([(job.agent, job.reference) for job in jobs], threads=threads) if jobs else ()
    for job, distance in zip(jobs, distances, strict=True):
        found[job.row][job.name] = float(distance)
    for job, known in zip(possible, same, strict=True):
        if known:
            found[job.row][job.name] = found[job.row][JOINTS]
    return found


def _same_as_joints(job: _Transport, agent: Track, reference: Track) -> bool:
    """Whether this is the problem of the joints under another name."""
    if job.name != OBSERVED:
        return False
    pairs = (agent.joint_pos, agent.observed), (reference.joint_pos, reference.observed)
    return all(one is not None and other is not None and np.array_equal(one, other) for one, other in pairs)


def _transports(row: int, agent: Track, reference: Track) -> list[_Transport]:
    arrays = {
        JOINTS: (agent.joint_pos, reference.joint_pos),
        "emd_xpos": (agent.body_pos, reference.body_pos),
        OBSERVED: (agent.observed, reference.observed),
    }
    return [
        _Transport(row, name, a.reshape(len(a), -1), r.reshape(len(r), -1))
        for name, (a, r) in arrays.items()
        if a is not None and r is not None
    ]


IDENTIFIERS = frozenset({"motion_id", "motion_file", "world", "seed"})
"""Numbers that name something: never averaged."""


def summarize(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Mean (`name`) and population standard deviation (`name#std`) of every numeric entry over the rows, and how many
    rows are in them (`name#n`); identifiers and text are left out.

    A row without the entry, or with None or NaN there, cannot enter the mean, and is not in its n: such rows are
    counted in `name#missing`, which is there only where it is not 0. Where no row has a value, mean and deviation are
    NaN, and n is 0."""
    rows = list(rows)
    names = dict.fromkeys(name for row in rows for name, value in row.items() if _is_number(value))
    kept = [name for name in names if name not in IDENTIFIERS]
    found: dict[str, float] = {}
    for name in kept:
        known = np.array([value for row in rows if _known(value := row.get(name))], np.float64)
        found[name] = float(known.mean()) if known.size else math.nan
        found[f"{name}#std"] = float(known.std()) if known.size else math.nan
        found[f"{name}#n"] = float(known.size)
        if len(known) < len(rows):
            found[f"{name}#missing"] = float(len(rows) - len(known))
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_)


def _known(value: Any) -> bool:
    return _is_number(value) and not math.isnan(float(value))


def by_motion(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows by motion, each with `motion_id` (its position) and `motion_file` (its name) added. A name that comes again
    gets a number, `walk`, `walk#2`, so that no row replaces another."""
    found: dict[str, dict[str, Any]] = {}
    for position, (name, row) in enumerate(zip(names, rows, strict=True)):
        key, again = name, 1
        while key in found or (again > 1 and key in names):
            again += 1
            key = f"{name}#{again}"
        found[key] = {**row, "motion_id": position, "motion_file": name}
    return found
