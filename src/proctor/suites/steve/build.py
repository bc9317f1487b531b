"""A stEVE environment from options: the parts of stEVE's own benchmark environment, in its order.

Observation: `tracking` (wire points of the last pictures), `target`, `last_action`, `inserted_lengths`, all scaled to
[-1, 1], and `rotation` (sine and cosine); `image` is drawn in `env`. stEVE's agents take the first three flattened in
this order. Reward: 1 at the target, 0.001 for every mm of path gained, -0.005 for every step.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from proctor.errors import InputError
from proctor.suites.steve.devices import make_device

if TYPE_CHECKING:
    from proctor.suites.steve.options import SteveArchCfg, SteveOptions

REWARD_TARGET, REWARD_PATH_PER_MM, REWARD_STEP = 1.0, 0.001, -0.005
IMAGE = "image"
"""The entry that is drawn here: stEVE's own fluoroscopies give no picture (`TrackingOnly` a single pixel)."""
HOW = (
    "install stEVE (pip install -e . in a checkout of it) beside SOFA with SofaPython3 and BeamAdapter, and set "
    "SOFA_ROOT and PYTHONPATH as SOFA says; or use simulator: embedded"
)


def import_eve() -> Any:
    """stEVE's package, with SOFA known to be there. Raises InputError with the way out."""
    for package in ("Sofa", "eve"):
        try:
            found = importlib.import_module(package)
        except ImportError as error:
            raise InputError(f'the steve suite cannot import "{package}" ({error}); {HOW}') from None
    return found


def build(eve: Any, options: SteveOptions) -> tuple[Any, Any, Any]:
    """A new environment, with a simulation of its own; its intervention and its pathfinder."""
    if options.environment is not None:
        return _rebuilt(eve, options)
    intervention = _intervention(eve, options)
    if options.use_non_mp_sim:
        intervention.make_non_mp()
    else:
        intervention.make_mp()
    pathfinder = eve.pathfinder.BruteForceBFS(intervention=intervention)
    anatomy, interim = options.anatomy, None
    if anatomy.interim_target_mm is not None:
        interim = eve.interimtarget.Even(
            pathfinder, intervention, anatomy.interim_target_mm, anatomy.interim_threshold_mm
        )
    env = eve.Env(
        intervention=intervention,
        observation=_observation(eve, intervention, options, interim),
        reward=_reward(eve, intervention, pathfinder),
        terminal=eve.terminal.TargetReached(intervention),
        truncation=None,
        start=eve.start.InsertionPoint(intervention),
        pathfinder=pathfinder,
        interim_target=interim,
    )
    return env, intervention, pathfinder


def _rebuilt(eve: Any, options: SteveOptions) -> tuple[Any, Any, Any]:
    """The environment that stEVE makes of its own configuration. Truncation is Proctor's."""
    _only_steves_classes(options.environment, str(options.environment_file))
    try:
        env = eve.Env.from_config_dict(copy.deepcopy(options.environment))
    except (ImportError, AttributeError, TypeError, KeyError, OSError) as error:
        raise InputError(
            f"stEVE cannot rebuild the environment of {options.environment_file}: {type(error).__name__}: {error}; are "
            "the packages and files of its training here?"
        ) from None
    intervention = _prepared(env.intervention, options)
    if options.use_non_mp_sim:
        intervention.make_non_mp()
    else:
        intervention.make_mp()
    pathfinder = eve.pathfinder.BruteForceBFS(intervention=intervention)
    pathfinders = _Both(env.pathfinder, pathfinder)
    env.pathfinder = pathfinders
    return env, intervention, pathfinder


def _only_steves_classes(described: Any, file: str) -> None:
    """Raise InputError where a configuration names anything but classes that stEVE or eve_bench defines: stEVE imports
    and calls whatever is named, and the file may be somebody else's."""
    inner = described.values() if isinstance(described, dict) else described if isinstance(described, list) else ()
    for one in inner:
        _only_steves_classes(one, file)
    if not isinstance(described, dict) or "_class" not in described:
        return
    name = described["_class"]
    module, _, kind = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    found = None
    if module.partition(".")[0] in _STEVES:
        with contextlib.suppress(ImportError):
            found = getattr(importlib.import_module(module), kind, None)
    if not isinstance(found, type) or found.__module__.partition(".")[0] not in _STEVES:
        raise InputError(f"{file}: its environment names {name!r}, which is no class of stEVE; nothing of it is run")


_STEVES = ("eve", "eve_bench")


class _Both:
    """Two pathfinders kept up together: that of the environment, which may be a dummy, and the one for the record."""

    def __init__(self, *parts: Any):
        self._parts = parts

    def reset(self, episode_nr: int = 0) -> None:
        for part in self._parts:
            part.reset(episode_nr)

    def step(self) -> None:
        for part in self._parts:
            part.step()


def _intervention(eve: Any, options: SteveOptions) -> Any:
    return _prepared(_arch(eve, options) if options.benchmark is None else _benchmark(options), options)


def _prepared(found: Any, options: SteveOptions) -> Any:
    """The intervention with what it forgets (`normalize_action`) and what Python 3.11 refuses mended."""
    found.normalize_action = options.normalize_action
    for part in (found.vessel_tree, found.target):
        part.reset = _with_a_plain_seed(part.reset)
    return found


def _benchmark(options: SteveOptions) -> Any:
    """eve_bench's own intervention. Raises InputError where the package, or a file of it, is not there."""
    name = str(options.benchmark)
    try:
        kind = getattr(importlib.import_module("eve_bench"), name)
    except ImportError as error:
        raise InputError(
            f"the task {name} is of stEVE_bench, which cannot be imported ({error}); install it (pip install -e . in a "
            "checkout of it) beside stEVE"
        ) from None
    try:
        return kind(stop_device_at_tree_end=options.stop_at_tree_end)
    except OSError as error:
        raise InputError(f"eve_bench cannot make {name}: a file of it is not there or not readable ({error})") from None


def _arch(eve: Any, options: SteveOptions) -> Any:
    anatomy = options.anatomy
    tree = _vessel_tree(eve, anatomy)
    limits = (options.max_translation_mm_s, options.max_rotation_rad_s)
    simulation = eve.intervention.simulation.SofaBeamAdapter(
        friction=anatomy.friction, dt_simulation=options.dt_simulation_s
    )
    fluoroscopy = eve.intervention.fluoroscopy.TrackingOnly(
        simulation=simulation,
        vessel_tree=tree,
        image_frequency=anatomy.image_frequency_hz,
        image_rot_zx=list(anatomy.image_rot_zx_deg),
    )
    kinds = {"branch_end": "BranchEnd", "centerline": "CenterlineRandom"}
    target = getattr(eve.intervention.target, kinds[anatomy.target_mode])(
        vessel_tree=tree,
        fluoroscopy=fluoroscopy,
        threshold=anatomy.target_threshold_mm,
        branches=list(anatomy.target_branches),
    )
    return eve.intervention.MonoPlaneStatic(
        vessel_tree=tree,
        devices=[make_device(eve, options.tool, limits)],
        simulation=simulation,
        fluoroscopy=fluoroscopy,
        target=target,
        stop_device_at_tree_end=options.stop_at_tree_end,
    )


def _with_a_plain_seed(reset: Callable[..., None]) -> Callable[..., None]:
    """The reset of a part of stEVE's that seeds `random.Random`, which takes no numpy integer from Python 3.11 on;
    interventions give one."""

    def plain(episode_nr: int = 0, seed: Any = None) -> None:
        reset(episode_nr, None if seed is None else int(seed))

    return plain


def _vessel_tree(eve: Any, anatomy: SteveArchCfg) -> Any:
    """The generated arch, or one that the trial's seed draws. stEVE takes a seed of 0 for none; the same stream under
    another name is not 0."""
    trees = eve.intervention.vesseltree
    types = [member.value for member in trees.ArchType]
    if anatomy.arch_type not in types:
        raise InputError(f'stEVE generates no arch of type "{anatomy.arch_type}"; expected one of {", ".join(types)}')
    kind = trees.ArchType(anatomy.arch_type)
    if anatomy.vary:
        tree = trees.AorticArchRandom(arch_types_filter=[kind])
    else:
        tree = trees.AorticArch(arch_type=kind, seed=anatomy.seed or np.random.SeedSequence(0))
    tree.reset()
    known = [branch.name for branch in tree.branches]
    unknown = [name for name in anatomy.target_branches if name not in known]
    if unknown:
        raise InputError(
            f"an arch of type {anatomy.arch_type} has no branch {', '.join(unknown)}; it has {', '.join(known)}"
        )
    return tree


def _observation(eve: Any, intervention: Any, options: SteveOptions, interim: Any) -> Any:
    wrap, kinds = eve.observation.wrapper, eve.observation

    def tracking() -> Any:
        points = kinds.Tracking2D(
            intervention, n_points=options.tracking_points, resolution=options.tracking_resolution_mm
        )
        scaled = wrap.NormalizeTracking2DEpisode(points, intervention)
        return wrap.Memory(scaled, options.tracking_memory, wrap.MemoryResetMode.FILL)

    made: dict[str, Callable[[], Any]] = {
        "tracking": tracking,
        "target": lambda: wrap.NormalizeTracking2DEpisode(kinds.Target2D(intervention, interim), intervention),
        "last_action": lambda: wrap.Normalize(kinds.LastAction(intervention)),
        "rotation": lambda: kinds.Rotations(intervention),
        "inserted_lengths": lambda: wrap.Normalize(kinds.InsertionLengths(intervention)),
    }
    return kinds.ObsDict({name: made[name]() for name in options.observed if name != IMAGE})


def _reward(eve: Any, intervention: Any, pathfinder: Any) -> Any:
    return eve.reward.Combination(
        [
            eve.reward.TargetReached(intervention, factor=REWARD_TARGET, final_only_after_all_interim=False),
            eve.reward.PathLengthDelta(pathfinder, REWARD_PATH_PER_MM),
            eve.reward.Step(factor=REWARD_STEP),
        ]
    )
