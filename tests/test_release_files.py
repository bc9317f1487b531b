"""What a release is made of beside the code: one version everywhere, and files that other programs read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import proctor

ROOT = Path(__file__).parents[1]
READ_BY_OTHERS = ["CITATION.cff", ".github/workflows/ci.yml", ".pre-commit-config.yaml", "mkdocs.yml"]


def read(name: str) -> Any:
    """A YAML file, in which a key that comes twice is an error."""

    class Strict(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            keys = [self.construct_object(key, deep=deep) for key, _ in node.value]
            assert len(keys) == len(set(keys)), f"{name}: a key comes twice among {keys}"
            return super().construct_mapping(node, deep)

    return yaml.load((ROOT / name).read_text(), Strict)


def project(folder: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def test_one_version_everywhere() -> None:
    found = {
        "pyproject.toml": project(".")["version"],
        "host/pyproject.toml": project("host")["version"],
        "CITATION.cff": read("CITATION.cff")["version"],
        "proctor.__version__": proctor.__version__,
    }
    assert set(found.values()) == {project(".")["version"]}, found


def test_one_license_everywhere() -> None:
    assert {project(".")["license"], project("host")["license"], read("CITATION.cff")["license"]} == {"Apache-2.0"}
    assert (ROOT / "host" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("name", READ_BY_OTHERS)
def test_files_for_other_programs_are_yaml_with_each_key_once(name: str) -> None:
    assert isinstance(read(name), dict)


def test_a_key_that_comes_twice_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "twice.yml").write_text("a: 1\na: 2\n")
    with pytest.raises(AssertionError, match="a key comes twice"):
        read(str(tmp_path / "twice.yml"))


def test_the_citation_has_what_its_format_requires() -> None:
    citation = read("CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["authors"]


def steps() -> list[dict[str, Any]]:
    return [step for job in read(".github/workflows/ci.yml")["jobs"].values() for step in job["steps"]]


def test_the_workflow_runs_what_is_in_the_repository() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = [step["run"] for step in steps() if "run" in step]
    assert ".ci/run" in commands
    for command in commands:
        program, *words = command.split()
        if program == "make":
            assert [word for word in words if not re.search(rf"^{word}:", makefile, re.MULTILINE)] == []
        else:
            assert (ROOT / program).stat().st_mode & 0o111, command


def test_the_workflow_knows_no_secret_and_may_only_read() -> None:
    workflow = read(".github/workflows/ci.yml")
    assert workflow["permissions"] == {"contents": "read"}
    assert "secrets." not in (ROOT / ".github/workflows/ci.yml").read_text()


def test_the_workflow_keeps_the_wheels() -> None:
    kept = [step["with"]["path"] for step in steps() if step.get("uses", "").startswith("actions/upload-artifact")]
    assert "dist" in kept


def test_hooks_before_a_commit_are_tools_of_the_environment() -> None:
    """So that they are of the versions in constraints.txt, like `make lint`."""
    (source,) = read(".pre-commit-config.yaml")["repos"]
    assert source["repo"] == "local"
    wanted = {word.split(">=")[0].split("[")[0] for extra in ("dev", "test") for word in extras()[extra]}
    for hook in source["hooks"]:
        program = hook["entry"].split()[0]
        assert hook["language"] == "system"
        assert program.startswith(".venv/bin/")
        assert Path(program).name in wanted, f"{program} comes with no extra of developers"
        named = re.findall(r"tests/\S+\.py", hook["entry"])
        assert all((ROOT / name).is_file() for name in named), named


def extras() -> dict[str, list[str]]:
    return project(".")["optional-dependencies"]
