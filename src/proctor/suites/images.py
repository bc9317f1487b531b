"""What policies do to camera pictures first, on whole batches: turn by 180 degrees, resize with padding.

Pictures are uint8 and stay uint8: `(..., height, width, channels)`, any number of leading axes. Each picture's answer
depends on that picture alone.
"""

from __future__ import annotations

import functools

import numpy as np

from proctor.errors import InputError

Size = tuple[int, int]
"""Height and width in pixels."""


def rotate_180(images: np.ndarray) -> np.ndarray:
    """The pictures upside down and mirrored, as a camera does that hangs the other way; contiguous."""
    _check(images)
    return np.ascontiguousarray(images[..., ::-1, ::-1, :])


def resize_with_padding(images: np.ndarray, size: Size) -> np.ndarray:
    """The pictures scaled to fit `size` with their sides in proportion, centred on black (the odd pixel below and to
    the right). Bilinear in half-pixel coordinates; where a picture gets smaller, the triangle widens with the scale, so
    that no pixel is left out. Rounded to the nearest value. Of the wanted size already: returned as they are."""
    _check(images)
    height, width = images.shape[-3:-1]
    if min(size) < 1:
        raise InputError(f"a picture of {size[0]} x {size[1]} pixels was asked for; each side has at least 1")
    if (height, width) == size:
        return images
    scale = max(height / size[0], width / size[1])
    inner = (max(1, int(height / scale)), max(1, int(width / scale)))
    resized = _resample(images, inner)
    padded = np.zeros((*images.shape[:-3], *size, images.shape[-1]), np.uint8)
    top, left = (size[0] - inner[0]) // 2, (size[1] - inner[1]) // 2
    padded[..., top : top + inner[0], left : left + inner[1], :] = resized
    return padded


def _resample(images: np.ndarray, size: Size) -> np.ndarray:
    """Rows first, then columns: one product with a fixed matrix each."""
    height, width, channels = images.shape[-3:]
    down, across = _weights(height, size[0]), _weights(width, size[1])
    values = images.reshape(-1, height, width * channels).astype(np.float32)
    values = np.stack([down @ picture for picture in values]) if len(values) else values[:, : size[0]]
    values = values.reshape(-1, width, channels)
    values = np.einsum("ow,nwc->noc", across, values, optimize=False)
    rounded = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return rounded.reshape(*images.shape[:-3], *size, channels)


@functools.lru_cache(maxsize=32)
def _weights(length: int, wanted: int) -> np.ndarray:
    """Row i: how much each of `length` pixels counts for pixel i of `wanted`; rows sum to 1. float32."""
    scale = length / wanted
    reach = max(scale, 1.0)
    centres = (np.arange(wanted) + 0.5) * scale
    distance = np.abs(np.arange(length)[None] + 0.5 - centres[:, None]) / reach
    weights = np.maximum(0.0, 1.0 - distance)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def _check(images: np.ndarray) -> None:
    if images.dtype != np.uint8 or images.ndim < 3:
        found = f"{images.dtype} {images.shape}"
        raise InputError(f"found an array of {found}; expected pictures of uint8 (..., height, width, channels)")
