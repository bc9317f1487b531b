"""`tracking_v1`: how well a motion was reproduced, from 0 to 1.

Joint-space error alone does not see a robot that moves its joints on the floor, so the score also asks where the bodies
were and whether the robot stood:

    pose     exp(-emd / emd_scale)                  emd_scale 0.75 rad        weight 2
    place    exp(-mpjpe_xpos / place_scale_mm)      place_scale_mm 500 mm     weight 1
    upright  upright_share                                                    weight 1

The total is the weighted mean of what is available. A metric that was not recorded is dropped together with its weight.
One that was recorded and has no value (the agent's numbers are not finite) counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from proctor.config.models import Frozen, ScoringCfg
from proctor.errors import InputError
from proctor.record.result import TrialResult
from proctor.registry import nearest
from proctor.scoring.protocol import Score, Scoring, finite


class TrackingV1Options(Frozen):
    """`scoring.options` of `tracking_v1`."""

    emd_scale: float = Field(default=0.75, gt=0)
    """EMD in rad at which `pose` is 1/e."""
    place_scale_mm: float = Field(default=500.0, gt=0)
    """Mean body error in mm at which `place` is 1/e."""
    w_pose: float = Field(default=2.0, ge=0)
    w_place: float = Field(default=1.0, ge=0)
    w_upright: float = Field(default=1.0, ge=0)
    targets: dict[str, float] = Field(default_factory=dict)
    """Metric -> what its mean should come to."""


class TrackingV1(Scoring):
    """Pose by transport distance, place by body positions, and the share of frames upright."""

    name, version = "tracking_v1", "1"
    components = ("pose", "place", "upright")
    floor: float | None = 0.0

    def __init__(self, cfg: ScoringCfg):
        super().__init__(cfg)
        self.options = _options(cfg.options)

    def rate(self, result: TrialResult) -> Score:
        found, options = result.metrics, self.options
        parts = {
            "pose": _closeness(found, "emd", options.emd_scale),
            "place": _closeness(found, "mpjpe_xpos", options.place_scale_mm),
            "upright": _share(found, "upright_share"),
        }
        weights = {"pose": options.w_pose, "place": options.w_place, "upright": options.w_upright}
        known = {name: value for name, value in parts.items() if value is not None}
        norm = sum(weights[name] for name in known)
        return Score(sum(weights[name] * value for name, value in known.items()) / norm if norm else None, parts)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "options": self.options.model_dump(mode="json")}


def _closeness(metrics: Mapping[str, float | None], name: str, scale: float) -> float | None:
    """exp(-value / scale); None where the metric was not recorded, 0 where it has no value."""
    if name not in metrics:
        return None
    value = finite(metrics[name])
    return 0.0 if value is None else math.exp(-value / scale)


def _share(metrics: Mapping[str, float | None], name: str) -> float | None:
    return (finite(metrics[name]) or 0.0) if name in metrics else None


def _options(options: Mapping[str, Any]) -> TrackingV1Options:
    try:
        return TrackingV1Options.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        known = list(TrackingV1Options.model_fields)
        if first["type"] == "extra_forbidden":
            hint = nearest(key, known)
            meant = f'did you mean "{hint}"? ' if hint else ""
            raise InputError(
                f'the scoring tracking_v1 has no option "{key}"; {meant}(known: {", ".join(known)})'
            ) from None
        raise InputError(f'the option "{key}" of the scoring is {first["input"]!r}: {first["msg"]}') from None
