"""LIBERO as it is installed: its import without questions, its files, and what is missing.

The package asks a question on standard input where it finds no config file, and downloads assets where it finds none.
So a config file is written before it is imported, and the assets are looked for and named before its environments are.
"""

from __future__ import annotations

import atexit
import functools
import importlib
import importlib.util
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proctor.errors import InputError, MissingExtra
from proctor.rendering import offscreen_backend
from proctor.unpickle import read_torch_archive

CONFIG_VARIABLE = "LIBERO_CONFIG_PATH"
ASSET_FOLDERS = (
    "scenes", "stable_hope_objects", "stable_scanned_objects", "turbosquid_objects", "articulated_objects", "textures",
)  # fmt: skip


@dataclass(frozen=True)
class LiberoTask:
    """A task's files and what the robot is told."""

    name: str
    instruction: str
    bddl_file: Path
    states_file: Path


class Libero:
    """The package, imported and ready."""

    def __init__(self, assets: Path):
        package: Any = importlib.import_module("libero.libero")
        package._assets_path_cache = str(assets)  # read before a download is tried
        self._package = package
        self._tasks = importlib.import_module("libero.libero.benchmark").task_maps
        self.envs: Any = importlib.import_module("libero.libero.envs")

    def task_of(self, options: Any) -> LiberoTask:
        """The task of a suite's options, with files and words that take the place of its own. Raises InputError where a
        file is missing."""
        task = self.task(options.benchmark, options.task)
        if options.bddl_file is not None:
            path = Path(options.bddl_file)
            task = replace(task, name=path.stem, bddl_file=path, instruction=told_in(path))
        if options.states_file is not None:
            path = Path(options.states_file)
            if not path.is_file():
                raise InputError(f"states_file: there is no file {path}")
            task = replace(task, states_file=path)
        change = options.perturbation
        if change is not None and change.instruction is not None:
            task = replace(task, instruction=change.instruction)
        return task

    def task(self, benchmark: str, number: int) -> LiberoTask:
        """A task by its number. Raises InputError where a file of it is missing."""
        found = list(self._tasks[f"libero_{benchmark}"].values())[number]
        folders = (Path(self._package.get_libero_path(kind)) for kind in ("bddl_files", "init_states"))
        bddl, states = (folder / found.problem_folder for folder in folders)
        task = LiberoTask(found.name, found.language, bddl / found.bddl_file, states / found.init_states_file)
        for what, path in (("the description", task.bddl_file), ("the initial states", task.states_file)):
            if not path.is_file():
                raise InputError(
                    f"{what} of LIBERO's task {task.name} are expected at {path}, where there is no file; "
                    f"mend bddl_files and init_states in {config_folder() / 'config.yaml'}"
                )
        return task


def import_libero(assets_folder: str | None) -> Libero:
    """The package, with its assets. Raises MissingExtra or InputError where something is not there."""
    root = package_folder()
    _write_config(root)
    backend = offscreen_backend(os.environ)
    if backend is not None:
        os.environ.setdefault("MUJOCO_GL", backend)
    return _imported(find_assets(root, assets_folder))


@functools.cache
def _imported(assets: Path) -> Libero:
    return Libero(assets)


def package_folder() -> Path:
    """Where the package lies, without importing it."""
    spec = importlib.util.find_spec("libero")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("the libero suite", "hf-libero", "libero")
    return Path(next(iter(spec.submodule_search_locations))) / "libero"


def config_folder() -> Path:
    """Where LIBERO looks for `config.yaml`."""
    return Path(os.environ.get(CONFIG_VARIABLE) or Path.home() / ".libero")


def find_assets(root: Path, assets_folder: str | None) -> Path:
    """The folder with LIBERO's meshes and textures. Raises InputError that names what is missing, and where."""
    places = [Path(assets_folder).expanduser()] if assets_folder else _usual_places(root)
    found: list[str] = []
    for folder in places:
        absent = [name for name in ASSET_FOLDERS if not (folder / name).is_dir()]
        if not absent:
            return folder
        found.append(f"{folder} has no {', '.join(absent)}" if folder.is_dir() else f"there is no folder {folder}")
    raise InputError(
        f"LIBERO's assets are missing: {', '.join(found)}; expected the folders {', '.join(ASSET_FOLDERS)}. Get them "
        "(the data set lerobot/libero-assets) and set assets_folder in the task's options"
    )


def told_in(bddl: Path) -> str:
    """What a description says the robot is told. Raises InputError where it says nothing."""
    try:
        found = re.search(r"\(:language\s+([^()]*?)\s*\)", bddl.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"bddl_file: {bddl} cannot be read: {error}") from None
    if found is None or not found[1]:
        raise InputError(f"bddl_file: {bddl} has no (:language ...), which says what the robot is told")
    return " ".join(found[1].split())


def read_states(path: Path, alone: bool = False) -> np.ndarray:
    """Initial states (count, width) float64 of a task, read without running anything; `alone`: one may stand without
    its axis, as in LIBERO-Plus. Raises InputError."""
    found = read_torch_archive(path)
    if alone and isinstance(found, np.ndarray) and found.ndim == 1:
        found = found[None]
    if not isinstance(found, np.ndarray) or found.ndim != 2 or not len(found) or found.dtype.kind != "f":
        kind = f"{found.dtype} {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
        raise InputError(f"{path} holds {kind}; expected initial states as numbers (count, width)")
    broken = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(broken):
        raise InputError(f"{path}: initial state {broken[0]} is not finite; get the file again")
    return found.astype(np.float64)


def _usual_places(root: Path) -> list[Path]:
    """Where LIBERO's config file says, if that is a folder; else in the package, and where the package downloads to."""
    import yaml

    config = yaml.safe_load((config_folder() / "config.yaml").read_text()) or {}
    inside = root / "assets"
    named = Path(os.path.normpath(str(config.get("assets", inside))))
    if named.is_dir() and named != inside:
        return [named]
    return [inside, Path.home() / ".cache" / "libero" / "assets"]


def _write_config(root: Path) -> None:
    """A config file that points into the package, in a folder of this process, where the user has none."""
    import yaml

    if (config_folder() / "config.yaml").is_file():
        return
    folder = Path(tempfile.mkdtemp(prefix="proctor-libero-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    paths = {
        "benchmark_root": root,
        "bddl_files": root / "bddl_files",
        "init_states": root / "init_files",
        "datasets": root.parent / "datasets",
        "assets": root / "assets",
    }
    (folder / "config.yaml").write_text(yaml.safe_dump({key: str(path) for key, path in paths.items()}))
    os.environ[CONFIG_VARIABLE] = str(folder)
