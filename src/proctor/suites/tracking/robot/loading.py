"""Robots by name: `builtin:g1`, `menagerie:NAME`, or the path of an MJCF file."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import Any

from proctor.errors import InputError, MissingExtra
from proctor.registry import did_you_mean
from proctor.suites.tracking.robot.assembly import assemble
from proctor.suites.tracking.robot.config import DescriptionCfg, read_description
from proctor.suites.tracking.robot.description import Robot
from proctor.suites.tracking.robot.g1 import G1
from proctor.suites.tracking.robot.g1_bfm_zero import G1_BFM_ZERO

BUILTIN = Path(__file__).with_name("g1.xml")
DESCRIPTIONS = {"g1": G1, "g1_bfm_zero": G1_BFM_ZERO}
"""What is known of the built-in robot, by name."""
ROOT_VARIABLE = "MENAGERIE_ROOT"


def load_robot(spec: str, base: Path | None = None, **overrides: Any) -> Robot:
    """The robot behind a name. Paths are relative to `base` (the config's folder).

    The description is, later ones first: `overrides` (keys of `DescriptionCfg`), the YAML file `description`
    (another override; for a path, the file of the model's name with `.yml` or `.yaml` where there is one), what is
    known of the named robot, and the model itself. `description: builtin:g1` (or builtin:g1_bfm_zero)
    takes the built-in one.
    Nothing is downloaded. Raises InputError for what the user can mend."""
    kind, _, name = spec.partition(":")
    if kind == "builtin":
        if name not in DESCRIPTIONS:
            raise InputError(
                f'unknown robot "{spec}"; expected builtin:g1, builtin:g1_bfm_zero, menagerie:NAME or the path of an '
                "MJCF file"
            )
        cfg, model = DESCRIPTIONS[name], _read_model(BUILTIN, spec)
    elif kind == "menagerie":
        cfg, model = G1 if name == "unitree_g1" else DescriptionCfg(), _read_model(_menagerie_file(name), spec)
    else:
        path = _find(spec, base)
        cfg, model = DescriptionCfg(), _read_model(path, spec)
        overrides.setdefault("description", _beside(path))
    source = overrides.pop("description", None)
    if source is not None:
        cfg = _described(cfg, source, base)
    return assemble(model, cfg.updated(overrides, f"robot {spec}"), f"robot {spec}")


def _described(cfg: DescriptionCfg, source: str | Path, base: Path | None) -> DescriptionCfg:
    kind, _, name = str(source).partition(":")
    if kind == "builtin" and name in DESCRIPTIONS:
        return DESCRIPTIONS[name]
    path = _find(str(source), base)
    return cfg.updated(read_description(path), str(path))


def _beside(path: Path) -> Path | None:
    return next((p.absolute() for p in (path.with_suffix(".yml"), path.with_suffix(".yaml")) if p.is_file()), None)


def _find(name: str, base: Path | None) -> Path:
    path = (base or Path()) / Path(name).expanduser()
    if os.path.isfile(path):
        return path
    siblings = [p.name for p in path.parent.iterdir()] if os.path.isdir(path.parent) else []
    raise InputError(
        f"robot: no file {path}"
        + did_you_mean(path.name, siblings)
        + " (expected builtin:g1, menagerie:NAME or the path of an MJCF file)"
    )


def _read_model(path: Path, source: str) -> Any:
    import mujoco

    try:
        spec = mujoco.MjSpec.from_file(str(path))
        prefix = _prefix([joint.name for joint in spec.joints])
        if prefix:
            text = re.sub(rf'(?<!class)="{re.escape(prefix)}', '="', path.read_text(encoding="utf-8"))
            spec = mujoco.MjSpec.from_string(text)
            spec.modelfiledir = str(path.parent)
        return spec
    except ValueError as error:
        raise InputError(f"robot {source}: {path} is no model that MuJoCo can read: {error}") from None


def _prefix(names: list[str]) -> str:
    """What every joint's name begins with, up to a slash: an exported scene names the parts of its one robot
    `robot/left_knee_joint`. Empty where there is none."""
    first = names[0].partition("/") if names else ("", "", "")
    prefix = first[0] + first[1]
    return prefix if first[1] and all(name.startswith(prefix) for name in names) else ""


def _menagerie_file(name: str) -> Path:
    """The MJCF file of a menagerie model that is on this machine."""
    root = os.environ.get(ROOT_VARIABLE)
    installed = importlib.util.find_spec("mujoco_menagerie") is not None
    if not installed and not root:
        raise MissingExtra(f"robot menagerie:{name} (without {ROOT_VARIABLE} set)", "mujoco-menagerie", "menagerie")
    folder = Path(root) / name if root else None
    file = _registered_file(name) if installed else f"{name.partition('_')[2] or name}.xml"
    if folder is None:
        folder = _cached_folder(name)
    path = folder / file
    if not os.path.isfile(path):
        raise InputError(
            f"robot menagerie:{name}: no file {path}; {ROOT_VARIABLE} must be a copy of the menagerie: a folder that "
            f"contains {name}/{file}"
        )
    return path


def _registered_file(name: str) -> str:
    import mujoco_menagerie

    try:
        robot = mujoco_menagerie.get(name)
    except mujoco_menagerie.UnknownRobotError as error:
        raise InputError(f"robot menagerie:{name}: {error}") from None
    return robot.entry(robot.default_model).file


def _cached_folder(name: str) -> Path:
    import mujoco_menagerie

    cache, robot = mujoco_menagerie.Cache(), mujoco_menagerie.get(name)
    if not cache.is_cached(robot):
        raise InputError(
            f"robot menagerie:{name}: the model is not on this machine; download it with `mujoco-menagerie prefetch "
            f"{name}`, or set {ROOT_VARIABLE} to a copy of the menagerie (a folder that contains {name}/)"
        )
    return cache.model_path(robot)
