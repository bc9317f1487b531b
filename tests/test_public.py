"""The public surface: what is exported is documented, and docs and examples import nothing else."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.registry import KINDS

ROOT = Path(__file__).parents[1]
MODULES = ("proctor", *(f"proctor.{name}" for name in ("suites", "policies", "metrics", "scoring", "testing")))
"""Where contracts and functions for users are. Beside them, a suite's package has what is particular to that suite."""
ROOMS = tuple(f"proctor.suites.{name}" for name in ("crafter", "goals", "metaworld", "tracking"))
ROW = re.compile(r"\| `(\w+)` \| (`proctor[^|]*) \| ([^|]+) \|")


def documented() -> dict[str, set[str]]:
    """Module -> the names that docs/api.md has of it."""
    found: dict[str, set[str]] = {}
    for name, modules, about in ROW.findall((ROOT / "docs" / "api.md").read_text()):
        assert about.strip(), f"docs/api.md says nothing of {name}"
        for module in re.findall(r"`([\w.]+)`", modules):
            assert name not in found.setdefault(module, set()), f"docs/api.md has {module}.{name} twice"
            found[module].add(name)
    return found


def test_the_table_has_every_public_module():
    assert set(documented()) == {*MODULES, *ROOMS}


@pytest.mark.parametrize("module", [*MODULES, *ROOMS])
def test_the_table_equals_what_is_exported(module):
    if module == "proctor.suites.metaworld":
        pytest.importorskip("torch", reason="the extra `torch` is not installed")
    found = importlib.import_module(module)
    assert documented()[module] == set(found.__all__)
    for name in found.__all__:
        assert getattr(found, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = found.no_such_name


def test_a_name_in_two_public_modules_is_one_thing():
    for name in importlib.import_module("proctor").__all__:
        owners = [importlib.import_module(module) for module, names in documented().items() if name in names]
        assert len({id(getattr(owner, name)) for owner in owners}) == 1, name


@pytest.mark.parametrize("registry", KINDS, ids=lambda registry: registry.kind)
def test_every_kind_of_part_has_a_public_contract_and_a_conformance_test(registry):
    contract = registry.contract.partition(":")[2]
    assert contract in importlib.import_module("proctor").__all__
    assert f"{contract.removeprefix('Config')}Conformance" in importlib.import_module("proctor.testing").__all__


def snippets() -> list[tuple[str, str]]:
    """(where, source) of every example and of every Python block in README and docs."""
    found = [(str(path.relative_to(ROOT)), path.read_text()) for path in sorted((ROOT / "examples").rglob("*.py"))]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
        found += [(f"{page.relative_to(ROOT)}, block {i}", block) for i, block in enumerate(blocks, start=1)]
    return found


def private_imports(source: str) -> list[str]:
    """What a snippet imports of Proctor that is not public."""
    public, wrong = documented(), []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            wrong += [a.name for a in node.names if a.name.partition(".")[0] == "proctor" and a.name not in public]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "proctor":
            assert node.module is not None
            wrong += [f"{node.module}.{a.name}" for a in node.names if a.name not in public.get(node.module, ())]
    return wrong


def test_docs_and_examples_import_public_names_only():
    wrong = {where: found for where, source in snippets() if (found := private_imports(source))}
    assert not wrong, f"these import what docs/api.md does not list: {wrong}"


def test_prose_names_public_objects_only():
    """`proctor.X` in backticks is a public module, a name in one, or an entry point group."""
    public, groups = documented(), {registry.group for registry in KINDS} | {"proctor.goal_models"}
    wrong = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for word in re.findall(r"`(proctor(?:\.[A-Za-z_]\w*)+)[^`:]*`", page.read_text()):
            owner, _, name = word.rpartition(".")
            data = re.fullmatch(r"proctor\.suites\.\w+\.(names|tasks)", word)
            if word not in public and word not in groups and name not in public.get(owner, ()) and not data:
                wrong.append(f"{page.name}: {word}")
    assert not wrong, f"these are private; export them, or say it otherwise: {wrong}"


def test_a_private_import_would_be_noticed():
    assert private_imports("from proctor.rollout.engine import Engine") == ["proctor.rollout.engine.Engine"]
    assert private_imports("import proctor.record.ledger") == ["proctor.record.ledger"]
    assert private_imports("from proctor import Env, Engine\nimport proctor.suites") == ["proctor.Engine"]
    assert len([where for where, source in snippets() if "proctor" in source]) > 20


def test_importing_proctor_imports_nothing_else_of_it():
    """Names are imported when they are first used; so importing takes no time (`make bench` measures it)."""
    code = "import sys, proctor; print(*sorted(m for m in sys.modules if m.startswith('proctor.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["proctor.exports"]
