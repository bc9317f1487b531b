"""The environment that a checkpoint of eve_rl (`.everl`) was trained in, as options.

Such a checkpoint holds the configuration of its evaluation environment as plain data: classes of stEVE by name with
their arguments. What of it both simulators have becomes options: the observation's entries and the picture for both;
vessels, target, friction and device for the embedded one. An object that was described before appears again as its
class and number only.
"""

from __future__ import annotations

import math
from typing import Any

from proctor.errors import InputError

ENTRIES = {
    "Tracking2D": "tracking",
    "Target2D": "target",
    "LastAction": "last_action",
    "Rotations": "rotation",
    "InsertionLengths": "inserted_lengths",
}
"""Observations of stEVE, and what they are called here."""
ARCHES = ("lcca", "rcca", "lsa", "rsa", "bct")


def observation_of(environment: dict[str, Any], where: str) -> dict[str, Any]:
    """Options of the observation. Raises InputError for one that is not among `ENTRIES`, or scaled otherwise."""
    found: dict[str, Any] = {"observed": []}
    entries = environment["observation"].get("observations")
    if not isinstance(entries, dict):
        raise InputError(f"{where}: the observation is no ObsDict; its entries cannot be named")
    for name, outer in entries.items():
        kinds, memory, inner = [], None, outer
        while "wrapped_obs" in inner:
            kinds.append(_kind(inner))
            memory = inner.get("n_steps", memory)
            inner = inner["wrapped_obs"]
        entry = ENTRIES.get(_kind(inner))
        if entry is None or entry in found["observed"]:
            known = ", ".join(ENTRIES)
            raise InputError(
                f'{where}: the observation "{name}" is {_kind(inner)}; expected each of {known} once at most'
            )
        scaled = any(kind.startswith("Normalize") for kind in kinds)
        if scaled != (entry != "rotation"):
            raise InputError(f'{where}: the observation "{name}" is {"" if scaled else "not "}scaled, unlike ours')
        if memory is not None and entry != "tracking":
            raise InputError(f'{where}: the observation "{name}" has a memory; here only tracking has one')
        if entry == "tracking":
            found |= {"tracking_points": inner["n_points"], "tracking_resolution_mm": float(inner["resolution"])}
            found["tracking_memory"] = memory or 1
        found["observed"].append(entry)
    return found


def embedded_options(environment: dict[str, Any], where: str) -> dict[str, Any]:
    """Options of the embedded suite that come nearest to this environment."""
    parts = environment["intervention"]
    view, target, devices = parts["fluoroscopy"], parts["target"], parts["devices"]
    if len(devices) not in (1, 2):
        raise InputError(f"{where}: the environment has {len(devices)} devices, and the embedded simulator one or two")
    if any(device["velocity_limit"] != devices[0]["velocity_limit"] for device in devices):
        raise InputError(
            f"{where}: the devices have different velocity limits; the embedded simulator has one for both"
        )
    anatomy = {
        **_vessels(parts["vessel_tree"], where),
        "target_mode": "centerline" if _kind(target) == "CenterlineRandom" else "branch_end",
        "target_branches": [name for name in target.get("branches") or ARCHES if name in ARCHES],
        "target_threshold_mm": float(target["threshold"]),
        "image_frequency_hz": float(view["image_frequency"]),
        "image_rot_zx_deg": [float(angle) for angle in view["image_rot_zx"]],
        "friction": float(parts["simulation"]["friction"]),
    }
    interim = environment.get("interim_target") or {}
    if _kind(interim) == "Even":
        anatomy["interim_target_mm"] = float(interim["resolution"])
        anatomy["interim_threshold_mm"] = float(interim["threshold"])
    speed, spin = devices[0]["velocity_limit"]
    return {
        "observation": "steve",
        "anatomy": anatomy,
        **{name: _tool(device, where) for name, device in zip(("tool", "catheter"), devices, strict=False)},
        "max_translation_mm_s": float(speed),
        "max_rotation_rad_s": float(spin),
        "stop_at_tree_end": bool(parts["stop_device_at_tree_end"]),
        **observation_of(environment, where),
    }


def _kind(part: dict[str, Any]) -> str:
    return str(part.get("_class", "")).rpartition(".")[2]


def _vessels(tree: dict[str, Any], where: str) -> dict[str, Any]:
    kind = _kind(tree)
    if kind == "AorticArch":
        types, varies = [tree["arch_type"]], False
    elif kind == "AorticArchRandom":
        types, varies = tree.get("arch_types_filter") or [], True
    else:
        raise InputError(
            f"{where}: the vessels are a {kind}; the embedded simulator generates arches. Give anatomy: {{type: "
            "centerlines, ...} beside, or run on SOFA"
        )
    if types != ["I"]:
        raise InputError(f"{where}: arches of type {', '.join(types) or 'any'}; of stEVE's, only type I is comparable")
    scales = (tree.get("scale_diameter_array") or []) if varies else (tree.get("scaling_xyzd") or [])[3:]
    scale = float(scales[0]) if len(scales) == 1 else 1.0
    seed = {} if varies else {"seed": int(tree["seed"]) % 2**31}
    return {"type": "aortic_arch", "arch_type": "I", "vary": varies, "scale_diameter": scale, **seed}


def _tool(device: dict[str, Any], where: str) -> dict[str, Any]:
    """A J-shaped wire with the device's dimensions and, from Young's modulus (MPa), its stiffness, with a full section:
    stEVE does not tell SOFA of inner diameters."""
    if _kind(device) != "JShaped":
        raise InputError(
            f"{where}: the device is a {_kind(device)}; the embedded simulator takes JShaped ones. Give tool"
        )

    def stiffness(part: str) -> float:
        return float(device[f"young_modulus_{part}"] * math.pi / 64 * device[f"{part}_outer_diameter"] ** 4)

    curve, ratio = float(device["tip_radius"] * device["tip_angle"]), 1.0 + float(device["poisson_ratio"])
    return {
        "length_mm": float(device["length"]),
        "radius_mm": float(device["straight_outer_diameter"] / 2),
        "shaft_bending": stiffness("straight"),
        "shaft_torsion": stiffness("straight") / ratio,
        "tip_bending": stiffness("tip"),
        "tip_torsion": stiffness("tip") / ratio,
        "tip_length_mm": curve,
        "taper_mm": 0.0,
        "curve_radius_mm": float(device["tip_radius"]),
        "curve_length_mm": curve,
    }
