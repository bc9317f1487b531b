"""How a vector environment resets ended worlds, in the words of Gymnasium.

Gymnasium has a choice since 1.1. In 1.0 every vector environment resets an ended world on the step after, and only all
worlds together can be reset.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gymnasium.vector import AutoresetMode

    HAS_MODES = True
else:
    try:
        from gymnasium.vector import AutoresetMode

        HAS_MODES = True
    except ImportError:
        HAS_MODES = False

        class AutoresetMode(Enum):
            """The modes under the names and values that Gymnasium 1.1 gave them."""

            NEXT_STEP = "NextStep"
            SAME_STEP = "SameStep"
            DISABLED = "Disabled"


__all__ = ["HAS_MODES", "AutoresetMode"]
