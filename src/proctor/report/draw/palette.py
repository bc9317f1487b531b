"""Colours of scales, which mean the same on every page: blue the stronger the better (rates, scores), orange to red the
stronger the worse (errors, forces), violet neither (time, likeness). Each has a light and a dark form, in eleven steps
with readable text on each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

STEPS = 11

Colour = tuple[int, int, int]
Stops = tuple[Colour, Colour, Colour]

LIGHT: Stops = ((0xF2, 0xF5, 0xF8), (0x8C, 0xB8, 0xD9), (0x0B, 0x4A, 0x82))
DARK: Stops = ((0x1D, 0x25, 0x2E), (0x2C, 0x65, 0x94), (0xA5, 0xD3, 0xF7))
GOOD, BAD, NEUTRAL = "h", "b", "n"
"""Scales, by the letter of their CSS classes."""
SCALES: dict[str, tuple[Stops, Stops]] = {
    GOOD: (LIGHT, DARK),
    BAD: (
        ((0xF8, 0xF4, 0xF0), (0xF0, 0xAE, 0x5E), (0x9E, 0x12, 0x17)),
        ((0x2A, 0x23, 0x1F), (0x96, 0x4E, 0x1A), (0xFF, 0xA3, 0x8F)),
    ),
    NEUTRAL: (
        ((0xF5, 0xF3, 0xF9), (0xC0, 0xB8, 0xE6), (0x47, 0x2F, 0x8A)),
        ((0x22, 0x20, 0x2C), (0x5F, 0x51, 0x9C), (0xD6, 0xC9, 0xFF)),
    ),
}
"""For light and for dark screens."""


def heat_step(share: float) -> int:
    """The step of a value in [0, 1]."""
    return round(min(1.0, max(0.0, share)) * (STEPS - 1))


def heat_rules() -> str:
    """CSS of every scale, for light and for dark screens: classes such as `h0` to `h10` for cells, with a readable
    colour of text, and `fh0` to `fh10` for shapes."""
    inks = (("#16202a", "#ffffff"), ("#ffffff", "#0d1319"))
    light, dark = (
        "\n".join(_rules(kind, stops[i], *inks[i]) + "\n" + _fills(kind, stops[i]) for kind, stops in SCALES.items())
        for i in (0, 1)
    )
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _fills(kind: str, stops: Stops) -> str:
    return "\n".join(f".f{kind}{step} {{ fill: {colour}; }}" for step, colour in enumerate(hex_steps(stops)))


def scale_bar(kind: str) -> str:
    """The colours of a scale, classes `kind` with 0 to 10, from left to right."""
    cells = "".join(f'<rect class="{kind}{step}" x="{step}" y="0" width="1.02" height="1"/>' for step in range(STEPS))
    return f'<svg viewBox="0 0 {STEPS} 1" preserveAspectRatio="none" aria-hidden="true">{cells}</svg>'


def top_of(values: Iterable[np.ndarray]) -> float:
    """The value that gets the strongest colour: the 99th percentile of the finite ones; 1 where none is above 0."""
    pooled = np.concatenate([np.zeros(0), *(array.ravel() for array in values)])
    known = pooled[np.isfinite(pooled)]
    top = float(np.percentile(known, 99)) if known.size else 0.0
    return top if top > 0 else 1.0


def hex_steps(stops: Stops) -> list[str]:
    """The colours of a scale through three stops, as `#rrggbb`, one for every step."""
    return [f"#{bytes(_between(stops, step / (STEPS - 1))).hex()}" for step in range(STEPS)]


def _rules(kind: str, stops: Stops, text_low: str, text_high: str) -> str:
    rules = []
    for step in range(STEPS):
        colour = _between(stops, step / (STEPS - 1))
        words = max((text_low, text_high), key=lambda c: contrast(colour, _parse(c)))
        rules.append(f".{kind}{step} {{ background: #{bytes(colour).hex()}; color: {words}; }}")
    return "\n".join(rules)


def _between(stops: Stops, share: float) -> Colour:
    low, high, t = (stops[0], stops[1], 2 * share) if share < 0.5 else (stops[1], stops[2], 2 * share - 1)
    r, g, b = (round(a + (z - a) * t) for a, z in zip(low, high, strict=True))
    return r, g, b


def _parse(colour: str) -> Colour:
    r, g, b = bytes.fromhex(colour[1:])
    return r, g, b


def contrast(a: Colour, b: Colour) -> float:
    """The contrast ratio of two colours as WCAG 2 defines it, from 1 to 21."""
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Colour) -> float:
    r, g, b = (c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
