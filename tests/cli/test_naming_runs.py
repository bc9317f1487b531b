"""How runs, trials and shards are called on the command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from examining import examination, policy, task
from telling import Tell

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.cli import main
from proctor.record.latest import found_run, runs_below
from proctor.runs.replay import find_trial

Write = Callable[..., Path]
ROOT = Path("results", "eval_runs")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """A config file in the working directory, whose output root is the default one."""
    monkeypatch.chdir(tmp_path)

    def make(**keys: Any) -> Path:
        path = tmp_path / "exam.yml"
        raw = {**examination(tmp_path), "n_trials": 2, **keys}
        del raw["output_root"]
        path.write_text(yaml.safe_dump(raw))
        return path

    return make


# latest ------------------------------------------------------------------------------------------------------


def made(root: Path, second: float, name: str) -> Path:
    cfg = config_from_dict(examination(root, name=name))
    return Run.create(cfg, datetime(2026, 1, 5, 12) + timedelta(seconds=second)).path


def test_latest_is_the_run_that_was_begun_last_whatever_it_is_called(tmp_path: Path) -> None:
    first, last, middle = (made(tmp_path, *each) for each in ((0, "z"), (0.2, "a"), (0.1, "m")))
    last = last.rename(tmp_path / "BASE")
    (tmp_path / "checks").mkdir()
    assert runs_below(tmp_path) == [last, middle, first]
    names = ("latest", "latest~0", "latest~1", "latest~2")
    assert [found_run(f"{tmp_path}/{name}") for name in names] == [str(p) for p in (last, last, middle, first)]
    with pytest.raises(InputError) as error:
        found_run(f"{tmp_path}/latest~3")
    assert str(error.value) == f'"{tmp_path}/latest~3": there are 3 runs below {tmp_path}'


def test_a_run_that_does_not_say_when_it_was_begun_has_its_folders_time(tmp_path: Path) -> None:
    old, new = made(tmp_path, 0, "a"), made(tmp_path, 5, "a")
    for run in (old, new):
        with Run(run).ledger() as ledger:
            ledger.set_meta("made_at", None)
    assert runs_below(tmp_path) == [new, old]


def test_without_runs_latest_is_refused_and_a_folder_of_that_name_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as error:
        found_run("latest")
    assert str(error.value) == (f'"latest": there is no run below {ROOT}; runs of another output_root are DIR/latest')
    (tmp_path / "latest").mkdir()
    assert found_run("latest") == "latest"
    assert found_run("latest~x") == "latest~x"


def test_every_verb_that_takes_a_run_takes_latest(tell: Tell, write: Write) -> None:
    config = write(agents=[policy("Linear"), policy("Noisy")])
    assert tell("run", config, "--quiet").code == 0
    (run,) = ROOT.iterdir()
    for verb in (
        ["resume", "latest", "--quiet"],
        ["report", "latest"],
        ["score", "latest"],
        ["replay", "latest", "noisy/1"],
        ["compare", "latest", "--quiet"],
        ["leaderboard", "latest", "--quiet"],
        ["power", "latest"],
    ):
        said = tell(*verb)
        assert said.code == 0, said.err
        assert "latest" not in said.out
    assert tell("compare", "latest", "--quiet").out.endswith(f"comparison: {run / 'compare.html'}\n")
    assert tell("report", "latest~1").err == f'error: "latest~1": there is 1 run below {ROOT}\n'
    assert tell("run", config, "--quiet").code == 0
    again = tell("compare", "latest~1", "latest", "--quiet")
    assert again.code == 0, again.err


# --out, --name, shards ---------------------------------------------------------------------------------------


def test_out_and_name_say_where_a_run_goes(tell: Tell, write: Write) -> None:
    said = tell("run", write(), "--out", "here", "--name", "3", "--quiet")
    assert said.code == 0, said.err
    (run,) = Path("here").iterdir()
    assert run.name.endswith("_3")
    cfg = Run.open(run).plain_config()
    assert (cfg.name, cfg.output_root) == ("3", "here")
    assert not ROOT.exists()
    assert tell("report", "here/latest").code == 0
    for option in ("--out", "--name"):
        assert tell("run", write(), option, " ").err == f'error: {option} " ": expected text that is not empty\n'


def test_shards_are_told_apart_and_merging_ends_with_the_ranking(tell: Tell, write: Write) -> None:
    config = write(agents=[policy("Linear"), policy("Noisy")], name="walk")
    for part in ("1/2", "2/2"):
        assert tell("run", config, "--shard", part, "--quiet").code == 0
    shards = sorted(ROOT.iterdir(), key=lambda path: path.name.partition("_")[2])
    assert [path.name.partition("_")[2] for path in shards] == ["walk-shard-1-of-2", "walk-shard-2-of-2"]
    said = tell("merge", *shards, "--out", "whole", "--name", "all")
    assert said.code == 0, said.err
    (merged,) = Path("whole").iterdir()
    assert merged.name.endswith("_all")
    lines = said.out.splitlines()
    ranks = [line.split()[:2] for line in lines if line.split()[1:2] in (["linear"], ["noisy"])]
    assert len(ranks) == 2
    assert lines[-2:] == [f"report: {merged / 'report.html'}", f"merged: {merged} (4 of 4 trials)"]
    as_json = tell("merge", *shards, "--json")
    assert {agent["agent"] for agent in json.loads(as_json.out)["agents"]} == {"linear", "noisy"}


# trials ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    two = [task(), task(name="other") | {"options": task()["options"]}]
    raw = examination(tmp_path_factory.mktemp("trials"), agents=[policy("Linear"), policy("Noisy")], tasks=two)
    del raw["n_trials"]
    return run_evaluation(config_from_dict({**raw, "seeds": [40, 1, 7]}))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("noisy/toy/0002", "noisy/toy/0002"),
        ("noisy/toy/2", "noisy/toy/0002"),
        ("noisy/toy/seed7", "noisy/toy/0002"),
        ("noisy/toy/7", "noisy/toy/0002"),
        ("noisy/toy/1", "noisy/toy/0001"),
        ("linear__other_trial0000_seed40", "linear/other/0000"),
        ("linear/other/40", "linear/other/0000"),
    ],
)
def test_a_trial_has_short_names(run: Run, name: str, key: str) -> None:
    """An index comes before a seed of the same number."""
    assert find_trial(run, name).trial.key == key


def test_a_name_that_several_trials_have_is_refused_with_what_it_could_mean(run: Run) -> None:
    with pytest.raises(InputError) as error:
        find_trial(run, "noisy/seed7")
    assert str(error.value) == (
        f'"noisy/seed7" could mean 2 trials of {run.path}: noisy/toy/0002, noisy/other/0002; say which'
    )
    with pytest.raises(InputError, match=r"could mean 6 trials of .*: linear/toy/0000, .* and 1 more"):
        find_trial(run, "lin")
    with pytest.raises(InputError, match="no finished trial"):
        find_trial(run, "noisy/toy/99")


def test_where_one_trial_is_meant_less_is_enough(tmp_path: Path) -> None:
    alone = run_evaluation(config_from_dict(examination(tmp_path, n_trials=2)))
    for name in ("1", "0001", "seed124", "124", "toy/1", "linear/0001", "linear/toy/0001"):
        assert find_trial(alone, name).trial.key == "linear/toy/0001"
    one = run_evaluation(config_from_dict(examination(tmp_path, n_trials=1)))
    assert find_trial(one, "linear/").trial.key == find_trial(one, "lin").trial.key == "linear/toy/0000"


# names in a comparison, and what a gate looks like ------------------------------------------------------------


def test_runs_are_compared_by_the_names_that_they_are_given(tell: Tell, write: Write) -> None:
    config = write(n_trials=3)
    for _ in range(2):
        assert tell("run", config, "--quiet").code == 0
    said = tell("compare", "base=latest~1", "new=latest", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert list(found["runs"]) == ["base", "new"]
    assert {agent["agent"] for agent in found["agents"]} == {"base:linear", "new:linear"}
    mixed = json.loads(tell("compare", "base=latest~1", "latest", "--json").out)
    assert list(mixed["runs"]) == ["base", Path(found_run("latest")).name]
    board = json.loads(tell("leaderboard", "a=latest~1", "b=latest", "--json").out)
    assert list(board["runs"]) == ["a", "b"]
    twice = tell("compare", "base=latest~1", "base=latest")
    assert (twice.code, twice.err) == (2, 'error: two runs are named "base"; give each its own name\n')
    assert tell("compare", "base=nowhere", "latest").err == 'error: there is no run folder "nowhere"\n'


class Terminal:
    """Standard output as a terminal with colours has it."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("option", "code", "ruling"),
    [
        ("--require-proof", 3, "\x1b[1;31mgate: failed\x1b[0m\n"),
        ("--quiet", 0, "\x1b[32mgate: passed\x1b[0m\n"),
    ],
)
def test_a_failed_gate_is_red(
    write: Write, monkeypatch: pytest.MonkeyPatch, option: str, code: int, ruling: str
) -> None:
    raw = yaml.safe_load(write(n_trials=3).read_text())
    for _ in range(2):
        run_evaluation(config_from_dict(raw))
    gate = ["proctor", "compare", "latest~1", "latest", "--fail-if-worse", "0.02", option]
    monkeypatch.setattr(sys, "argv", gate)
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    assert ruling in screen.text
