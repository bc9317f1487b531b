"""The import rule: the tree is the data flow, and imports follow it. Heavy packages are imported where they
are used."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1] / "src" / "proctor"

GROUND = {
    "caches", "cells", "errors", "exports", "foreign", "generators", "images", "interpreters", "kernels",
    "memory", "references",
    "registry", "rendering", "spaces", "texts", "threads", "unpickle", "values",
}  # fmt: skip
"""Modules that everybody may import; they import nothing but each other."""

CORE = {"config", "plan", "policies", "rollout", "record", "metrics", "scoring", "stats", "verdict", "report"}
"""The path from a config to a report. It knows what a suite is, and no suite by name."""

MAY_IMPORT: dict[str, set[str]] = {
    "config": {"policies", "suites", "scoring"},
    "plan": {"config"},
    "policies": {"config", "plan", "network"},
    "network": {"config", "plan", "policies", "rollout", "suites"},
    "suites": {"config", "record"},
    "record": {"config", "plan"},
    "metrics": {"record"},
    "scoring": {"config", "record"},
    "stats": set(),
    "verdict": {"config", "plan", "record", "scoring", "stats"},
    "rollout": {"config", "plan", "policies", "suites", "record", "metrics", "verdict", "runtimes"},
    "report": {"config", "plan", "record", "metrics", "scoring", "stats", "verdict"},
    "runtimes": {"config", "record", "suites"},
    "runs": CORE | {"suites", "network", "runtimes"},
    "testing": CORE | {"suites", "runs", "runtimes"},
    "training": CORE | {"suites", "runs"},
    "view": CORE | {"runs"},
    "parts": set(),
}
"""Folder (or module) -> what of Proctor it may import. `cli` and the package itself may import anything."""

ENTRANCES = {"cli", "__init__", "__main__"}

ROOM: dict[str, set[str]] = {
    "agents": {"plan", "policies"},
    "loaders": {"policies"},
    "metrics": {"record", "metrics"},
    "scoring": {"config", "record", "metrics", "scoring"},
    "report": {"config", "record", "metrics", "scoring", "stats", "verdict", "report"},
    "forms": {"config"},
    "runtime": {"runtimes"},
    "parts": set(),
}
"""What stands under `suites/NAME/` beside the environment -> what of Proctor it may import; none of these imports a
simulator. An environment may use metrics, too, such as a distance that it records."""

PLUGINS = {
    "suites/goals/": CORE | {"suites", "runs", "runtimes"},
    "suites/metaworld/waypoint_flow/": {"config", "plan", "policies"},
}
"""Whole programs that only happen to be shipped: they may import what a user's program may, and nobody imports
them."""

ONLY_CONTRACT = {
    ("suites", "record"): {"proctor_host.episode", "proctor_host.npz", "proctor_host.sheet"},
    ("agents", "policies"): {"proctor.policies.protocol"},
    ("agents", "plan"): {"proctor_host.trials"},
    ("metrics", "record"): {"proctor_host.episode"},
    ("forms", "config"): {"proctor.config.forms", "proctor.config.models", "proctor.config.problems"},
    ("plan", "config"): {"proctor.config.models"},
    ("policies", "config"): {"proctor.config.models"},
    ("suites", "config"): {"proctor.config.models", "proctor.config.yaml_source"},
    ("runtime", "runtimes"): {"proctor.runtimes.recipes"},
    ("runtimes", "config"): {"proctor.config.models", "proctor.config.runtime"},
    ("runtimes", "record"): {"proctor.record.files"},
    ("runtimes", "suites"): {"proctor.suites.protocol"},
    ("scoring", "config"): {"proctor.config.models", "proctor.config.problems", "proctor.config.validate"},
}
"""Between these only the data that both sides share."""

LAZY_ONLY = {("config", "policies"), ("config", "suites"), ("config", "scoring")}
"""Names in a config are checked against the registries, which are imported when a config is."""

SIMULATORS = (
    "crafter",
    "eve",
    "gymnasium",
    "libero",
    "metaworld",
    "mjlab",
    "mujoco",
    "robosuite",
    "sai_mujoco",
    "Sofa",
)

HEAVY = {
    "av", "crafter", "duckdb", "gymnasium", "imageio", "matplotlib", "mujoco", "numba", "onnx", "onnxruntime",
    "pandas", "pygame", "ray", "rich", "safetensors", "scipy", "stable_baselines3", "starlette", "torch",
    "uvicorn", "websockets",
}  # fmt: skip

ADAPTERS = {
    "gymnasium": ("suites/", "rollout/", "testing/", "training/"),
    "mujoco": ("suites/tracking/device/mjx.py",),
    "numba": ("metrics/transport/", "suites/endovascular/", "suites/tracking/kernels.py", "stats/kernels.py"),
    "rich": ("cli/",),
    "starlette": ("view/app.py",),
    "torch": ("suites/metaworld/waypoint_flow/", "suites/steve/actor.py", "suites/tracking/device/"),
}
"""Heavy package -> where it may be imported at the top of a module. Those modules are themselves imported
late."""

FOREIGN = {
    "anatomy", "aortic", "catheter", "crafter", "emd", "endovascular", "goal", "goals", "guidewire", "humanoid", "lcp",
    "libero", "metaworld", "mineclip", "robot", "soccer", "sofa", "steve", "tip", "tracking", "vessel", "waypoint",
    "wire",
}  # fmt: skip
"""Words of a suite's domain, for which the core has no use."""

WORDLESS = ("config", "plan", "rollout", "runtimes", "record", "stats", "report")


class Import(NamedTuple):
    file: str
    line: int
    owner: str
    module: str
    at_top: bool


def imports() -> list[Import]:
    """Every import of the package: statements, and import strings outside the lists of parts."""
    return _imports_under(ROOT)


@functools.cache
def _imports_under(root: Path) -> list[Import]:
    found: list[Import] = []
    for file, tree in _trees(root):
        owner = file.split("/")[0].removesuffix(".py")
        top = set(map(id, _top_level(tree.body)))
        exports = any(isinstance(node, ast.Name) and node.id == "lazily" for node in ast.walk(tree))
        blocks = [] if exports else [node for node in ast.walk(tree) if _for_the_type_checker(node)]
        typed = {id(node) for block in blocks for node in ast.walk(block)}
        for node in ast.walk(tree):
            if id(node) not in typed:
                modules = [*_modules(node), *([] if file.endswith("parts.py") else _named(node))]
                line = getattr(node, "lineno", 0)
                found += [Import(file, line, owner, module, id(node) in top) for module in modules]
    return found


@functools.cache
def _trees(root: Path) -> list[tuple[str, ast.Module]]:
    paths = sorted(root.rglob("*.py"))
    return [(path.relative_to(root).as_posix(), ast.parse(path.read_text(), str(path))) for path in paths]


def _for_the_type_checker(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


IMPORT_STRING = re.compile(r"(proctor(?:\.\w+)+):[A-Za-z_][\w.]*")


def _named(node: ast.AST) -> list[str]:
    """The modules that a string literal imports: an import string, or a module that `import_object` is given."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        match = IMPORT_STRING.fullmatch(node.value)
        return [match[1]] if match else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_object":
        said = [constant.value for constant in ast.walk(node) if isinstance(constant, ast.Constant)]
        return [text for text in said if isinstance(text, str) and _is_module(text)]
    return []


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported; what only the type checker reads is left out."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and not _for_the_type_checker(node):
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
    if not re.fullmatch(r"proctor(\.\w+)+", module):
        return False
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


def room(item: Import) -> str | None:
    """Which part of a suite's room a file is: `agents`, `report`, ...; None for anything else."""
    parts = item.file.split("/")
    name = parts[2].removesuffix(".py") if item.owner == "suites" and len(parts) > 2 else ""
    return name if name in ROOM else None


def plugin(file: str) -> str | None:
    return next((place for place in PLUGINS if file.startswith(place)), None)


def allowed(item: Import) -> set[str]:
    """The parts of Proctor that this file may import."""
    own = plugin(item.file)
    if own is not None:
        return GROUND | PLUGINS[own]
    role = room(item)
    if role is not None:
        return GROUND | ROOM[role]
    return GROUND | MAY_IMPORT[item.owner] | ({"metrics"} if item.owner == "suites" else set())


def test_every_part_is_in_the_table():
    parts = {p.name.removesuffix(".py") for p in ROOT.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert parts - MAY_IMPORT.keys() - ENTRANCES - GROUND == set()


def test_imports_follow_the_data_flow():
    wrong = [
        place(item) for item, part in within() if item.owner not in ENTRANCES | GROUND and part not in allowed(item)
    ]
    assert wrong == []


def test_the_ground_stands_on_nothing_and_the_registry_names_contracts():
    from proctor.registry import KINDS

    contracts = {kind.contract.partition(":")[0] for kind in KINDS if kind.contract}
    wrong = [
        place(item)
        for item, part in within()
        if item.owner in GROUND and part not in GROUND and not (item.owner == "registry" and item.module in contracts)
    ]
    assert wrong == []


def test_neighbours_share_contracts_only():
    wrong = []
    for item, part in within():
        between = (room(item) or item.owner, part)
        if plugin(item.file) is None and between in ONLY_CONTRACT and item.module not in ONLY_CONTRACT[between]:
            wrong.append(place(item))
    assert wrong == []


def test_registries_are_looked_up_late():
    assert [place(i) for i, part in within() if (i.owner, part) in LAZY_ONLY and i.at_top] == []


def test_the_core_knows_no_suite():
    known = ("proctor.suites", "proctor.suites.protocol")
    below = CORE | GROUND | {"runs", "runtimes", "network"}
    wrong = [place(i) for i, part in within() if i.owner in below and part == "suites" and i.module not in known]
    assert wrong == []


def test_nobody_imports_what_is_a_plugin():
    """The package around one may export its names, lazily; a verb may run one."""
    wrong = [
        place(item)
        for item in imports()
        for own in PLUGINS
        if f"{item.module}.".startswith(f"proctor.{own.replace('/', '.')}")
        and not item.file.startswith((own, "cli/"))
        and (item.at_top or not own.startswith(item.file.removesuffix("__init__.py")))
    ]
    assert wrong == []


def words(text: str) -> set[str]:
    """The words of a sentence or a name, in lower case and in the singular."""
    apart = re.findall(r"[A-Za-z]+", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text))
    return {word.lower() for word in apart} | {word.lower().removesuffix("s") for word in apart}


def said(node: ast.AST) -> list[str]:
    """What a piece of code says: a string, or the names in it."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    names = (getattr(node, field, None) for field in ("id", "attr", "name", "arg", "module"))
    return [name for name in names if isinstance(name, str)]


def test_the_core_has_no_word_for_a_suite_s_domain():
    wrong = [
        f"{file}:{getattr(node, 'lineno', 0)} says {', '.join(sorted(found))}"
        for file, tree in _trees(ROOT)
        if file.split("/")[0] in WORDLESS
        for node in ast.walk(tree)
        for text in said(node)
        if (found := FOREIGN & words(text))
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


def test_every_folder_of_modules_is_a_package():
    """A folder without `__init__.py` can be imported from a checkout, but is missing from what is installed."""
    folders = {path.parent for path in ROOT.rglob("*.py")}
    assert sorted(str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").is_file()) == []


@pytest.mark.parametrize("module", ["proctor", "proctor.cli"])
def test_the_front_door_is_light(module):
    heavy = sorted({*HEAVY, "numpy"})
    assert run_python(f"import sys, {module}; print(*(set({heavy}) & set(sys.modules)))") == ""


def test_help_is_light():
    heavy = sorted({*HEAVY, "numpy"} - {"rich"})
    code = (
        "import sys\nfrom proctor.cli import main\nsys.argv = ['proctor', '--help']\n"
        f"try:\n    main()\nexcept SystemExit:\n    pass\nprint('heavy:', *(set({heavy}) & set(sys.modules)))"
    )
    assert run_python(code).splitlines()[-1] == "heavy:"


WITHOUT = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def tried(package, wanted):
    sys.meta_path.insert(0, Absent())
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if wanted(module.name):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                print(module.name, error)
"""


def test_every_module_can_be_imported_without_the_extras():
    absent = {"torch", "onnx", "onnxruntime", "stable_baselines3", "safetensors", "av", "imageio", "pygame"}
    absent |= {"starlette", "uvicorn"}
    networks = tuple(f"proctor.suites.metaworld.waypoint_flow.{name}" for name in ("nets", "graphs"))
    networks = (*networks, "proctor.view.app", "proctor.suites.steve.actor", "proctor.suites.tracking.device.")
    networks = (*networks, "proctor.training.on_device")
    code = f"absent, networks = {absent}, {networks}\n{WITHOUT}\n"
    code += "tried('proctor', lambda name: not name.endswith('__main__') and not name.startswith(networks))"
    assert run_python(code) == ""


def test_what_reads_records_of_a_suite_needs_no_simulator():
    code = f"absent, rooms = {SIMULATORS}, {sorted(ROOM)}\n{WITHOUT}\n"
    code += "tried('proctor.suites', lambda name: name.count('.') > 2 and name.split('.')[3] in rooms)"
    assert run_python(code) == ""


@pytest.mark.parametrize(
    ("file", "text", "law"),
    [
        ("metrics/bad.py", "from proctor.rollout import engine\n", test_imports_follow_the_data_flow),
        ("metrics/bad.py", "from proctor.cli import main\n", test_nobody_imports_the_entrances),
        ("report/bad.py", "from proctor.view.places import Places\n", test_nobody_imports_the_entrances),
        ("stats/bad.py", "WARM = 'proctor.suites.tracking.suite:warm'\n", test_imports_follow_the_data_flow),
        ("rollout/bad.py", "import_object('proctor.suites.toy:Toy')\n", test_the_core_knows_no_suite),
        ("rollout/bad.py", "WARM = 'proctor.suites.toy.warming:warm'\n", test_the_core_knows_no_suite),
        ("config/bad.py", "import torch\n", test_heavy_packages_are_imported_where_they_are_used),
        ("config/bad.py", "from proctor.suites import SUITES\n", test_registries_are_looked_up_late),
        ("suites/toy/env.py", "from proctor.policies import load_policy\n", test_imports_follow_the_data_flow),
        ("suites/toy/agents.py", "from proctor.policies.files import f\n", test_neighbours_share_contracts_only),
        (
            "suites/toy/runtime.py",
            "from proctor.runtimes.install import install\n",
            test_neighbours_share_contracts_only,
        ),
        ("runtimes/bad.py", "from proctor.rollout import engine\n", test_imports_follow_the_data_flow),
        ("suites/toy/forms.py", "from proctor.record import npz\n", test_imports_follow_the_data_flow),
        ("suites/toy/env.py", "from proctor.suites.goals import GoalModel\n", test_nobody_imports_what_is_a_plugin),
        ("record/bad.py", "def wall_of_vessels(): ...\n", test_the_core_has_no_word_for_a_suite_s_domain),
        ("record/bad.py", "LIMIT = 'the tip of the wire'\n", test_the_core_has_no_word_for_a_suite_s_domain),
    ],
)
def test_the_laws_would_notice(tmp_path, monkeypatch, file, text, law):
    path = tmp_path / "proctor" / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    monkeypatch.setitem(globals(), "ROOT", tmp_path / "proctor")
    with pytest.raises(AssertionError):
        law()
