"""Reading a run runs nothing that the run names, unless the user has run or trusted it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from examining import examination, policy
from telling import Tell

from proctor import Run, config_from_dict, run_evaluation
from proctor.cli import app

EVIL = """
from pathlib import Path
Path(__file__).with_suffix('.ran').touch()
from proctor import Metric
def score(result): return 0.5
class Mine(Metric):
    name, unit, direction, reducer, needs = 'mine', '1', 'up', 'mean', ()
    def __call__(self, episode): return 1.0
"""


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which nothing has been trusted, for runs of someone else."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def theirs(foreign: Path, examine: Callable[..., Run]) -> Path:
    """A run whose config names code in its own folder, by someone who sent it all."""
    run = examine(n_trials=3, agents=[policy("Linear"), {**policy("Linear"), "name": "other"}]).path
    return plant(run, "mode")


def plant(run: Path, key: str) -> Path:
    (run / "evil file.py").write_text(EVIL)
    config = json.loads((run / "config.json").read_text())
    config["scoring"][key] = f"{run}/evil file.py:score" if key == "mode" else [f"{run}/evil file.py:Mine"]
    (run / "config.json").write_text(json.dumps(config))
    return run


def ran(run: Path) -> bool:
    return (run / "evil file.ran").exists()


def readers(run: Path) -> list[list[Any]]:
    power = ["power", run, "--difference", "0.1"]
    return [[verb, run] for verb in ("report", "score", "compare", "leaderboard", "resume")] + [
        power,
        ["replay", run, "linear/toy/0000"],
    ]


@pytest.mark.parametrize("key", ["mode", "metrics"])
def test_no_verb_imports_what_a_run_names(theirs: Path, tell: Tell, key: str) -> None:
    for arguments in readers(plant(theirs, key)):
        said = tell(*arguments)
        assert (said.code, ran(theirs)) == (2, False), arguments
        assert "names code that would run on this machine with your rights" in said.err
        assert "evil file.py:" in said.err
        assert "--trust" in said.err
        assert "Traceback" not in said.err


@pytest.mark.parametrize("verb", range(7))
def test_every_verb_takes_the_users_word_and_remembers_it(theirs: Path, tell: Tell, verb: int) -> None:
    arguments = readers(theirs)[verb]
    assert tell(*arguments, "--trust").code in (0, 1)
    assert ran(theirs) or arguments[0] == "replay", "which scores nothing"
    assert tell(*arguments).code in (0, 1), "said once, it need not be said again"


def test_every_verb_that_reads_a_run_has_the_option() -> None:
    groups = [app, *(group.typer_instance for group in app.registered_groups)]
    commands = [typer.main.get_command_from_info(c, pretty_exceptions_short=False, rich_markup_mode=None)
                for group in groups if group is not None for c in group.registered_commands]  # fmt: skip
    reading = [c for c in commands if any("RUN" in str(getattr(p, "metavar", "")).split() for p in c.params)]
    assert {"report", "score", "compare", "leaderboard", "merge", "resume", "replay"} <= {c.name for c in reading}
    assert [c.name for c in reading if not any("--trust" in p.opts for p in c.params)] == []


def test_merge_imports_nothing(foreign: Path, tell: Tell) -> None:
    shards = [run_evaluation(config_from_dict(examination(foreign)), shard=f"{i}/2").path for i in (1, 2)]
    code = foreign / "evil.py"
    code.write_text(EVIL)
    for shard in shards:
        config = json.loads((shard / "config.json").read_text())
        config["scoring"]["mode"] = f"{code}:score"
        (shard / "config.json").write_text(json.dumps(config))
    assert tell("merge", *shards).code == 2
    assert not code.with_suffix(".ran").exists()
    assert tell("merge", *shards, "--trust").code == 0


def test_a_run_that_the_user_made_works_without_asking(foreign: Path, tell: Tell) -> None:
    code = foreign / "mine.py"
    code.write_text(EVIL)
    agents = [policy("Linear"), {**policy("Linear"), "name": "other"}]
    scoring = {"mode": f"{code}:score", "metrics": [f"{code}:Mine"]}
    run = run_evaluation(config_from_dict(examination(foreign, agents=agents, scoring=scoring))).path
    for arguments in readers(run):
        assert tell(*arguments).code == 0, arguments


def test_code_that_was_changed_since_is_asked_about_again(foreign: Path, tell: Tell) -> None:
    code = foreign / "mine.py"
    code.write_text(EVIL)
    run = run_evaluation(config_from_dict(examination(foreign, scoring={"mode": f"{code}:score"}))).path
    moved = foreign / "moved.py"
    shutil.copy(code, moved)
    config = json.loads((run / "config.json").read_text())
    config["scoring"]["mode"] = f"{moved}:score"
    (run / "config.json").write_text(json.dumps(config))
    assert tell("report", run).code == 0, "the same code elsewhere"
    moved.write_text(EVIL + "# changed\n")
    assert tell("report", run).code == 2


def test_score_trusts_what_the_user_names_and_can_leave_out_what_the_run_names(theirs: Path, tell: Tell) -> None:
    own = theirs.parent / "own.py"
    own.write_text("def f(result): return 0.25\n")
    assert tell("score", theirs, "--set", f"scoring.mode={own}:f").code == 0
    assert tell("score", plant(theirs, "mode")).code == 2
    plant(theirs, "metrics")
    assert tell("score", theirs, "--set", f"scoring.mode={own}:f").code == 2, "its metrics are code, too"
    assert tell("score", theirs, "--set", "scoring.mode=success", "--set", "scoring.metrics=[]").code == 0
    assert not ran(theirs)


def test_resume_and_replay_run_no_agent_and_no_task_of_someone_else(
    foreign: Path, examine: Callable[..., Run], tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = examine(n_trials=2).path
    monkeypatch.setenv("XDG_STATE_HOME", str(foreign / "another_machine"))
    for arguments in (["resume", run, "--set", "n_trials=4"], ["replay", run, "linear/toy/0000"]):
        said = tell(*arguments)
        assert said.code == 2
        assert "agents.0.policy" in said.err
        assert "tasks.0.options.id" in said.err
        assert tell(*arguments, "--trust").code == 0
        monkeypatch.setenv("XDG_STATE_HOME", str(foreign / "a_third_machine"))
    assert tell("report", run).code == 0, "reading needs none of it"
