"""The recorded arrays of a trial for plots: every number of every step, as one block of bytes.

An answer is the length of a JSON text (4 bytes, little-endian), the text, and float32 numbers, signal after signal and
column after column, each column with a value for every step. Times are those after each step: a value at time t is what
held when step t had been taken. Observations are taken from after the step, too; a reference with a frame more than
there are steps likewise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from proctor.metrics.registry import find_metrics
from proctor.view import scene
from proctor.view.snapshot import SCENE_FORCE, Snapshot, said_force_unit
from proctor.view.trial import constants, episode_of
from proctor_host.result import TrialResult

WIDEST, MOST_NUMBERS = 64, 8_000_000
"""Numbers of a step that are still drawn as lines, and numbers of an answer."""
FIRST = ("rewards", "actions", "success")
ENDS = ("terminals", "truncations")
REFERENCE = "reference."
IN_SPACE = ("state.", "scene.")
"""How the names of what is shown in space begin."""


@dataclass(frozen=True)
class Signal:
    """`values` (n, columns); `reference`: the same as it should have been."""

    name: str
    values: np.ndarray
    reference: np.ndarray | None = None


def packed(snapshot: Snapshot, key: str) -> bytes:
    """The signals of a trial and what is to be said of them."""
    result, episode = episode_of(snapshot, key)
    n, dt = episode.n_steps, episode.dt_s
    signals, once, wide = sorted_arrays(episode.arrays, n)
    blocks, listed, used = [], [], 0
    for signal in signals:
        numbers = signal.values.size * (1 if signal.reference is None else 2)
        if used + numbers > MOST_NUMBERS:
            wide.append(f"{signal.name} (the answer would be too large)")
            continue
        used += numbers
        blocks += [signal.values.T, *([] if signal.reference is None else [signal.reference.T])]
        listed.append(
            {"name": signal.name, "columns": signal.values.shape[1], "reference": signal.reference is not None}
        )
    head = {
        "n": n,
        "dt_s": dt if math.isfinite(dt) else None,
        "signals": listed,
        "left_out": wide,
        "constants": constants(once),
        "names": _column_names(episode.arrays, signals),
        "no_space": scene.missing(episode.arrays, n),
        "moments": list(moments(result, episode.arrays, n)),
    }
    text = json.dumps(head, allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(np.ascontiguousarray(block, "<f4").tobytes() for block in blocks)
    return len(text).to_bytes(4, "little") + text + body


def sorted_arrays(arrays: Mapping[str, np.ndarray], n: int) -> tuple[list[Signal], dict[str, np.ndarray], list[str]]:
    """What is drawn over time, what holds for the whole trial, and the names of what is too wide to be drawn."""
    signals, once, wide = [], {}, []
    plain = {name: array for name, array in arrays.items() if not name.startswith(IN_SPACE)}
    for name in sorted(plain, key=lambda name: (name not in FIRST, FIRST.index(name) if name in FIRST else 0, name)):
        array = arrays[name]
        observed = name == "observations" or name.startswith("observations.")
        rows = array[1:] if observed and len(array) == n + 1 else array
        if array.ndim == 0 or len(rows) != n or rows.dtype.kind not in "biuf" or name in ENDS:
            if name not in ENDS:
                once[name] = array
            continue
        flat = rows.reshape(n, -1) if n else rows.reshape(0, 1)
        if flat.shape[1] > WIDEST:
            wide.append(f"{name} ({'x'.join(map(str, rows.shape[1:]))} numbers a step)")
            continue
        signals.append(Signal(name, flat.astype(np.float32), _reference(arrays.get(REFERENCE + name), flat, n)))
    used = {REFERENCE + signal.name for signal in signals if signal.reference is not None}
    return signals, {name: array for name, array in once.items() if name not in used}, wide


def _reference(found: np.ndarray | None, like: np.ndarray, n: int) -> np.ndarray | None:
    """A recorded reference, which has a frame for the beginning, too."""
    if found is None or found.dtype.kind not in "biuf" or len(found) < n + 1:
        return None
    rows = found[1 : n + 1].reshape(n, -1)
    return rows.astype(np.float32) if rows.shape == like.shape else None


def _column_names(arrays: Mapping[str, np.ndarray], signals: list[Signal]) -> dict[str, list[str]]:
    """Names of the columns of signals, where a constant has as many: `joint_names` for `joint_pos`."""
    named = {name.removesuffix("_names"): array for name, array in arrays.items() if name.endswith("_names")}
    found: dict[str, list[str]] = {}
    for signal in signals:
        for stem, array in named.items():
            if array.dtype.kind == "U" and stem in signal.name and array.shape == (signal.values.shape[1],):
                found[signal.name] = [str(name) for name in array]
    return found


def moments(result: TrialResult, arrays: Mapping[str, np.ndarray], n: int) -> Iterator[dict[str, Any]]:
    """Steps that are worth a look: success, the worst reward, and where a metric found its value."""
    if not n:
        return
    if result.first_success is not None:
        yield {"step": result.first_success, "kind": "success", "text": "success holds for the first time"}
    if result.steps_to_success is not None and result.steps_to_success != result.first_success:
        yield {"step": result.steps_to_success, "kind": "success", "text": "success holds from here on"}
    rewards = np.asarray(arrays["rewards"], float)
    if np.isfinite(rewards).any() and np.nanmax(rewards) > np.nanmin(rewards):
        step = int(np.nanargmin(rewards))
        yield {"step": step + 1, "kind": "worst", "text": f"lowest reward, {rewards[step]:.4g}".replace("-", "\u2212")}
    for name, value in result.metrics.items():
        dt = float(arrays["action_dt_s"])
        if (
            name.startswith("first_")
            and name.endswith("_s")
            and value is not None
            and dt > 0
            and 1 <= round(value / dt) <= n
        ):
            yield {"step": round(value / dt), "kind": "worst", "text": f"{name} {value:.4g} s"}
    seen = set[tuple[str, int]]()
    for metric in find_metrics():
        value = None if metric.name.endswith("_last") else result.metrics.get(metric.name)
        for name in metric.needs if value is not None else ():
            step = _where(arrays.get(name), value, n)
            if step is not None and (name, step) not in seen:
                seen.add((name, step))
                yield {
                    "step": step + 1,
                    "kind": "extreme",
                    "text": f"{metric.name} {value:.4g} {_unit(metric.unit, arrays)}".rstrip(),
                    "of": name,
                }
    end = {"success": "success", "failure": "failure", "truncated": "limit"}.get(result.outcome.value, "end")
    yield {"step": n, "kind": end, "text": f"the end: {result.outcome.value.replace('_', ' ')}"}


def _where(array: np.ndarray | None, value: float | None, n: int) -> int | None:
    """The step at which a signal, or its norm, has this value as its largest; None where it has not."""
    if array is None or value is None or array.ndim == 0 or len(array) != n or array.dtype.kind not in "iuf":
        return None
    rows = np.asarray(array, float).reshape(n, -1)
    size = np.abs(rows[:, 0]) if rows.shape[1] == 1 else np.linalg.norm(rows, axis=1)
    if not np.isfinite(size).any():
        return None
    step = int(np.nanargmax(size))
    return step if size[step] > 0 and math.isclose(size[step], abs(value), rel_tol=1e-5) else None


def _unit(unit: str, arrays: Mapping[str, np.ndarray]) -> str:
    if unit == SCENE_FORCE:
        return said_force_unit(arrays)
    return "" if unit in ("1", "?") else unit
