from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DimSpec:
    """`dims` 0: not an array, or of a size that is not said."""

    name: str
    dims: int
    format: str
    range: tuple[float, float] | None = None


IMAGE_RGB, LANGUAGE, RAW = (
    DimSpec("image", 0, "rgb_hwc_uint8"),
    DimSpec("language", 0, "language"),
    DimSpec("raw", 0, "raw"),
)
