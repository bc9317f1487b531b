"""The verbs: what they take, what they say, and the code they leave with."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from examining import digests, examination, odd, odd_task, policy, task
from telling import Said, Tell

import proctor
from proctor import CancelToken, Run, config_from_dict
from proctor.runs.replay import find_trial
from proctor.runs.session import Hooks
from proctor.runs.start import start

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A config file of an examination of toys."""

    def make(name: str = "exam.yml", **keys: Any) -> Path:
        path = tmp_path / name
        path.write_text(yaml.safe_dump(examination(tmp_path / "out", **keys)))
        return path

    return make


def the_run(tmp_path: Path) -> Run:
    (folder,) = (tmp_path / "out").iterdir()
    return Run.open(folder)


# run -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", [(), ("--config",)])
def test_run_takes_its_config_either_way(tell: Tell, write: Write, tmp_path: Path, option: tuple[str, ...]) -> None:
    said = tell("run", *option, write())
    assert said.code == 0, said.err
    run = the_run(tmp_path)
    assert "5 of 5 trials done\n" in said.out
    assert f"report: {run.path / 'report.html'}\n" in said.out
    assert "to go on" not in said.out
    assert said.err == ""


def test_run_wants_exactly_one_config(tell: Tell, write: Write) -> None:
    both, none = tell("run", write(), "--config", write()), tell("run")
    assert both == none == Said(2, "", "error: name one config file: proctor run CONFIG\n")


def test_values_are_set_from_the_command_line(tell: Tell, write: Write, tmp_path: Path) -> None:
    assert tell("run", write(), "--set", "n_trials=2", "--set", "agents.linear.options.pad_to=4").code == 0
    cfg = the_run(tmp_path).config()
    assert cfg.n_trials == 2
    assert cfg.agents[0].options["pad_to"] == 4


def test_a_run_for_machines_is_json_line_by_line(tell: Tell, write: Write, tmp_path: Path) -> None:
    said = tell("run", write(), "--json")
    assert said.code == 0
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [e["event"] for e in events[:-1]] == ["progress"] * (len(events) - 1)
    last = events[-1]
    assert (last["event"], last["planned"], last["done"], last["complete"]) == ("done", 5, 5, True)
    assert Path(last["run"]) == the_run(tmp_path).path
    assert [a["agent"] for a in last["results"]] == ["linear"]
    assert len(tell("run", write(), "--json", "--quiet").out.splitlines()) == 1


def test_plain_lines_where_there_is_no_terminal_and_none_when_quiet(tell: Tell, write: Write) -> None:
    loud, quiet = tell("run", write()), tell("run", write(), "--quiet")
    assert "s] making environments: 0/5 trials" in loud.out
    assert "s] " not in quiet.out
    assert "5 of 5 trials done" in quiet.out


def test_a_run_names_a_report_that_is_there(tell: Tell, write: Write, tmp_path: Path) -> None:
    said = tell("run", write(report={"formats": ["md"]}), "--quiet")
    (named,) = [line.removeprefix("report: ") for line in said.out.splitlines() if line.startswith("report: ")]
    assert Path(named).name == "report.md"
    assert Path(named).is_file()


def test_unscored_trials_are_code_1_and_a_caution(tell: Tell, write: Write) -> None:
    broken = task(kwargs={"trouble": "raise", "seeds": [124]})
    said = tell("run", write(tasks=[broken], limits={"retries": 1}))
    assert said.code == 1
    assert "5 of 5 trials done, 1 unscored, 1 retried\n" in said.out
    assert "caution: " in said.out


def test_a_run_whose_every_trial_broke_is_code_1_with_the_cause_and_the_log(tell: Tell, write: Write) -> None:
    quits = policy("Quitter")
    said = tell("run", write(agents=[policy("Linear"), quits]))
    assert said.code == 1
    *_, cause, done, report, log = said.out.splitlines()
    assert "caution: quitter: every trial broke (5 of 5). Policy error: no plan was found" in said.out.splitlines()
    assert cause.startswith("caution: ")
    assert (done, report.startswith("report: ")) == ("10 of 10 trials done", True)
    assert Path(log.removeprefix("log: ")).is_file()
    (end,) = (json.loads(line) for line in tell("run", write(agents=[quits]), "--json", "-q").out.splitlines())
    assert end["all_trials_broke"] == ["quitter"]


def test_bad_input_is_code_2_with_every_problem_and_no_traceback(tell: Tell, write: Write, tmp_path: Path) -> None:
    path = write(n_trails=3, scoring="sucess", agents=[policy("Linear"), policy("Linear")])
    said = tell("run", path)
    assert said.code == 2
    assert "Traceback" not in said.err
    for words in ("n_trails", 'did you mean "n_trials"', 'did you mean "success"', f"{path}:", "linear"):
        assert words in said.err
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_not_there(tell: Tell, write: Write, tmp_path: Path) -> None:
    write("exam.yml")
    said = tell("run", tmp_path / "exm.yml")
    assert said.code == 2
    assert 'no such file; did you mean "exam.yml"' in said.err


def test_a_shard_that_is_none(tell: Tell, write: Write) -> None:
    said = tell("run", write(), "--shard", "3/2")
    assert said == Said(2, "", 'error: a shard is written i/n with 1 <= i <= n, such as 2/4; found "3/2"\n')


# resume, score, report -------------------------------------------------------------------------------------


@pytest.fixture
def run(tell: Tell, write: Write, tmp_path: Path) -> Run:
    assert tell("run", write(), "-q").code == 0
    return the_run(tmp_path)


def test_resume_extends(tell: Tell, run: Run) -> None:
    said = tell("resume", run.path, "--set", "n_trials=7")
    assert said.code == 0
    assert "7 of 7 trials done" in said.out
    assert tell("resume", run.path).code == 0


def test_resume_names_what_it_refuses(tell: Tell, run: Run) -> None:
    said = tell("resume", run.path, "--set", "base_seed=7")
    assert said.code == 2
    assert said.err.startswith("error: a resumed run must leave its finished trials as they are; these changes")
    assert "\n  base_seed: 123 -> 7\n" in said.err


def test_a_folder_in_use_is_code_1(tell: Tell, run: Run) -> None:
    with run.locked():
        said = tell("resume", run.path)
    assert said.code == 1
    assert said.err.startswith(f"error: {run.path} is in use by process ")
    assert said.out == ""


def test_what_is_no_run_folder_is_code_2(tell: Tell, tmp_path: Path) -> None:
    for verb, *more in (["resume"], ["score"], ["report"], ["replay", "a/b/0000"], ["merge", tmp_path]):
        said = tell(verb, tmp_path, *more)
        assert said == Said(2, "", f"error: {tmp_path} is not a run folder: it has no ledger.sqlite\n")


def test_resume_can_run_again_what_was_unscored(tell: Tell, write: Write, tmp_path: Path) -> None:
    world = tmp_path / "world"
    path = write(agents=[odd("Steady")], tasks=[odd_task(kwargs={"file": str(world)})], limits={"retries": 0})
    assert tell("run", path).code == 1
    run = the_run(tmp_path)
    world.touch()
    assert tell("resume", run.path).code == 1
    assert tell("resume", run.path, "--retry-unscored").code == 0


def test_score_shows_the_new_table(tell: Tell, run: Run) -> None:
    said = tell("score", run.path, "--set", "scoring=return")
    assert said.code == 0
    assert "linear" in said.out
    assert run.config().scoring.mode == "return"
    assert json.loads(tell("score", run.path, "--json").out)["scoring"]["name"] == "return"


def test_score_and_report_keep_the_cautions_of_the_run(tell: Tell, write: Write, tmp_path: Path) -> None:
    broken = task(kwargs={"trouble": "raise", "seeds": [124]})
    told = tell("run", write(tasks=[broken], limits={"retries": 0}))
    cautions = [line for line in told.out.splitlines() if line.startswith("caution: ")]
    run = the_run(tmp_path)
    assert len(cautions) > 1
    for verb in ("score", "report"):
        said = tell(verb, run.path).out.splitlines()
        assert [line for line in said if line.startswith("caution: ")] == cautions


def test_score_says_that_a_new_scoring_stays(tell: Tell, run: Run) -> None:
    stays = "The run's config has this scoring from now on: a later proctor resume uses it, too."
    assert stays not in tell("score", run.path).out
    assert tell("score", run.path, "--set", "scoring=return").out.splitlines()[-1] == stays
    assert stays not in tell("score", run.path, "--set", "scoring=return").out, "nothing changed"
    json.loads(tell("score", run.path, "--set", "scoring=success", "--json").out)


def test_report_writes_lost_files_again(tell: Tell, run: Run) -> None:
    before = (run.path / "summary.csv").read_bytes()
    for name in ("summary.csv", "report.json", "report.html"):
        (run.path / name).unlink()
    said = tell("report", run.path)
    assert said.code == 0
    assert f"report: {run.path / 'report.html'}\n" in said.out
    assert (run.path / "summary.csv").read_bytes() == before
    assert json.loads(tell("report", run.path, "--json").out) == run.report()


# replay, merge ---------------------------------------------------------------------------------------------


def test_a_host_without_an_address_is_told_of_its_name_and_not_of_ports(tell: Tell) -> None:
    said = tell("view", "--no-browser", "--host", "nohost.invalid")
    assert said.code == 2
    assert said.err.startswith("error: --host nohost.invalid: no address belongs to that name (")
    assert "--port" not in said.err


def test_replay_shows_on_a_terminal_how_far_it_is_and_takes_it_away(
    tell: Tell, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tell("replay", run.path, "linear/toy/0000")
    assert plain.err == "", "a file is no terminal"
    steps = find_trial(run, "linear/toy/0000").steps_total
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    said = tell("replay", run.path, "linear/toy/0000")
    assert said.out == plain.out
    drawn = said.err.split("\r\x1b[2K")
    assert any(re.fullmatch(r"loading policies: linear/toy/0000, 0 of \d+ steps, \d+ s", shown) for shown in drawn)
    assert re.fullmatch(rf"\w+: linear/toy/0000, {steps} of {steps} steps, \d+ s", drawn[-2])
    assert drawn[-1] == "", "nothing of it stays"


def test_replay_says_equal_or_what_is_not(tell: Tell, run: Run, write: Write, tmp_path: Path) -> None:
    outcome = next(run.results()).outcome
    assert tell("replay", run.path, "linear/toy/0000") == Said(
        0, f"linear/toy/0000 (seed 123): recorded {outcome}, again {outcome}: equal to the byte\n", ""
    )
    keys = {"agents": [odd("Steady")], "tasks": [odd_task("Dice")], "n_trials": 1}
    tell("run", write("dice.yml", **keys), "-q", "--set", f"output_root={tmp_path / 'dice'}")
    (folder,) = (tmp_path / "dice").iterdir()
    said = tell("replay", folder, "steady/dice/0000")
    assert said.code == 1
    assert ": NOT equal: rewards" in said.out
    assert tell("replay", folder, "steady/dise/0000").code == 2


def test_shards_are_merged_and_what_is_missing_is_said(tell: Tell, write: Write, tmp_path: Path) -> None:
    for shard in ("1/3", "2/3", "3/3"):
        assert tell("run", write(), "-q", "--shard", shard).code == 0
    folders = sorted((tmp_path / "out").iterdir())
    said = tell("merge", *folders[:2])
    assert said.code == 0
    first, second = said.out.splitlines()[-2:]
    assert first.endswith("(4 of 5 trials)")
    merged = first.removeprefix("merged: ").removesuffix(" (4 of 5 trials)")
    assert second == f"to run the rest: proctor resume {merged}"
    assert tell("resume", merged, "-q").code == 0
    assert "(5 of 5 trials)" in tell("merge", *folders).out
    assert len(digests(Run.open(merged))) == 5
    assert tell("merge", folders[0]).err == "error: name at least two run folders to merge\n"


def test_a_fault_that_comes_again_is_no_proof(tell: Tell, write: Write, tmp_path: Path) -> None:
    broken = task(kwargs={"trouble": "raise", "seeds": [123]})
    tell("run", write(tasks=[broken], n_trials=1, limits={"retries": 0}))
    said = tell("replay", the_run(tmp_path).path, "linear/toy/0000")
    assert said.out == (
        "linear/toy/0000 (seed 123): recorded env_error, again env_error: the same fault; "
        "there are no bytes to compare\n"
    )


def test_a_run_in_which_nothing_has_finished_can_be_looked_at(tell: Tell, tmp_path: Path) -> None:
    token = CancelToken()
    token.cancel()
    runs = [start(config_from_dict(examination(tmp_path / "out")), Hooks(cancel=token)).run for _ in range(2)]
    for said in (tell("report", runs[0].path), tell("score", runs[0].path), tell("merge", *(r.path for r in runs))):
        assert said.code == 0, said.err
    assert json.loads(tell("report", runs[0].path, "--json").out)["trials"]["finished"] == 0
    assert tell("replay", runs[0].path, "linear/toy/0000").code == 2


# check -----------------------------------------------------------------------------------------------------


def test_check_of_a_sound_config_says_how_long(tell: Tell, write: Write, tmp_path: Path) -> None:
    said = tell("check", write())
    assert said.code == 0
    assert '      ok  task "toy": observation Box(-inf, inf, (6,), float32)' in said.out
    assert "1 agent x 1 task x 5 trials = 5 trials\n" in said.out
    assert "at most about " in said.out
    assert "(150 steps)" in said.out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["checks"], "nothing but its log is left behind"


def test_check_lists_every_problem_and_ends_with_2(tell: Tell, write: Write) -> None:
    path = write(agents=[odd("Wide"), odd("Unborn"), odd("Crowd")], tasks=[odd_task()])
    said = tell("check", path)
    assert said.code == 2
    lines = [line.strip() for line in said.out.splitlines()]
    assert sum(line.startswith("PROBLEM") for line in lines) == 2
    assert sum(line.startswith('warning  agent "crowd"') for line in lines) == 1
    assert "at most about" not in said.out
    found = json.loads(tell("check", path, "--json").out)
    assert not found["ok"]
    assert len(found["problems"]) == 2


def test_check_of_bad_input(tell: Tell, write: Write) -> None:
    said = tell("check", write(n_trials=0))
    assert said.code == 2
    assert "n_trials: found 0; expected at least 1" in said.err


# Interrupted -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "where"), [("check", "proctor.runs.check.check"), ("run", "proctor.runs.start.start")]
)
def test_an_interrupt_is_code_130(
    tell: Tell, write: Write, monkeypatch: pytest.MonkeyPatch, verb: str, where: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupt)
    said = tell(verb, write())
    assert said.code == 130
    assert "Traceback" not in said.err


# The rest --------------------------------------------------------------------------------------------------


def test_version_and_help(tell: Tell) -> None:
    assert tell("--version") == Said(0, f"proctor {proctor.__version__}\n", "")
    out = tell("--help").out
    for verb in ("run", "resume", "check", "score", "report", "replay", "merge", "list", "doctor"):
        assert f"\n  {verb} " in out


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("run", ("CONFIG", "--config", "--set", "--shard", "--json", "--quiet")),
        ("resume", ("RUN", "--set", "--retry-unscored", "--json", "--quiet")),
        ("check", ("CONFIG", "--set", "--json")),
        ("score", ("RUN", "--set", "--json")),
        ("report", ("RUN", "--json")),
        ("replay", ("RUN", "TRIAL", "--video")),
        ("merge", ("RUN RUN",)),
        ("list", ("--json",)),
        ("doctor", ("--json",)),
    ],
)
def test_the_help_of_a_verb_names_what_it_takes(tell: Tell, verb: str, words: tuple[str, ...]) -> None:
    said = tell(verb, "--help")
    assert said.code == 0
    assert all(word in said.out for word in words)


@pytest.mark.parametrize("arguments", [["walk"], ["run", "--colour", "red"], ["resume"]])
def test_what_is_no_command_is_code_2(tell: Tell, arguments: list[str]) -> None:
    said = tell(*arguments)
    assert said.code == 2
    assert "Usage: proctor" in said.err


def test_run_says_where_the_time_went(tell: Tell, write: Write, tmp_path: Path) -> None:
    said = tell("run", write(), "--quiet")
    (line,) = [line for line in said.out.splitlines() if line.startswith("time per slot: ")]
    assert {part.split()[0] for part in line.removeprefix("time per slot: ").split(", ")} == {
        "environment", "inference", "transfer", "waiting", "recording",
    }  # fmt: skip
    batch = the_run(tmp_path).report()["batch"]["linear"]["act"]
    assert f"mean batch: linear act {batch['rows_per_forward']:.2f} rows" in said.out
    how = (the_run(tmp_path).path / "report.md").read_text().partition("## How it was run")[2]
    assert f"Time per slot: {line.removeprefix('time per slot: ')}." in how
