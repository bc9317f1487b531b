"""The workflow of docs/ci.md: it is one, and its commands are those that Proctor has."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from manual import ROOT, blocks
from telling import Tell

from proctor.cli import app

NAME = "# other: .github/workflows/examination.yml\n"
GH = {
    "run list": {"--workflow", "--branch", "--status", "--limit", "--json", "--jq"},
    "run download": {"--name", "--dir"},
    "pr comment": {"--body-file", "--edit-last", "--create-if-none"},
}
"""Options of GitHub's own command that the workflow may use, as its manual has them."""
CONTEXTS = {"github.ref", "github.ref_name", "github.event_name", "github.token", "github.repository"}
CONTEXTS |= {"github.event.number", "github.event.pull_request.head.repo.full_name"}


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    (text,) = [block.text for block in blocks(ROOT / "docs" / "ci.md") if block.text.startswith(NAME)]
    return yaml.safe_load(text)


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return workflow["jobs"]["examine"]["steps"]


def commands(workflow: dict[Any, Any], program: str) -> Iterator[list[str]]:
    """The words of every call of a program, with what GitHub fills in filled in."""
    for step in steps(workflow):
        script = re.sub(r"\$\{\{.*?\}\}", "filled-in", step.get("run", ""))
        for found in re.finditer(rf"\b{program} (?:[^|;)\n']|'[^']*')+", script):
            yield shlex.split(found[0])


def test_it_is_a_workflow(workflow: dict[Any, Any]) -> None:
    assert set(workflow) == {"name", True, "permissions", "concurrency", "jobs"}, "YAML 1.1 reads `on` as true"
    assert set(workflow[True]) == {"pull_request", "push", "schedule"}
    assert all(re.fullmatch(r"(\S+ ){4}\S+", entry["cron"]) for entry in workflow[True]["schedule"])
    for step in steps(workflow):
        assert ("run" in step) != ("uses" in step)
        assert set(step) <= {"name", "if", "run", "uses", "with"}
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "actions/checkout@v4"))


def test_what_it_asks_github_for_exists(workflow: dict[Any, Any]) -> None:
    text = yaml.safe_dump(workflow, width=10_000)
    inside = " ".join(re.findall(r"\$\{\{(.*?)\}\}", text))
    assert set(re.findall(r"github\.[\w.]*\w", re.sub(r"'[^']*'", "", inside))) <= CONTEXTS
    for words in commands(workflow, "gh"):
        options = {word for word in words if word.startswith("--")}
        assert options <= GH[" ".join(words[1:3])]


def test_its_commands_and_their_options_are_real(workflow: dict[Any, Any]) -> None:
    verbs = typer.main.get_command(app).commands  # pyright: ignore[reportAttributeAccessIssue]
    found = list(commands(workflow, "proctor"))
    assert [words[1] for words in found] == ["check", "run", "compare"]
    for words in found:
        known = {option for parameter in verbs[words[1]].params for option in parameter.opts}
        assert {word for word in words[2:] if word.startswith("--")} <= known


def test_its_commands_do_what_it_says(
    workflow: dict[Any, Any], tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of the main branch becomes the baseline that a pull request is compared with."""
    monkeypatch.chdir(tmp_path)
    small = {"agents": [{"policy": "random"}], "tasks": ["CartPole-v1"], "n_trials": 2, "workers": "inline"}
    Path("examination.yml").write_text(yaml.safe_dump(small))
    check, run, compare = ([*words[1:]] for words in commands(workflow, "proctor"))
    assert tell(*check).code == 0
    assert tell(*run).code == 0
    shutil.move("runs", "baseline")
    assert tell(*run).code == 0
    said = tell(*compare)
    assert said.code == 0, said.err
    (comment,) = [words for words in commands(workflow, "gh") if words[1] == "pr"]
    written = Path(comment[comment.index("--body-file") + 1])
    assert "main:random" in written.read_text()
    assert list(Path("runs").glob("*/report.md"))
