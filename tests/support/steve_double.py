"""A double of stEVE and SOFA: exactly the interface that the `steve` suite uses, on a wire that follows a centreline.

`install(monkeypatch)` puts it in place of the packages `eve` and `Sofa`. Signatures, attribute names, shapes and the
quirks that the suite works around are those of stEVE: a seed of 0 means none, `MonoPlaneStatic` forgets
`normalize_action`, does not hand its seed to the simulation and gives its target a numpy integer, which
`random.Random` refuses from Python 3.11 on, a diverged simulation resets its devices and raises a
flag, the LCP solver keeps its forces on request only. The `Double` says what goes wrong.
"""

from __future__ import annotations

import enum
import random
import sys
import types
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from typing import Any, ClassVar

import gymnasium
import numpy as np

from proctor.suites.steve.env import SteveEnv
from proctor.suites.steve.options import SteveOptions
from proctor.suites.steve.suite import SteveSuite

STEP_MM = 2.0


@dataclass
class Double:
    """How the double behaves, and what it saw. `without` names parts of the scene that are not there."""

    without: frozenset[str] = frozenset()
    contact: bool = True
    diverges_at: int | None = None
    """Simulated call after which positions are NaN."""
    nan_forces: bool = False
    made: int = 0
    closed: int = 0
    frictions: list[float] = field(default_factory=list)
    devices: list[Any] = field(default_factory=list)
    mp: list[bool] = field(default_factory=list)


STATE = Double()


class ArchType(str, enum.Enum):  # noqa: UP042 - as stEVE has it
    I = "I"  # noqa: E741
    II = "II"
    IV = "IV"


@dataclass(frozen=True)
class Branch:
    name: str
    coordinates: np.ndarray
    radii: np.ndarray


class AorticArch:
    def __init__(self, arch_type: ArchType = ArchType.I, seed: Any = None):
        self.arch_type, self.seed = arch_type, seed or np.random.default_rng().integers(10**10)
        self.branches: tuple[Branch, ...] | None = None
        self.visu_mesh_path = None
        self.mesh_path = "arch.obj"
        self.coordinate_space = gymnasium.spaces.Box(-300.0, 300.0, (3,))

    def reset(self, episode_nr: int = 0, seed: int | None = None) -> None:
        if self.branches is not None:
            return
        rng = np.random.default_rng(self.seed)
        up = np.arange(0, 120 + rng.uniform(0, 20), STEP_MM)
        aorta = np.stack([np.zeros_like(up), np.zeros_like(up), up], axis=1)
        side = np.arange(0, 50, STEP_MM)
        branches = [Branch("aorta", aorta, np.full(len(up), 10.0))]
        for i, name in enumerate(("bct", "lcca", "lsa")):
            start = aorta[-1 - 5 * i]
            turn = np.array([np.cos(2.0 * i), np.sin(2.0 * i), 0.5])
            branches.append(Branch(name, start + side[:, None] * turn, np.full(len(side), 4.0)))
        self.branches = tuple(branches)
        self.insertion = types.SimpleNamespace(position=aorta[0], direction=np.array([0.0, 0.0, 1.0]))

    def step(self) -> None: ...


def vessel_cs_to_tracking3d(array: Any, image_rot_zx: Any, image_center: Any, field_of_view: Any) -> np.ndarray:
    z, x = -np.radians(image_rot_zx[0]), -np.radians(image_rot_zx[1])
    about_z = np.array([[np.cos(z), -np.sin(z), 0], [np.sin(z), np.cos(z), 0], [0, 0, 1]])
    about_x = np.array([[1, 0, 0], [0, np.cos(x), -np.sin(x)], [0, np.sin(x), np.cos(x)]])
    return (np.asarray(array) @ (about_z @ about_x).T - np.asarray(image_center)).astype(np.float32)


@dataclass
class Data:
    """A datum of a SOFA object."""

    value: Any


class Node:
    """A SOFA node or object: a missing part is an AttributeError."""

    def __init__(self, **parts: Any):
        for name, part in parts.items():
            if name not in STATE.without:
                setattr(self, name, part)


@dataclass
class Device:
    name: str = "guidewire"
    velocity_limit: tuple[float, float] = (50, 3.14)
    length: float = 450
    tip_outer_diameter: float = 0.7
    straight_outer_diameter: float = 0.89
    poisson_ratio: float = 0.49
    young_modulus_tip: float = 17e3
    young_modulus_straight: float = 80e3


@dataclass
class JShaped(Device):
    tip_radius: float = 12.1
    tip_angle: float = 0.4 * np.pi


@dataclass
class Straight(Device):
    tip_length: float = 15.2


@dataclass
class Simmons3Bends(Device):
    young_modulus_tip: float = 1e3


class SofaBeamAdapter:
    """The wire's tip goes along aorta and lcca; turning it moves it aside."""

    def __init__(self, friction: float = 0.1, dt_simulation: float = 0.006):
        STATE.frictions.append(friction)
        self.friction, self.dt_simulation = friction, dt_simulation
        self.root: Any = None
        self.simulation_error = False
        self._rng = np.random.default_rng()
        self._calls = 0

    def reset(
        self, insertion_point: Any, insertion_direction: Any, mesh_path: str, devices: list[Any],
        coords_high: Any = None, coords_low: Any = None, vessel_visual_path: Any = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        STATE.made += 1
        STATE.devices.append(devices[0])
        self._many = len(devices)
        self._entry, self._stiff = np.asarray(insertion_point), devices[0].young_modulus_tip
        collision = Node(CollisionDOFs=Node(force=Data(np.zeros((3, 3)))))
        wire = Node(DOFs=Node(force=Data(np.zeros((3, 6)))), CollisionModel=collision)
        solver = Node(constraintForces=Data(np.zeros(0)), computeConstraintForces=Data(False))
        self.root = Node(LCP=solver, InstrumentCombined=wire)
        self.simulation_error = False
        self._place(0.1, self._rng.random() * 2 * np.pi)

    def reset_devices(self) -> None:
        self._place(0.0, self._rng.random() * 2 * np.pi)

    def _place(self, inserted: float, angle: float) -> None:
        self.inserted_lengths, self.rotations = np.full(self._many, inserted), np.full(self._many, angle)
        aside = np.array([np.cos(angle), np.sin(angle), 0.0]) * 0.02 * inserted
        tip = self._entry + np.array([0.0, 0.0, 0.9 * inserted]) + aside
        self.dof_positions = np.linspace(tip, self._entry, 5)

    def step(self, action: np.ndarray, duration: float) -> None:
        self._calls += 1
        turn = float(action[0, 1]) * duration + 1e-3 * self._rng.standard_normal()
        self._place(self.inserted_lengths[0] + action[0, 0] * duration, self.rotations[0] + turn)
        self._push()
        if STATE.diverges_at is not None and self._calls >= STATE.diverges_at:
            self.simulation_error = True
            self.reset_devices()

    def _push(self) -> None:
        force = np.nan if STATE.nan_forces else 1e-3 * self._stiff * 1e-3 * float(self.inserted_lengths[0])
        touching = STATE.contact and self.inserted_lengths[0] > 5
        if "LCP" not in STATE.without and "constraintForces" not in STATE.without:
            kept = self.root.LCP.computeConstraintForces.value
            self.root.LCP.constraintForces.value = np.array([force, -2 * force]) if touching and kept else np.zeros(0)
        if "InstrumentCombined" not in STATE.without:
            wire = self.root.InstrumentCombined
            for name, part in (("DOFs", wire), ("CollisionDOFs", getattr(wire, "CollisionModel", None))):
                if part is not None and name not in STATE.without:
                    data = getattr(part, name).force
                    data.value = np.full(data.value.shape, force if touching else 0.0)

    def close(self) -> None:
        if self.root is None:
            raise RuntimeError("closed twice, or never started")
        self.root = None
        STATE.closed += 1


class SimulationMP:
    """SOFA in a process of its own: no scene. Here it only hides the scene."""

    def __init__(self, simulation: SofaBeamAdapter):
        self.simulation = simulation

    def reset(self, *args: Any, **keys: Any) -> None:
        self.simulation.reset(*args, **keys)

    def __getattr__(self, name: str) -> Any:
        if name == "root":
            raise AttributeError("SimulationMP has no root")
        return getattr(self.simulation, name)


class TrackingOnly:
    def __init__(
        self, simulation: Any, vessel_tree: Any, image_frequency: float = 7.5, image_rot_zx: Any = None,
        image_center: Any = None, field_of_view: Any = None,
    ):  # fmt: skip
        self.simulation, self.vessel_tree, self.image_frequency = simulation, vessel_tree, image_frequency
        self.image_rot_zx, self.image_center = image_rot_zx or [0, 0], image_center or [0, 0, 0]

    @property
    def tracking3d(self) -> np.ndarray:
        return vessel_cs_to_tracking3d(self.simulation.dof_positions, self.image_rot_zx, self.image_center, None)


class BranchEnd:
    def __init__(self, vessel_tree: Any, fluoroscopy: Any, threshold: float, branches: list[str]):
        self.vessel_tree, self.fluoroscopy, self.threshold, self.branches = (
            vessel_tree,
            fluoroscopy,
            threshold,
            branches,
        )
        self.reached, self._rng = False, random.Random()

    def reset(self, episode_nr: int = 0, seed: int | None = None) -> None:
        if seed is not None:
            self._rng = random.Random(seed)
        ends = [branch.coordinates[-1] for branch in self.vessel_tree.branches if branch.name in self.branches]
        end = self._rng.choice(np.array(ends))
        self.coordinates3d = vessel_cs_to_tracking3d(end, self.fluoroscopy.image_rot_zx, [0, 0, 0], None)
        self.reached = False

    def step(self) -> None:
        self.reached = bool(np.linalg.norm(self.fluoroscopy.tracking3d[0] - self.coordinates3d) < self.threshold)


class CenterlineRandom(BranchEnd):
    """Any centreline point of the branches that the tree has."""

    def reset(self, episode_nr: int = 0, seed: int | None = None) -> None:
        if seed is not None:
            self._rng = random.Random(seed)
        found = [branch.coordinates for branch in self.vessel_tree.branches if branch.name in self.branches]
        place = self._rng.choice(np.concatenate(found))
        self.coordinates3d = vessel_cs_to_tracking3d(place, self.fluoroscopy.image_rot_zx, [0, 0, 0], None)
        self.reached = False


class AorticArchRandom(AorticArch):
    """Another arch at every reset; `random.Random` takes no numpy integer from Python 3.11 on."""

    def __init__(self, arch_types_filter: Any = None):
        super().__init__(arch_types_filter[0])

    def reset(self, episode_nr: int = 0, seed: int | None = None) -> None:
        self.seed, self.branches = random.Random(seed).randint(0, 2**31), None
        super().reset(episode_nr, seed)


@dataclass
class Even:
    """Interim targets on the way, from the tip's side on."""

    pathfinder: Any
    intervention: Any
    resolution: float
    threshold: float

    def reset(self, episode_nr: int = 0) -> None:
        goal, tip = self.intervention.target.coordinates3d, self.intervention.fluoroscopy.tracking3d[0]
        count = int(np.linalg.norm(goal - tip) / self.resolution)
        self.left = [tip + (goal - tip) * (i + 1) / (count + 1) for i in range(count)]

    def step(self) -> None:
        if self.left and np.linalg.norm(self.left[0] - self.intervention.fluoroscopy.tracking3d[0]) < self.threshold:
            self.left.pop(0)

    @property
    def coordinates3d(self) -> Any:
        return self.left[0] if self.left else None


class MonoPlaneStatic:
    normalize_action = False

    def __init__(
        self, vessel_tree: Any, devices: list[Any], simulation: Any, fluoroscopy: Any, target: Any,
        stop_device_at_tree_end: bool = True, normalize_action: bool = False,
    ):  # fmt: skip
        self.vessel_tree, self.devices, self.simulation = vessel_tree, devices, simulation
        self.fluoroscopy, self.target, self.stop_device_at_tree_end = fluoroscopy, target, stop_device_at_tree_end
        self.normlaize_action = normalize_action
        self.velocity_limits = np.array([device.velocity_limit for device in devices])
        self.last_action = np.zeros_like(self.velocity_limits)

    @property
    def action_space(self) -> gymnasium.spaces.Box:
        high = np.ones_like(self.velocity_limits) if self.normalize_action else self.velocity_limits
        return gymnasium.spaces.Box(-high, high, dtype=np.float64)

    @property
    def device_lengths_inserted(self) -> Any:
        return self.simulation.inserted_lengths

    @property
    def device_rotations(self) -> Any:
        return self.simulation.rotations

    @property
    def device_diameters(self) -> list[float]:
        """Those of the shafts, as SOFA is told."""
        return [device.straight_outer_diameter for device in self.devices]

    def make_mp(self) -> None:
        STATE.mp.append(True)
        self.simulation = self.fluoroscopy.simulation = SimulationMP(self.simulation)

    def make_non_mp(self) -> None:
        STATE.mp.append(False)

    def reset(self, episode_number: int = 0, seed: int | None = None, options: Any = None) -> None:
        rng = np.random.default_rng(seed)
        self.vessel_tree.reset(episode_number, rng.integers(2**31))
        insertion = self.vessel_tree.insertion
        self.simulation.reset(
            insertion_point=insertion.position, insertion_direction=insertion.direction,
            mesh_path=self.vessel_tree.mesh_path, devices=self.devices,
            coords_low=self.vessel_tree.coordinate_space.low, coords_high=self.vessel_tree.coordinate_space.high,
            vessel_visual_path=None,
        )  # fmt: skip
        self.target.reset(episode_number, rng.integers(2**31))
        self.last_action *= 0.0

    def step(self, action: np.ndarray) -> None:
        action = np.array(action).reshape(self.velocity_limits.shape)
        self.last_action = action
        if self.normalize_action:
            action = np.clip(action, -1.0, 1.0) * self.velocity_limits
        self.simulation.step(action, 1 / self.fluoroscopy.image_frequency)
        self.target.step()

    def close(self) -> None:
        self.simulation.close()


@dataclass
class InsertionPoint:
    intervention: Any

    def reset(self, episode_nr: int = 0) -> None:
        self.intervention.simulation.reset_devices()


@dataclass
class BruteForceBFS:
    intervention: Any
    path_length: float = 0.0

    def reset(self, episode_nr: int = 0) -> None:
        self.step()

    def step(self) -> None:
        gap = self.intervention.target.coordinates3d - self.intervention.fluoroscopy.tracking3d[0]
        self.path_length = float(np.abs(gap).sum())


class Observed:
    """An observation: `now` gives the newest value."""

    def __init__(self, shape: tuple[int, ...], now: Any):
        self.space, self._now = gymnasium.spaces.Box(-1.0, 1.0, shape), now

    def reset(self, episode_nr: int = 0) -> None:
        self.step()

    def step(self) -> None:
        self.value = np.asarray(self._now(), np.float32)

    def __call__(self) -> Any:
        return self.value


def tracking_2d(intervention: Any, n_points: int = 2, resolution: float = 1.0) -> Observed:
    return Observed((n_points, 2), lambda: intervention.fluoroscopy.tracking3d[:n_points, [0, 2]])


def target_2d(intervention: Any, interim_target: Any = None) -> Observed:
    def now() -> Any:
        interim = None if interim_target is None else interim_target.coordinates3d
        return (intervention.target.coordinates3d if interim is None else interim)[[0, 2]]

    return Observed((2,), now)


def rotations(intervention: Any) -> Observed:
    """Sine before cosine."""
    return Observed((1, 2), lambda: [[np.sin(angle), np.cos(angle)] for angle in intervention.device_rotations])


def scaled(observed: Observed, intervention: Any = None) -> Observed:
    by = 1.0 if intervention is None else 1 / 300
    return Observed(observed.space.shape, lambda: (observed.step(), observed() * by)[1])


class Memory(Observed):
    def __init__(self, observed: Observed, n_steps: int, reset_mode: Any):
        self.space = gymnasium.spaces.Box(-1.0, 1.0, (n_steps, *observed.space.shape))
        self._observed, self._n = observed, n_steps

    def reset(self, episode_nr: int = 0) -> None:
        self._observed.reset()
        self.value = np.repeat(self._observed()[None], self._n, axis=0)

    def step(self) -> None:
        self._observed.step()
        self.value = np.concatenate([self._observed()[None], self.value[:-1]])


class ObsDict:
    def __init__(self, observations: dict[str, Observed]):
        self.observations = observations
        self.space = gymnasium.spaces.Dict({name: obs.space for name, obs in observations.items()})

    def reset(self, episode_nr: int = 0) -> None:
        for observed in self.observations.values():
            observed.reset(episode_nr)

    def step(self) -> None:
        for observed in self.observations.values():
            observed.step()

    def __call__(self) -> dict[str, Any]:
        return {name: observed() for name, observed in self.observations.items()}


class Reward:
    def __init__(self, now: Any):
        self._now, self.reward = now, 0.0

    def reset(self, episode_nr: int = 0) -> None:
        self._now()

    def step(self) -> None:
        self.reward = float(self._now())


def target_reward(intervention: Any, factor: float, final_only_after_all_interim: bool = True) -> Reward:
    return Reward(lambda: factor * intervention.target.reached)


def path_delta(pathfinder: Any, factor: float) -> Reward:
    memory = [0.0]

    def now() -> float:
        before, memory[0] = memory[0], pathfinder.path_length
        return factor * (before - memory[0])

    return Reward(now)


def combination(rewards: list[Reward]) -> Reward:
    def now() -> float:
        for reward in rewards:
            reward.step()
        return sum(reward.reward for reward in rewards)

    return Reward(now)


@dataclass
class Terminal:
    intervention: Any

    @property
    def terminal(self) -> bool:
        return self.intervention.target.reached


class Env:
    def __init__(
        self, intervention: Any, observation: Any, reward: Any, terminal: Any, truncation: Any, info: Any = None,
        start: Any = None, pathfinder: Any = None, interim_target: Any = None, visualisation: Any = None,
    ):  # fmt: skip
        self.intervention, self.observation, self.reward = intervention, observation, reward
        self.terminal, self.start, self.pathfinder = terminal, start, pathfinder
        self.interim_target = interim_target or types.SimpleNamespace(reset=lambda _: None, step=lambda: None)
        self.episode_number = 0

    @property
    def observation_space(self) -> Any:
        raise ValueError("Box all low values must be less than or equal to high")

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.intervention.reset(self.episode_number, seed, options)
        for part in (self.start, self.pathfinder, self.interim_target, self.observation, self.reward):
            part.reset(self.episode_number)
        self.episode_number += 1
        return self.observation(), {}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.intervention.step(action)
        for part in (self.pathfinder, self.interim_target, self.observation, self.reward):
            part.step()
        return self.observation(), self.reward.reward, self.terminal.terminal, False, {}

    def close(self) -> None:
        self.intervention.close()


def eve_package() -> types.ModuleType:
    """The double as the package `eve`."""
    space = types.SimpleNamespace
    wrapper = space(
        NormalizeTracking2DEpisode=scaled, Normalize=scaled, Memory=Memory, MemoryResetMode=space(FILL="fill")
    )
    eve: Any = types.ModuleType("eve")
    eve.Env, eve.terminal = Env, space(TargetReached=Terminal)
    eve.intervention = space(
        MonoPlaneStatic=MonoPlaneStatic,
        vesseltree=space(AorticArch=AorticArch, AorticArchRandom=AorticArchRandom, ArchType=ArchType),
        device=space(Device=Device, JShaped=JShaped, Straight=Straight, Simmons3Bends=Simmons3Bends),
        simulation=space(SofaBeamAdapter=SofaBeamAdapter),
        fluoroscopy=space(TrackingOnly=TrackingOnly),
        target=space(BranchEnd=BranchEnd, CenterlineRandom=CenterlineRandom),
    )
    eve.interimtarget = space(Even=Even)
    eve.pathfinder = space(BruteForceBFS=BruteForceBFS)
    eve.start = space(InsertionPoint=InsertionPoint)
    eve.observation = space(
        Tracking2D=tracking_2d,
        Target2D=target_2d,
        LastAction=lambda intervention: Observed(intervention.last_action.shape, lambda: intervention.last_action),
        Rotations=rotations,
        InsertionLengths=lambda intervention: Observed((1,), lambda: intervention.device_lengths_inserted),
        ObsDict=ObsDict,
        wrapper=wrapper,
    )
    eve.reward = space(TargetReached=target_reward, PathLengthDelta=path_delta, Combination=combination)
    eve.reward.Step = lambda factor: Reward(lambda: factor)
    eve.util = space(coordtransform=space(vessel_cs_to_tracking3d=vessel_cs_to_tracking3d))
    return eve


def bench_package(eve: Any) -> types.ModuleType:
    """The double's tasks as the package `eve_bench`: one device, or two; `ArchVariety` has another arch each time."""
    parts = eve.intervention

    def task(tree: Any, devices: int, branches: list[str]) -> Any:
        def make(stop_device_at_tree_end: bool = True, normalize_action: bool = False) -> Any:
            vessels, simulation = tree(), SofaBeamAdapter(friction=0.1)
            vessels.reset()
            view = TrackingOnly(simulation, vessels, image_frequency=7.5, image_rot_zx=[25, 0])
            target = CenterlineRandom(vessels, view, 5, branches)
            wires = [JShaped(name=f"wire{i}", velocity_limit=(35, 3.14)) for i in range(devices)]
            return parts.MonoPlaneStatic(
                vessels, wires, simulation, view, target, stop_device_at_tree_end, normalize_action
            )

        return make

    bench: Any = types.ModuleType("eve_bench")
    bench.ArchVariety = task(lambda: AorticArchRandom([ArchType.I]), 1, ["lcca", "lsa", "co"])
    bench.BasicWireNav = task(lambda: AorticArch(seed=3), 1, ["lcca"])
    bench.DualDeviceNav = task(lambda: AorticArch(seed=3), 2, ["bct"])
    return bench


def install(monkeypatch: Any, **behaviour: Any) -> Double:
    """Put the double in place of `eve` and `Sofa`; the state says how it behaves and what it saw."""
    global STATE
    STATE = Double(**behaviour)
    eve = eve_package()
    for name, module in (("eve", eve), ("eve_bench", bench_package(eve)), ("Sofa", types.ModuleType("Sofa"))):
        module.__spec__ = ModuleSpec(name, None, origin="double")
        monkeypatch.setitem(sys.modules, name, module)
    return STATE


class DoubleSuite(SteveSuite):
    """The suite on the double, for workers that are processes of their own: they find it by this file's path."""

    name: ClassVar[str] = "double"
    runtime: ClassVar[str | None] = None

    def make(self, options: SteveOptions, *, render: bool, worlds: int) -> SteveEnv:
        return SteveEnv(eve_package(), options)
