"""Proctor as it is given to others: what is in the wheels and source distributions, and that they work elsewhere."""

from __future__ import annotations

import email
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("build", reason="the extra `dev` is not installed")
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
SOURCES = ("src", "examples", "host", "tests/conftest.py", "setup.py", "MANIFEST.in", "pyproject.toml")
SOURCES += ("README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md")
"""What a build sees of the repository."""
LEFTOVERS = shutil.ignore_patterns("__pycache__", "*.egg-info")
VISIT = """
import json, sys
from proctor.cli import main

codes = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["proctor", *words]
    try:
        main()
    except SystemExit as ended:
        codes.append(ended.code)
files = [m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] in ("proctor", "proctor_host")]
print(json.dumps({"codes": codes, "files": files}))
"""
"""Verbs one after the other, then how each ended and where Proctor's modules came from."""
ELSEWHERE = """
name: elsewhere
agents: [{name: random, policy: random}]
tasks:
  - {suite: gymnasium, runtime: {python: PYTHON}, options: {id: CartPole-v1}}
n_trials: 1
scoring: return
"""
"""An environment in another interpreter, which gets the host from where it is installed."""


def files_of(folder: Path) -> set[str]:
    """Every file below a folder but what Python, numba and installations leave there."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {p.as_posix() for p in found if "__pycache__" not in p.parts and ".egg-info" not in p.parts[0]}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both wheels and both source distributions, the wheels made of the latter, without a network."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        (tree / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tree / name, **({"ignore": LEFTOVERS} if (ROOT / name).is_dir() else {}))
    for folder in ("host", "."):
        command = [sys.executable, "-m", "build", "--quiet", "--no-isolation", "--outdir", str(out), str(tree / folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Deprecat" not in done.stdout + done.stderr
    return out


def wheel(dist: Path, name: str) -> zipfile.ZipFile:
    (path,) = dist.glob(f"{name}-*.whl")
    assert path.name.endswith("-py3-none-any.whl")
    return zipfile.ZipFile(path)


def without_metadata(archive: zipfile.ZipFile) -> set[str]:
    return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_is_the_package_with_the_examples_inside(dist: Path) -> None:
    package = {f"proctor/{name}" for name in files_of(ROOT / "src" / "proctor")}
    examples = {f"proctor/examples/{name}" for name in files_of(ROOT / "examples")}
    assert without_metadata(wheel(dist, "proctor")) == package | examples
    assert without_metadata(wheel(dist, "proctor_host")) == files_of(ROOT / "host" / "src")


@pytest.mark.parametrize("name", ["proctor", "proctor_host"])
def test_a_wheel_says_its_license_and_brings_it(dist: Path, name: str) -> None:
    archive = wheel(dist, name)
    (license_file,) = (inner for inner in archive.namelist() if inner.endswith("/licenses/LICENSE"))
    (metadata,) = (inner for inner in archive.namelist() if inner.endswith("/METADATA"))
    assert archive.read(license_file) == (ROOT / "LICENSE").read_bytes()
    assert email.message_from_bytes(archive.read(metadata))["License-Expression"] == "Apache-2.0"


def test_the_source_distribution_has_what_a_build_needs_and_no_tests(dist: Path) -> None:
    """Tests, docs, benchmarks and the campaign belong to a clone: they read one another, and the host's sources."""
    (path,) = dist.glob("proctor-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    made = {"PKG-INFO", "setup.cfg"} | {name for name in names if ".egg-info/" in name}
    package = {f"src/proctor/{name}" for name in files_of(ROOT / "src" / "proctor")}
    examples = {f"examples/{name}" for name in files_of(ROOT / "examples")}
    files = {name for name in SOURCES if "." in Path(name).name and "/" not in name} | {"LICENSE"}
    assert names - made == package | examples | files


@pytest.fixture(scope="module")
def site(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both wheels installed, and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    done = subprocess.run([*command, "--disable-pip-version-check", *map(str, dist.glob("*.whl"))], timeout=120)
    assert done.returncode == 0
    return folder


def test_what_is_installed_examines_agents_far_from_the_repository(site: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.yml").write_text(ELSEWHERE.replace("PYTHON", sys.executable))
    small = ["--quiet", "--set", "n_trials=1", "--set", "workers=1"]
    verbs = [
        ["doctor", "--json"],
        ["examples", "copy", "mine"],
        ["demo", *small],
        ["run", "mine/quickstart.yml", *small],
        ["run", "elsewhere.yml", "--quiet"],
    ]
    done = subprocess.run(
        [sys.executable, "-P", "-c", VISIT, json.dumps(verbs)],
        env={**os.environ, "PYTHONPATH": str(site)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["codes"] == [0] * len(verbs), done.stdout + done.stderr
    assert [file for file in last["files"] if not Path(file).is_relative_to(site)] == []
    assert f"{site / 'proctor' / 'examples' / 'demo.yml'} (a copy to change: " in done.stderr
    assert files_of(tmp_path / "mine") == files_of(ROOT / "examples")
    reports = list((tmp_path / "results" / "eval_runs").glob("*/report.html"))
    assert {path.parent.name.partition("_")[2] for path in reports} == {"demo", "quickstart", "elsewhere"}
    assert all(f"report: {path.relative_to(tmp_path)}" in done.stdout for path in reports)
