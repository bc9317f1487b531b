"""The import rule: the tree is the data flow, and imports follow it. Heavy packages are imported where they
are used."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1] / "src" / "proctor"

GROUND = {"errors", "exports", "images", "kernels", "registry", "rendering", "spaces", "texts", "unpickle"}
"""Modules that everybody may import; they import nothing but each other."""

ROOMS = {
    "config",
    "plan",
    "policies",
    "suites",
    "rollout",
    "record",
    "metrics",
    "scoring",
    "stats",
    "report",
    "verdict",
}
"""The whole path: for the folders that put it together."""

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "exports": set(),
    "images": set(),
    "kernels": set(),
    "registry": set(),
    "rendering": set(),
    "spaces": set(),
    "texts": set(),
    "unpickle": set(),
    "config": {"policies", "suites", "scoring"},
    "plan": {"config"},
    "policies": {"config", "plan", "network"},
    "network": {"config", "plan", "policies", "rollout", "suites"},
    "suites": {"config", "record", "metrics", "scoring", "stats", "report", "verdict", "runs", "plan", "policies"},
    "record": {"config", "plan"},
    "metrics": {"record"},
    "scoring": {"config", "record", "metrics"},
    "stats": set(),
    "verdict": {"config", "plan", "record", "scoring", "stats"},
    "rollout": {"config", "plan", "policies", "suites", "record", "metrics", "verdict"},
    "report": {"config", "plan", "record", "metrics", "scoring", "stats", "verdict"},
    "runs": ROOMS | {"network"},
    "testing": ROOMS | {"runs"},
    "training": ROOMS | {"runs"},
}
"""Folder (or module) -> what of Proctor it may import. `cli`, `view` and the package itself may import
anything."""

ENTRANCES = {"cli", "view", "__init__", "__main__"}

ONLY_CONTRACT = {
    ("suites", "record"): {"proctor.record.episode", "proctor.record.sheet"},
    ("metrics", "record"): {"proctor.record.episode"},
    ("plan", "config"): {"proctor.config.models"},
    ("policies", "config"): {"proctor.config.models"},
    ("suites", "config"): {"proctor.config.models"},
    ("scoring", "config"): {"proctor.config.models"},
}
"""Between these only the data that both sides share."""

LAZY_ONLY = {("config", "policies"), ("config", "suites"), ("config", "scoring")}
"""Names in a config are checked against the registries, which are imported when a config is."""

HEAVY = {
    "av", "crafter", "duckdb", "gymnasium", "imageio", "matplotlib", "mujoco", "numba", "onnx", "onnxruntime",
    "pandas", "pygame", "ray", "rich", "safetensors", "scipy", "stable_baselines3", "torch", "websockets",
}  # fmt: skip

ADAPTERS = {
    "gymnasium": ("suites/", "rollout/", "testing/", "training/"),
    "mujoco": ("suites/mujoco/",),
    "numba": ("metrics/transport/", "suites/endovascular/", "suites/tracking/kernels.py", "stats/kernels.py"),
    "rich": ("cli/",),
    "torch": ("policies/waypoint_flow/",),
}
"""Heavy package -> where it may be imported at the top of a module. Those modules are themselves imported
late."""


class Import(NamedTuple):
    file: str
    line: int
    owner: str
    module: str
    at_top: bool


def imports() -> list[Import]:
    """Every import statement of the package, with the modules it names."""
    return _imports_under(ROOT)


@functools.cache
def _imports_under(root: Path) -> list[Import]:
    found: list[Import] = []
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root).as_posix()
        owner = path.relative_to(root).parts[0].removesuffix(".py")
        tree = ast.parse(path.read_text(), file)
        top = set(map(id, _top_level(tree.body)))
        for node in ast.walk(tree):
            found += [
                Import(file, getattr(node, "lineno", 0), owner, module, id(node) in top) for module in _modules(node)
            ]
    return found


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported; what only the type checker reads is left out."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield from _top_level([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _top_level(
                [*node.body, *node.orelse, *node.finalbody, *(s for h in node.handlers for s in h.body)]
            )
        elif isinstance(node, ast.With | ast.ClassDef):
            yield from _top_level(node.body)


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        if _is_package(node.module):
            return [
                f"{node.module}.{a.name}" if _is_module(f"{node.module}.{a.name}") else node.module for a in node.names
            ]
        return [node.module]
    return []


def _is_package(module: str) -> bool:
    return module.split(".")[0] == "proctor" and (ROOT.parent / Path(*module.split("."))).is_dir()


def _is_module(module: str) -> bool:
    path = ROOT.parent / Path(*module.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def place(item: Import) -> str:
    return f"{item.file}:{item.line} imports {item.module}"


def within() -> Iterator[tuple[Import, str]]:
    """Imports of one part of Proctor by another, with the part that is imported."""
    for item in imports():
        parts = item.module.split(".")
        if parts[0] == "proctor" and len(parts) > 1 and parts[1] != item.owner:
            yield item, parts[1]


def test_every_part_is_in_the_table():
    parts = {p.name.removesuffix(".py") for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert parts - MAY_IMPORT.keys() - ENTRANCES == set()


def test_imports_follow_the_data_flow():
    wrong = [
        place(item)
        for item, part in within()
        if item.owner not in ENTRANCES
        and part not in GROUND | MAY_IMPORT[item.owner]
        and not item.file.endswith("/agents.py")
    ]
    assert wrong == []


def test_the_ground_stands_on_nothing():
    assert [place(item) for item, part in within() if item.owner in GROUND and part not in GROUND] == []


def test_neighbours_share_contracts_only():
    wrong = [
        place(item)
        for item, part in within()
        if (item.owner, part) in ONLY_CONTRACT and item.module not in ONLY_CONTRACT[item.owner, part]
    ]
    assert wrong == []


def test_registries_are_looked_up_late():
    assert [place(i) for i, part in within() if (i.owner, part) in LAZY_ONLY and i.at_top] == []


def test_agents_of_a_suite_know_the_policy_protocol_and_no_more():
    of_suites = [(i, part) for i, part in within() if i.owner == "suites" and part in ("policies", "plan")]
    wrong = [
        place(item)
        for item, part in of_suites
        if not item.file.endswith("/agents.py") or (part == "policies" and item.module != "proctor.policies.protocol")
    ]
    assert wrong == []


def test_nobody_imports_the_entrances():
    assert [place(i) for i, part in within() if part in ("cli", "view") and i.owner not in ENTRANCES] == []


def test_heavy_packages_are_imported_where_they_are_used():
    wrong = [
        place(item)
        for item in imports()
        if item.at_top
        and (package := item.module.split(".")[0]) in HEAVY
        and not item.file.startswith(ADAPTERS.get(package, ("nowhere",)))
    ]
    assert wrong == []


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["proctor", "proctor.cli"])
def test_the_front_door_is_light(module):
    heavy = sorted({*HEAVY, "numpy"})
    assert run_python(f"import sys, {module}; print(*(set({heavy}) & set(sys.modules)))") == ""


NETWORKS = tuple(f"proctor.suites.metaworld.waypoint_flow.{name}" for name in ("nets", "graphs", "learning"))
"""Modules that are written in torch, for those who have it."""


def test_every_module_can_be_imported_without_the_extras():
    code = (
        f"""networks = {NETWORKS}"""
        + """
import importlib, pkgutil, sys

class Absent:
    names = {"torch", "onnx", "onnxruntime", "stable_baselines3", "safetensors", "av", "imageio", "pygame"}
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import proctor
for module in pkgutil.walk_packages(proctor.__path__, "proctor."):
    if not module.name.endswith("__main__") and module.name not in networks:
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            print(module.name, error)
"""
    )
    assert run_python(code) == ""


def test_the_table_would_notice(tmp_path, monkeypatch):
    for name, text in {
        "metrics/bad.py": "from proctor.rollout import engine\nfrom proctor.cli import main\n",
        "config/bad.py": "import torch\nfrom proctor.suites import SUITES\n",
        "suites/toy/env.py": "from proctor.policies import load_policy\n",
        "suites/toy/agents.py": "from proctor.policies.files import find_file\n",
    }.items():
        path = tmp_path / "proctor" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setitem(globals(), "ROOT", tmp_path / "proctor")
    for law in (
        test_imports_follow_the_data_flow,
        test_registries_are_looked_up_late,
        test_agents_of_a_suite_know_the_policy_protocol_and_no_more,
        test_nobody_imports_the_entrances,
        test_heavy_packages_are_imported_where_they_are_used,
    ):
        with pytest.raises(AssertionError):
            law()
