"""What is made otherwise than LIBERO has it: camera, light, surfaces, layout, wording. Data; `disturbing` does it.

Camera numbers are those of LIBERO-Plus. Surfaces are exchanged as LIBERO itself can exchange them. Light and layout are
of the kinds that LIBERO-Plus and LIBERO-PRO have, drawn by Proctor. The manual says what matches which paper.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from proctor.config.models import Frozen

Degrees = Annotated[float, Field(ge=-360, le=360)]


class CameraChange(Frozen):
    """Where a camera of the room stands. LIBERO-Plus writes these five as `view_H_V_S_T_U` in a task's name, S in
    hundredths, angles from 0 to 359."""

    camera: str = "agentview"
    horizontal_deg: Degrees = 0.0
    """Around the vertical axis through the origin, against the clock as seen from above."""
    vertical_deg: Degrees = 0.0
    """Upwards, around the point 0.8 m above the origin."""
    distance: float = Field(default=1.0, gt=0, le=10)
    """From that point, as a factor."""
    turn_deg: Degrees = 0.0
    """Where it looks, turned around the vertical."""
    tilt_deg: Degrees = 0.0
    """Where it looks, turned upwards."""


class LightChange(Frozen):
    """The lamps of a room."""

    brightness: float = Field(default=1.0, ge=0, le=10)
    colour: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Factors of red, green and blue."""
    specular: float = Field(default=1.0, ge=0, le=10)
    """A factor of what makes highlights."""
    turn_deg: Degrees = 0.0
    """Their direction, around the vertical."""


class SurfaceChange(Frozen):
    """Floor and wall by LIBERO's names of styles, such as `wood-plank` and `ceramic`; `scene` is another file of a room
    in the assets, such as `scenes/libero_tabletop_blue_style.xml`. None: as the task has it."""

    floor: str | None = None
    wall: str | None = None
    scene: str | None = None


class LayoutChange(Frozen):
    """Where things stand at the beginning. Each of `objects` (None: all that can be moved) is put up to `shift_m` away,
    from `seed` and the trial's index; things that touch move together. `swap`: pairs change places first."""

    shift_m: float = Field(default=0.0, ge=0, le=1)
    objects: tuple[str, ...] | None = None
    swap: tuple[tuple[str, str], ...] = ()
    seed: int = Field(default=0, ge=0, lt=2**32)


class Perturbation(Frozen):
    """What is made otherwise; None: as LIBERO has it."""

    camera: CameraChange | None = None
    light: LightChange | None = None
    surfaces: SurfaceChange | None = None
    layout: LayoutChange | None = None
    instruction: str | None = Field(default=None, max_length=1000)
    """What the robot is told in the place of the task's own words; "" for nothing."""

    @model_validator(mode="after")
    def _something(self) -> Perturbation:
        if not self.kinds:
            raise ValueError("found nothing to perturb; give camera, light, surfaces, layout or instruction")
        return self

    @property
    def kinds(self) -> list[str]:
        return [name for name in type(self).model_fields if getattr(self, name) is not None]
