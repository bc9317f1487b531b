"""A double of SOFA alone: the modules `Sofa` and `SofaRuntime` as stEVE's `SofaBeamAdapter` uses them.

Nodes, objects and data behave as SofaPython3's do where stEVE touches them: a datum is read as `node.name.value` and
set by assignment, entries of a vector can be assigned, a missing part is an AttributeError, nodes of a mechanical
object run from the entry to the tip. The mechanics are none: the instruments lie on the line of insertion, the tip
turned aside by the first instrument's angle; in contact there are forces. `install(monkeypatch)` puts it in place;
`SCENES` are the roots that were made, `DIVERGES_AT` the call of `animate` after which positions are NaN.
"""

from __future__ import annotations

import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np

SCENES: list[Node] = []
DIVERGES_AT: int | None = None
TOUCHES_FROM_MM = 5.0
ASIDE = 0.02


class Data:
    """A datum of an object."""

    def __init__(self, value: Any):
        self.value = value

    def __getitem__(self, item: Any) -> Any:
        return self.value[item]

    def __setitem__(self, item: Any, value: Any) -> None:
        self.value[item] = value

    def __len__(self) -> int:
        return len(self.value)


def _datum(value: Any) -> Data:
    numbers = isinstance(value, list | tuple) and all(isinstance(entry, float | int) for entry in value)
    return Data(np.array(value, float) if numbers else value)


class Part:
    """A node or an object."""

    def __init__(self, name: str, **data: Any):
        object.__setattr__(self, "parts", {"name": Data(name), **{key: _datum(value) for key, value in data.items()}})

    def __getattr__(self, name: str) -> Any:
        try:
            return self.parts[name]
        except KeyError:
            raise AttributeError(f"Unable to find attribute: {name}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Data):
            value = value.value
        if name in self.parts and isinstance(self.parts[name], Data):
            self.parts[name].value = value
        else:
            self.parts[name] = _datum(value)


class Node(Part):
    """`Sofa.Core.Node`."""

    def __init__(self, name: str = "root"):
        super().__init__(name)
        if name == "root":
            SCENES.append(self)
            object.__setattr__(self, "calls", 0)

    def addChild(self, name: str) -> Node:
        self.parts[name] = Node(name)
        return self.parts[name]

    def addObject(self, kind: str, **data: Any) -> Part:
        name = data.pop("name", kind)
        self.parts[name] = Part(name, **data, **_born_with(kind, self))
        return self.parts[name]


def _born_with(kind: str, node: Node) -> dict[str, Any]:
    """Data that an object of this kind has without being told."""
    if kind == "LCPConstraintSolver":
        return {"constraintForces": np.zeros(0), "computeConstraintForces": False}
    if kind == "InterventionalRadiologyController":
        return {"indexFirstNode": 0}
    if kind == "MechanicalObject":
        n = int(node.MeshLines.nx.value) if "MeshLines" in node.parts else 3
        return {"position": np.zeros((n, 7)), "force": np.zeros((n, 6))}
    return {}


def init(root: Node) -> None:
    mesh = root.vesselTree.meshLoader.filename.value
    if not Path(mesh).is_file():
        raise FileNotFoundError(mesh)
    _place(root)


def animate(root: Node, dt: float) -> None:
    assert dt > 0
    object.__setattr__(root, "calls", root.calls + 1)
    _place(root)
    if DIVERGES_AT is not None and root.calls >= DIVERGES_AT:
        root.InstrumentCombined.DOFs.position.value[:] = np.nan


def reset(root: Node) -> None:
    _place(root)


def unload(root: Node) -> None:
    if root not in SCENES:
        raise RuntimeError("this scene was unloaded before")
    SCENES.remove(root)


def _place(root: Node) -> None:
    wire = root.InstrumentCombined
    control, dofs = wire.m_ircontroller, wire.DOFs
    pose = np.array(control.startingPos.value, float)
    x, y, z, w = pose[3:]
    ahead = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)])
    side = np.cross(ahead, [0.0, 1.0, 0.0]) if abs(ahead[1]) < 0.9 else np.cross(ahead, [1.0, 0.0, 0.0])
    length, angle = float(np.max(control.xtip.value)), float(control.rotationInstrument.value[0])
    turned = np.cos(angle) * side + np.sin(angle) * np.cross(ahead, side)
    along = np.linspace(0.0, length, len(dofs.position.value))[:, None]
    dofs.position.value = np.concatenate([pose[:3] + along * ahead + ASIDE * along**2 / max(length, 1e-9) * turned,
                                          np.tile(pose[3:], (len(along), 1))], axis=1)  # fmt: skip
    force = 0.01 * length if length > TOUCHES_FROM_MM else 0.0
    dofs.force.value = np.full((len(along), 6), force)
    wire.CollisionModel.CollisionDOFs.force.value = np.full((3, 3), force)
    kept = root.LCP.computeConstraintForces.value and force > 0
    root.LCP.constraintForces.value = np.array([force, -2 * force]) if kept else np.zeros(0)


def modules() -> dict[str, types.ModuleType]:
    """The modules by name."""
    sofa: Any = types.ModuleType("Sofa")
    sofa.Core = types.SimpleNamespace(Node=Node)
    sofa.Simulation = types.SimpleNamespace(init=init, animate=animate, reset=reset, unload=unload)
    found = {"Sofa": sofa, "SofaRuntime": types.ModuleType("SofaRuntime")}
    for name, module in found.items():
        module.__spec__ = ModuleSpec(name, None, origin="double")
    return found


def install(monkeypatch: Any, diverges_at: int | None = None) -> None:
    """Put the double in place of SOFA."""
    monkeypatch.setattr(sys.modules[__name__], "DIVERGES_AT", diverges_at)
    SCENES.clear()
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
