"""What MuJoCo calls by different names in the versions that are supported, 3.3 and later."""

from __future__ import annotations

from typing import Any


def directional_light() -> dict[str, Any]:
    """Arguments of `add_light` for a light that is far away: it has had a type since MuJoCo 3.3.3, before a flag."""
    import mujoco

    try:
        return {"type": mujoco.mjtLightType.mjLIGHT_DIRECTIONAL}
    except AttributeError:
        return {"directional": True}


def delete(spec: Any, element: Any) -> None:
    """Take an element out of an `MjSpec`: the specification does it since MuJoCo 3.3.3, before the element itself."""
    try:
        remove = spec.delete
    except AttributeError:
        element.delete()
    else:
        remove(element)
