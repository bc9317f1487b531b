"""The fifty tasks of Meta-World by name, each with an instruction, and the groups they are examined in."""

from __future__ import annotations

import json
from pathlib import Path

INSTRUCTIONS: dict[str, str] = json.loads(Path(__file__).with_name("instructions.json").read_text())
"""Task -> instruction, in Meta-World's order. Instructions are Proctor's; the package has none."""

GROUPS: dict[str, tuple[str, ...]] = {
    "MT10": (
        "reach-v3", "push-v3", "pick-place-v3", "door-open-v3", "drawer-open-v3", "drawer-close-v3",
        "button-press-topdown-v3", "peg-insert-side-v3", "window-open-v3", "window-close-v3",
    ),
    "MT50": tuple(INSTRUCTIONS),
}  # fmt: skip
"""Groups of several tasks; `MT1` is one task by name."""

TEXT_BYTES = 64
"""Bytes of an instruction in an observation."""
