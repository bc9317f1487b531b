"""What goes into a policy and comes out of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FeatureType(str, Enum):  # noqa: UP042 - as it is there
    STATE = "STATE"
    VISUAL = "VISUAL"
    ACTION = "ACTION"


@dataclass
class PolicyFeature:
    type: FeatureType
    shape: tuple[int, ...]
