"""`proctor examples` and `proctor demo`: what comes with Proctor, to start from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from telling import Tell

from proctor import load_config
from proctor.cli import examples
from proctor.errors import InputError
from proctor.registry import LOADERS, SUITES

ROOT = Path(__file__).parents[2]


def test_every_example_is_listed_with_a_sentence(tell: Tell) -> None:
    listed = json.loads(tell("examples", "list", "--json").out)
    assert set(listed) == {path.name for path in (ROOT / "examples").glob("*.*") if path.is_file()}
    assert listed["03_own_scoring.py"] == "A scoring and a metric of your own"
    assert listed["goals.yml"] == "Does a text-to-goal model imagine the right picture?"
    assert [name for name, about in listed.items() if not about or about.endswith(".")] == []
    lines = tell("examples", "list").out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[name, about] for name, about in listed.items()]


def test_a_copy_has_every_file_byte_for_byte(tell: Tell, tmp_path: Path) -> None:
    said = tell("examples", "copy", tmp_path / "mine")
    copied = [path for path in sorted((tmp_path / "mine").rglob("*")) if path.is_file()]
    begin = f"to begin: proctor run {tmp_path / 'mine' / 'demo.yml'}"
    assert said.out == f"{len(copied)} files in {tmp_path / 'mine'}; {begin}\n"
    assert {"checkpoints/network.onnx", "agents/network.py", "quickstart.yml"} <= {
        path.relative_to(tmp_path / "mine").as_posix() for path in copied
    }
    for path in copied:
        assert path.read_bytes() == (ROOT / "examples" / path.relative_to(tmp_path / "mine")).read_bytes()


def test_nothing_is_written_over(tell: Tell, tmp_path: Path) -> None:
    (tmp_path / "demo.yml").write_text("mine\n")
    said = tell("examples", "copy", tmp_path)
    why = "has demo.yml already, and nothing is written over; name another folder"
    assert (said.code, said.err) == (2, f"error: {tmp_path} {why}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.yml"]
    (tmp_path / "soccer.yml").touch()
    assert "has demo.yml and 1 more already" in tell("examples", "copy", tmp_path).err


def test_a_folder_that_cannot_be_made_is_said(tell: Tell, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = tell("examples", "copy", tmp_path / "file" / "mine")
    why = f"cannot write the examples into {tmp_path / 'file' / 'mine'}: Not a directory"
    assert (said.code, said.err) == (2, f"error: {why}\n")


def test_a_tree_without_examples_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(examples, "__file__", str(tmp_path / "src" / "proctor" / "cli" / "examples.py"))
    with pytest.raises(
        InputError, match=r"the examples are not beside .*/src/proctor; install Proctor from a wheel, or"
    ):
        examples.examples()


def test_the_demo_names_nothing_that_needs_an_extra() -> None:
    cfg = load_config(examples.examples() / examples.DEMO)
    assert {agent.policy for agent in cfg.agents if agent.policy in LOADERS.names()} == {"random"}
    assert all(SUITES.load(task.suite)().needs() == [] for task in cfg.tasks)
    assert cfg.record.level != "video"


def test_the_demo_ends_with_a_ranking_and_the_report(
    tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = tell("demo", "--quiet", "--set", "n_trials=6", "--set", "workers=inline")
    assert said.code == 0, said.err
    assert said.err == f"{ROOT / 'examples' / 'demo.yml'} (a copy to change: proctor examples copy DIR)\n"
    ranked = [line.split()[1] for line in said.out.splitlines() if line.split()[:1] in (["1"], ["2"], ["3"])]
    assert ranked == ["controllers", "clumsy", "random"]
    (report,) = tmp_path.glob("results/eval_runs/*_demo/report.html")
    assert said.out.splitlines()[-1] == f"report: {report.relative_to(tmp_path)}"
