"""The picture that stEVE's agents may observe: devices as dark lines on grey, 8 bit, and nothing else.

As stEVE's `Pillow` fluoroscopy defines it: the largest scale at which the box around the vessels fits, centred, up is
up; lines of grey 40, as wide as the device. Its background is noise around 128, drawn anew for every picture; here it
is 128, so that a trial can be repeated. This file needs numpy only, for any interpreter may run a simulator.
"""

from __future__ import annotations

import numpy as np

PAPER, LINE = 128, 40
WIDER = 0.1
"""By what share of its bounds the box around the centrelines is wider on either side."""


def box_around(centrelines: np.ndarray) -> np.ndarray:
    """(2, 2) lower and upper corner of the picture of centrelines (n, 2), mm."""
    low, high = centrelines.min(axis=0), centrelines.max(axis=0)
    return np.stack([low - WIDER * np.abs(low), high + WIDER * np.abs(high)])


def widths(along: np.ndarray, lengths: np.ndarray, diameters: np.ndarray) -> np.ndarray:
    """(n - 1,) mm: how wide a device is between points that are `along` (n,) mm behind the tip, of devices (d,) with
    these insertions and diameters: the one ahead alone, then the widest."""
    ahead = int(np.argmax(lengths))
    gap = lengths[ahead] - np.delete(lengths, ahead).max() if len(lengths) > 1 else np.inf
    return np.where(along[:-1] < gap, diameters[ahead], np.max(diameters))


def picture(line: np.ndarray, wide_mm: np.ndarray, box: np.ndarray, size_px: int) -> np.ndarray:
    """(size, size) uint8 of a line (n, 2) in the picture's mm, `wide_mm` (n - 1,) from point to point; `box` (2, 2) is
    what is shown."""
    extent = box[1] - box[0]
    scale = float((size_px / extent).min())
    place = np.rint((line - box[0]) * scale + 0.5 * (size_px - extent * scale))
    place[:, 1] = size_px - place[:, 1]
    found = np.full((size_px, size_px), PAPER, np.uint8)
    moves = (np.diff(place, axis=0) != 0).any(axis=1)
    kept = np.flatnonzero(np.concatenate([moves, [True]]))
    for k, first in enumerate(kept[:-1]):
        half = 0.5 * max(round(float(wide_mm[first]) * scale), 1)
        _stroke(found, place[first], place[kept[k + 1]], half)
    if len(kept) == 1:
        _stroke(found, place[0], place[0], 0.5)
    return found


def _stroke(found: np.ndarray, a: np.ndarray, b: np.ndarray, half: float) -> None:
    """Darken the pixels whose middle is within `half` of the line from a to b (column, row)."""
    most = np.array(found.shape[::-1])
    low = np.clip(np.floor(np.minimum(a, b) - half).astype(int), 0, most)
    high = np.clip(np.ceil(np.maximum(a, b) + half).astype(int) + 1, 0, most)
    x, y = np.arange(low[0], high[0])[None, :], np.arange(low[1], high[1])[:, None]
    along = b - a
    share = ((x - a[0]) * along[0] + (y - a[1]) * along[1]) / max(float(along @ along), 1e-9)
    share = np.clip(share, 0.0, 1.0)
    near = np.hypot(x - a[0] - share * along[0], y - a[1] - share * along[1]) <= half
    found[low[1] : high[1], low[0] : high[0]][near] = LINE
