"""Does to a LIBERO environment what a perturbation says; see `perturbations`. Options may be plain data here, for an
environment may live in another interpreter.

A reset makes a new model, so cameras and lamps are moved after each; surfaces are what the next reset builds; layout is
a matter of the initial state, of which a copy is changed.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError
from proctor.registry import did_you_mean

PIVOT_M = np.array([0.0, 0.0, 0.8])
"""What LIBERO-Plus turns cameras around."""
TOUCH_M = 0.05
"""Things whose middles are nearer to each other than this, seen from above, move together."""
APART_M = 0.15
"""Things that are farther from each other than this are never too near."""


class Disturbance:
    """`change`: a `Perturbation`, or None for nothing."""

    def __init__(self, change: Any):
        self._change = change

    def furnish(self, world: Any) -> None:
        """Have a LIBERO environment built with other surfaces from its next reset on. Raises InputError for a style or
        a room that there is not."""
        surfaces = None if self._change is None else self._change.surfaces
        if surfaces is None:
            return
        env = world.env
        styles = {kind: getattr(surfaces, kind) for kind in ("floor", "wall") if getattr(surfaces, kind) is not None}
        known = importlib.import_module("libero.libero.envs.arenas.style").STYLE_MAPPING
        for kind, style in styles.items():
            if style not in known[kind]:
                has = ", ".join(known[kind])
                raise InputError(f'LIBERO has no {kind} "{style}"{did_you_mean(style, known[kind])} (it has {has})')
        env._arena_properties = {**env._arena_properties, **{f"{kind}_style": name for kind, name in styles.items()}}
        if surfaces.scene is not None:
            path = Path(env.custom_asset_dir) / surfaces.scene
            if not path.is_file():
                raise InputError(f"surfaces.scene: there is no file {path}; name one of LIBERO's assets, in scenes/")
            env._arena_xml = str(path)

    def illuminate(self, sim: Any) -> None:
        """Move cameras and change lamps of a new model."""
        if self._change is None:
            return
        model, camera, light = sim.model, self._change.camera, self._change.light
        if camera is not None:
            number = model.camera_name2id(camera.camera)
            place, turn = moved_camera(model.cam_pos[number], model.cam_quat[number], camera)
            model.cam_pos[number], model.cam_quat[number] = place, turn
        if light is not None:
            model.light_diffuse[:] *= light.brightness * np.array(light.colour)
            model.light_specular[:] *= light.specular
            turn = _about("z", light.turn_deg)
            model.light_dir[:] = np.array([_rotated(turn, direction) for direction in np.array(model.light_dir)])

    def arrange(self, world: Any, state: np.ndarray, index: int) -> np.ndarray:
        """The initial state of trial `index` with things elsewhere."""
        layout = None if self._change is None else self._change.layout
        if layout is None:
            return state
        env, state = world.env, np.array(state)
        columns = {name: 1 + _address(env.sim.model, thing.joints[-1]) for name, thing in env.objects_dict.items()}
        named = [*(layout.objects or ()), *(name for pair in layout.swap for name in pair)]
        for name in named:
            if name not in columns:
                raise InputError(
                    f'layout: nothing that can be moved is called "{name}"{did_you_mean(name, columns)} '
                    f"(this task has {', '.join(columns)})"
                )
        for one, other in layout.swap:
            first, second = (slice(columns[name], columns[name] + 2) for name in (one, other))
            state[first], state[second] = state[second].copy(), state[first].copy()
        chosen = list(columns if layout.objects is None else layout.objects)
        places = np.array([state[columns[name] : columns[name] + 2] for name in columns])
        free = np.array([name in chosen for name in columns])
        found = shifted(places, free, layout.shift_m, np.random.default_rng([layout.seed, index]))
        for column, place in zip(columns.values(), found, strict=True):
            state[column : column + 2] = place
        return state


def moved_camera(position: Sequence[float], quaternion: Sequence[float], change: Any) -> tuple[np.ndarray, np.ndarray]:
    """Place and orientation (w, x, y, z) of a camera, step by step and rounded as LIBERO-Plus does it."""
    place, turn = np.array(position, np.float64), np.array(quaternion, np.float64)
    around = [("y", -change.vertical_deg)] if change.vertical_deg else []
    for axis, degrees in [*around, ("z", change.horizontal_deg)]:
        step = _about(axis, degrees)
        place = np.round(PIVOT_M + _rotated(step, place - PIVOT_M), 4)
        turn = np.round(_product(step, turn / np.linalg.norm(turn)), 4)
    if change.distance != 1.0:
        place = np.round(PIVOT_M + change.distance * (place - PIVOT_M), 4)
    for axis, degrees in (("z", change.turn_deg), ("y", -change.tilt_deg)):
        if degrees:
            turn = np.round(_product(_about(axis, degrees), turn / np.linalg.norm(turn)), 4)
    return place, turn / np.linalg.norm(turn)


def shifted(places: np.ndarray, free: np.ndarray, shift_m: float, rng: np.random.Generator) -> np.ndarray:
    """Places (n, 2) of things, those that are `free` up to `shift_m` elsewhere. Things that touch move together, and
    not at all where one of them is not free. No two that are apart come nearer than they were, unless they are well
    apart: draws that do so are made again, each within a little less."""
    apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
    groups = _touching(apart < TOUCH_M)
    group_free = np.array([free[groups == group].all() for group in range(groups.max() + 1)]) if len(groups) else free
    limit = np.minimum(apart, APART_M)
    others = groups[:, None] != groups[None]
    radius = shift_m
    while radius > 1e-3:
        angle = rng.uniform(0, 2 * math.pi, len(group_free))
        length = radius * np.sqrt(rng.uniform(0, 1, len(group_free))) * group_free
        moved = places + (length[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))[groups]
        near = np.linalg.norm(moved[:, None] - moved[None], axis=-1) < limit
        if not (near & others).any():
            return moved
        radius *= 0.97
    return places


def _touching(near: np.ndarray) -> np.ndarray:
    """A number for each thing, the same for things that touch each other, also by way of others; from 0 on."""
    groups = np.arange(len(near))
    for row in range(len(near)):
        for other in np.flatnonzero(near[row]):
            groups[groups == groups[other]] = groups[row]
    return np.unique(groups, return_inverse=True)[1]


def _address(model: Any, joint: str) -> int:
    """Where a free joint begins in the positions."""
    found = model.get_joint_qpos_addr(joint)
    return int(found[0] if isinstance(found, tuple) else found)


def _about(axis: str, degrees: float) -> np.ndarray:
    """A rotation (w, x, y, z) around an axis of the room."""
    half = math.radians(degrees) / 2
    return np.array([math.cos(half), *(math.sin(half) * (axis == name) for name in "xyz")])


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    w, v, s, u = first[0], first[1:], second[0], second[1:]
    return np.array([w * s - v @ u, *(w * u + s * v + np.cross(v, u))])


def _rotated(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    w, v = turn[0], turn[1:]
    return vector + 2 * np.cross(v, np.cross(v, vector) + w * vector)
