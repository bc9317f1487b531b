"""What is done to camera pictures before a policy sees them, on whole batches: turned by 180 degrees, resized.

Pictures are uint8 and stay uint8: `(..., height, width, channels)`, any number of leading axes. What becomes of a
picture depends on that picture alone. Resizing is Pillow's bilinear `resize`, which policies are commonly trained with:
rows first, each pass rounded. (Where a picture's sides change by different factors, some versions of Pillow take
columns first, and values differ by one level.)
"""

from __future__ import annotations

import functools
import math

import numpy as np

from proctor.errors import InputError

Size = tuple[int, int]
"""Height and width in pixels."""

_BITS = 22
"""Weights are whole numbers of 2**-22."""


def rotate_180(images: np.ndarray) -> np.ndarray:
    """The pictures turned upside down, as a camera sees that hangs the other way; contiguous."""
    _check(images)
    return np.ascontiguousarray(images[..., ::-1, ::-1, :])


def resize_with_padding(images: np.ndarray, size: Size) -> np.ndarray:
    """The pictures scaled to fit `size` with their sides in proportion, centred on black (an odd pixel goes below, and
    to the right). Of the wanted size already: returned as they are."""
    _check(images)
    height, width = images.shape[-3:-1]
    if min(size) < 1:
        raise InputError(f"a picture of {size[0]} x {size[1]} pixels was asked for; a side has at least 1")
    if (height, width) == size:
        return images
    scale = max(height / size[0], width / size[1])
    inner = max(1, int(height / scale)), max(1, int(width / scale))
    padded = np.zeros((*images.shape[:-3], *size, images.shape[-1]), np.uint8)
    top, left = (size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2
    padded[..., top : top + inner[0], left : left + inner[1], :] = resize(images, inner)
    return padded


def resize(images: np.ndarray, size: Size) -> np.ndarray:
    """The pictures scaled to exactly `size`, bilinear; where they get smaller, the filter widens with the scale, so
    that every pixel counts."""
    _check(images)
    across = _along(images, images.ndim - 2, size[1])
    return _along(across, images.ndim - 3, size[0])


def _along(images: np.ndarray, axis: int, wanted: int) -> np.ndarray:
    """One axis resampled: weighted sums of shifted copies, in whole numbers, rounded to the nearest."""
    length = images.shape[axis]
    if length == wanted:
        return images
    pixels, weights = _taps(length, wanted)
    shape = [1] * images.ndim
    shape[axis] = wanted
    total = np.full((*images.shape[:axis], wanted, *images.shape[axis + 1 :]), 1 << (_BITS - 1), np.int32)
    for tap in range(pixels.shape[1]):
        taken = np.take(images, pixels[:, tap], axis=axis).astype(np.int32)
        taken *= weights[:, tap].reshape(shape)
        total += taken
    total >>= _BITS
    return np.clip(total, 0, 255, out=total).astype(np.uint8)


@functools.lru_cache(maxsize=64)
def _taps(length: int, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of `wanted` pixels the pixels that it is made of (wanted, taps) and their weights, int32; taps beyond
    the edge have weight 0."""
    scale = length / wanted
    reach = max(scale, 1.0)
    centres = (np.arange(wanted) + 0.5) * scale
    first = np.maximum((centres - reach + 0.5).astype(np.int64), 0)
    last = np.minimum((centres + reach + 0.5).astype(np.int64), length)
    places = first[:, None] + np.arange(math.ceil(reach) * 2 + 1)
    weights = np.maximum(0.0, 1.0 - np.abs((places - centres[:, None] + 0.5) / reach))
    weights[places >= last[:, None]] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    used = weights.any(axis=0)
    whole = (0.5 + weights * (1 << _BITS)).astype(np.int32)
    return np.minimum(places, length - 1)[:, used], whole[:, used]


def _check(images: np.ndarray) -> None:
    if images.dtype != np.uint8 or images.ndim < 3:
        found = f"{images.dtype} {images.shape}"
        raise InputError(f"found an array of {found}; expected pictures of uint8 (..., height, width, channels)")
