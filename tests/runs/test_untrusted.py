"""All code that a config would run is listed, and none of it is run."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proctor.cli import main
from proctor.errors import InputError
from proctor.runs.untrusted import Listed, untrusted_code

MARK = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n"
PLACES: dict[str, dict[str, Any]] = {
    "policy": {"agents": [{"policy": "mine.py:Policy"}]},
    "policy by module": {"agents": [{"policy": "mine:Policy"}]},
    "torch module": {"agents": [{"policy": "torch", "checkpoint": "w.pt", "options": {"module": "mine.py:Net"}}]},
    "sb3 algorithm": {"agents": [{"policy": "sb3", "options": {"algorithm": "mine.py:Algorithm"}}]},
    "suite": {"tasks": [{"suite": "mine.py:Suite"}]},
    "imports": {"tasks": [{"suite": "gymnasium", "options": {"id": "X-v0", "imports": ["mine.py"]}}]},
    "id": {"tasks": [{"suite": "gymnasium", "options": {"id": "mine.py:X-v0"}}]},
    "benchmark": {"tasks": [{"suite": "vla_eval", "options": {"benchmark": "mine.py:Reach"}}]},
    "task as text": {"tasks": ["mine.py:X-v0"]},
    "wrapper": {"tasks": [{"suite": "gymnasium", "options": {"id": "X-v0", "wrappers": ["mine.py:Wrapper"]}}]},
    "success": {"tasks": [{"suite": "gymnasium", "options": {"id": "X-v0", "success": {"function": "mine.py:won"}}}]},
    "evaluation": {"tasks": [{"suite": "soccer", "options": {"evaluation": {"file": "mine.py", "trust": True}}}]},
    "goal model": {"agents": [{"policy": "goal", "options": {"model": {"target": "mine.py:Model"}}}]},
    "scoring": {"scoring": "mine.py:score"},
    "metric": {"scoring": {"metrics": ["mine.py:Metric"]}},
    "worker backend": {"workers": "mine.py:Backend"},
    "logger": {"loggers": ["mine.py:Logger"]},
    "older form": {"policies": {"first": {"class": "mine.py:Policy"}}},
}


@pytest.fixture(autouse=True)
def _no_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What other tests have imported, and the folders that it came from, are not there."""
    for name in ("mine", "first", "second", "inner"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    elsewhere = str(tmp_path.parent)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if not entry.startswith(elsewhere)])


@pytest.fixture
def listed(tmp_path: Path):
    def listed(**keys: Any) -> list[Listed]:
        path = tmp_path / "eval.yaml"
        path.write_text(json.dumps({"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], **keys}))
        found = untrusted_code(path)
        assert not list(tmp_path.rglob("*.ran")), "it ran"
        return [code for code in found if not code.where.startswith("plug-in")]

    return listed


@pytest.mark.parametrize("place", PLACES)
def test_every_place_that_names_code_is_listed(tmp_path: Path, listed, place: str) -> None:
    (tmp_path / "mine.py").write_text(MARK)
    file, digest = str(tmp_path / "mine.py"), hashlib.sha256(MARK.encode()).hexdigest()
    assert {(code.source, code.file, code.sha256) for code in listed(**PLACES[place])} == {("file", file, digest)}


def test_a_config_without_code_lists_none(listed) -> None:
    assert listed(loggers=["csv"], scoring="return", agents=[{"policy": "proctor.policies.baselines:Zero"}]) == []


def test_what_a_file_imports_in_turn_is_listed(tmp_path: Path, listed) -> None:
    (tmp_path / "mine.py").write_text("import numpy, proctor, first\nfrom inner import deep\n" + MARK)
    (tmp_path / "first.py").write_text("def late():\n    import second\n" + MARK)
    (tmp_path / "second.py").write_text("import mine\n" + MARK)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "__init__.py").write_text("from . import deep, other\n" + MARK)
    (tmp_path / "inner" / "deep.py").write_text(MARK)
    (tmp_path / "inner" / "other.py").write_text("broken(\n")
    files = [code.file for code in listed(scoring="mine.py:score")]
    names = ("mine.py", "first.py", "inner/__init__.py", "inner/deep.py", "inner/other.py", "second.py")
    assert files == [str(tmp_path / name) for name in names]


def test_packages_around_a_module_are_listed(tmp_path: Path, listed, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "around" / "it").mkdir(parents=True)
    for name in ("__init__.py", "it/__init__.py", "it/policy.py"):
        (tmp_path / "around" / name).write_text(MARK)
    monkeypatch.syspath_prepend(tmp_path)
    found = listed(agents=[{"policy": "around.it.policy:Policy"}])
    assert [Path(str(code.file)).relative_to(tmp_path / "around").as_posix() for code in found] == [
        "it/policy.py",
        "__init__.py",
        "it/__init__.py",
    ]
    assert "around" not in sys.modules


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("sys:exit", "part of Python"),
        ("json.decoder:JSONDecoder", "part of Python"),
        ("yaml.loader:Loader", "package PyYAML"),
        ("numpy.linalg._umath_linalg:det", "package numpy"),
        ("no_such.module:Policy", "not found"),
        ("no_such.py:Policy", "not found"),
    ],
)
def test_the_kind_of_source_is_said(listed, target: str, source: str) -> None:
    (found,) = listed(agents=[{"policy": target}])
    assert found.source.startswith(source)
    assert found.source.endswith("(compiled)") == ("_umath" in target)
    assert (found.sha256 is None) == (found.file is None)


def test_checkpoints_are_listed_where_they_are_trusted(tmp_path: Path, listed) -> None:
    for name in ("a1.pt", "a2.pt", "b.pt"):
        (tmp_path / name).write_bytes(name.encode())
    agents = [
        {"policy": "torch", "checkpoint": "a*.pt", "options": {"trust": True}},
        {"policy": "torch", "checkpoint": "b.pt"},
    ]
    found = listed(agents=agents)
    assert [(code.file, code.source) for code in found] == [
        (str(tmp_path / name), "file that runs when it is loaded") for name in ("a1.pt", "a2.pt")
    ]


def test_what_an_override_names_is_listed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MARK)
    (tmp_path / "eval.yaml").write_text("agents: [{policy: random}]\ntasks: [CartPole-v1]\n")
    found = untrusted_code(tmp_path / "eval.yaml", ["scoring=mine.py:score"])
    assert str(tmp_path / "mine.py") in {code.file for code in found}


def test_plug_ins_are_listed_with_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "more_parts-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more-parts\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[proctor.metrics]\nfar = more_parts:Far\n[proctor.suites]\nmaze = more_parts:Maze\nhall = more_parts:Hall\n"
    )
    (tmp_path / "more_parts.py").write_text(MARK)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "eval.yaml").write_text("agents: [{policy: random}]\ntasks: [{suite: maze}]\n")
    found = [code for code in untrusted_code(tmp_path / "eval.yaml") if "more-parts" in code.source]
    assert [(code.where, code.target, code.source) for code in found] == [
        ("plug-in far (proctor.metrics)", "more_parts:Far", "package more-parts 1.2"),
        ("plug-in maze (proctor.suites)", "more_parts:Maze", "package more-parts 1.2"),
    ]
    assert not (tmp_path / "more_parts.ran").exists()


def test_a_file_that_is_no_config_is_refused(tmp_path: Path) -> None:
    for text in ("- a\n", "a: [", ""):
        (tmp_path / "eval.yaml").write_text(text)
        with pytest.raises(InputError, match=r"eval.yaml"):
            untrusted_code(tmp_path / "eval.yaml")


@pytest.mark.parametrize(("policy", "code"), [("mine.py:Policy", 0), ("gone.py:Policy", 2)])
def test_the_command_as_text_and_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], policy: str, code: int
) -> None:
    (tmp_path / "mine.py").write_text(MARK)
    (tmp_path / "eval.yaml").write_text(f"agents: [{{policy: {policy}}}]\ntasks: [CartPole-v1]\n")
    said = []
    for extra in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["proctor", "check", "--untrusted", *extra, str(tmp_path / "eval.yaml")])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
        said.append(capsys.readouterr().out)
    data = json.loads(said[1])
    assert data["complete"] == (code == 0)
    assert data["code"][0]["target"] == str(tmp_path / policy)
    assert f"agents.0.policy: {tmp_path / policy}\n" in said[0]
    assert not (tmp_path / "mine.ran").exists()


def test_no_simulator_and_no_model_library_is_imported_for_it(tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text("agents: [{policy: torch}]\ntasks: [CartPole-v1]\n")
    program = (
        "import sys; from proctor.runs.untrusted import untrusted_code; untrusted_code(sys.argv[1]);"
        "print([m for m in ('torch', 'gymnasium', 'mujoco', 'proctor.suites.gymnasium.suite') if m in sys.modules])"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "eval.yaml")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_the_interpreters_and_packages_of_runtimes_are_listed(tmp_path: Path, listed) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\n")
    runtimes = (
        {"python": "./python"},
        {"python": "gone/python"},
        {"packages": ["toy==1"], "python": "3.10"},
        "crafter",
    )
    found = listed(
        tasks=[{"suite": "gymnasium", "runtime": runtime} for runtime in runtimes],
        agents=[{"policy": "random", "runtime": {"packages": ["toy==2"]}}],
    )
    digest = hashlib.sha256(b"#!/bin/sh\n").hexdigest()
    path = str(tmp_path / "python")
    assert [one for one in found if "runtime" in one.where] == [
        Listed("agents.0.runtime.packages", "toy==2", "package that is installed for it", None, None),
        Listed("tasks.0.runtime.python", path, "interpreter", path, digest),
        Listed("tasks.1.runtime.python", str(tmp_path / "gone" / "python"), "not found", None, None),
        Listed("tasks.2.runtime.packages", "toy==1", "package that is installed for it", None, None),
    ]
