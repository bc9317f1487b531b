"""What a run notes of the runtimes of its tasks, and what is checked with it afterwards."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import digests, examination
from own_runtimes import SIMULATOR, install, make_venv, set_version
from telling import Tell

from proctor import InputError, Run, config_from_dict, load_config, run_evaluation
from proctor.plan.plan import Plan
from proctor.runs.check import check
from proctor.runs.merge import merge
from proctor.runs.places import greeted, keep_locks
from proctor.runs.replay import replay
from proctor.runs.report import write_report
from proctor.runs.resume import resume
from proctor.runtimes import locate, locating
from proctor.runtimes.store import folder_of, read_lock
from proctor.verdict.comparison.compare import compare

Examine = Callable[..., Run]
NAME = "gymnasium@1.0.0"


@pytest.fixture(autouse=True)
def forgotten():
    locating._given.cache_clear()


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter with a simulator whose version can be changed."""
    return make_venv(tmp_path / "venv")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A runtime that is known by its name."""
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(tmp_path / "runtimes"))
    install(NAME)
    return NAME


def keys(*runtimes: Any, n_trials: int = 2) -> dict[str, Any]:
    options = {"id": "CartPole-v1"}
    tasks = [
        {"suite": "gymnasium", "name": f"cart{i}", "options": options, "runtime": runtime, "max_episode_steps": 20}
        for i, runtime in enumerate(runtimes)
    ]
    return {"agents": [{"name": "random", "policy": "random"}], "tasks": tasks, "n_trials": n_trials}


def cautions(run: Run) -> list[str]:
    return [
        found["text"]
        for found in run.report()["findings"]
        if found["level"] == "caution" and ("ran in" in found["text"] or "was another" in found["text"])
    ]


def test_a_run_notes_its_runtimes_once_each_with_a_lock(examine: Examine, python: Path, installed: str) -> None:
    given = {"python": str(python)}
    run = examine(**keys(given, installed, None, given))
    mine, named = run.environment().current["runtimes"]
    assert mine["tasks"] == ["cart0", "cart3"]
    assert (mine["runtime"], mine["path"]) == (f"the interpreter {python}", str(python))
    assert (named["runtime"], named["name"], named["tasks"]) == (f'the runtime "{NAME}"', NAME, ["cart1"])
    for noted in (mine, named):
        assert noted["packages"][SIMULATOR] == "1.0"
        assert noted["python"] == sys.version.split()[0]
        assert noted["implementation"] == "cpython"
    assert mine["hash"] == locate(run.config().tasks[0].runtime).identity["hash"]  # type: ignore[arg-type]
    locks = {path.name: read_lock(path) for path in (run.path / "runtimes").iterdir()}
    assert sorted(locks) == sorted([f"{NAME}-{named['hash'][:12]}.lock.txt", f"python-{mine['hash'][:12]}.lock.txt"])
    lock = locks[f"{NAME}-{named['hash'][:12]}.lock.txt"]
    assert (lock.name, lock.hash, lock.packages) == (NAME, named["hash"], named["packages"])
    assert run.environment().problem is None


def test_a_run_in_one_interpreter_notes_none(examine: Examine) -> None:
    run = examine(**keys(None))
    assert "runtimes" not in run.environment().current
    assert not (run.path / "runtimes").exists()


def test_a_resumed_run_says_that_a_runtime_is_another(examine: Examine, installed: str) -> None:
    run = examine(**keys(installed, installed))
    old = run.environment().current["runtimes"][0]
    install(NAME, "1.1")
    resume(run.path, ["n_trials=3"])
    lock = run.path / "runtimes" / f"{NAME}-{old['hash'][:12]}.lock.txt"
    command = f"proctor runtimes install {NAME} --from-lock {lock}"
    changed = f"({SIMULATOR} was 1.0 and is 1.1)"
    log = (run.path / "run.log").read_text()
    assert (
        f'the runtime "{NAME}" of tasks "cart0" and "cart1" was another when this run began than now {changed}; '
        f"the first one comes back with: {command}; trials of the two sessions may differ"
    ) in log
    (said,) = cautions(run)
    assert said == (
        f'The runtime "{NAME}" of tasks "cart0" and "cart1" was another at first than in a later part {changed}: '
        f"trials of the two may differ; the first one comes back with: {command}."
    )
    assert read_lock(lock).packages[SIMULATOR] == "1.0"
    assert len(list((run.path / "runtimes").iterdir())) == 2


def test_the_same_software_at_another_path_is_no_change(examine: Examine, python: Path, tmp_path: Path) -> None:
    run = examine(**keys({"python": str(python)}))
    other = tmp_path / "elsewhere"
    other.symlink_to(python.parents[1])
    resume(run.path, ["n_trials=3", f"tasks.0.runtime.python={other / 'bin' / 'python'}"])
    assert cautions(run) == []
    assert digests(run) == digests(examine(**keys(None, n_trials=3)))


def test_an_interpreter_that_has_changed_comes_back_with_pip(examine: Examine, python: Path) -> None:
    run = examine(**keys({"python": str(python)}))
    set_version(python, "2.0")
    (said,) = replay(run.path, "random/cart0/0000").conditions
    (lock,) = (run.path / "runtimes").iterdir()
    assert said == (
        f'the interpreter {python} of task "cart0" was another when this run began than now ({SIMULATOR} was 1.0 and '
        f"is 2.0); the first one comes back with: {python} -m pip install -r {lock}"
    )
    set_version(python, "1.0")
    assert replay(run.path, "random/cart0/0000").conditions == ()


def test_a_task_that_moves_into_a_runtime_is_said(examine: Examine, python: Path) -> None:
    run = examine(**keys(None))
    resume(run.path, ["n_trials=3", f"tasks.0.runtime={{python: {python}}}"])
    assert cautions(run) == [
        f'Task "cart0" ran in Proctor\'s own interpreter at first and in the interpreter {python} in a later part: '
        "trials of the two may differ."
    ]


def test_a_runtime_that_is_missing_stops_a_resumed_run_before_anything(examine: Examine, installed: str) -> None:
    run = examine(**keys(installed))
    (lock,) = (run.path / "runtimes").iterdir()
    shutil.rmtree(folder_of(NAME))
    files = {path: path.stat().st_mtime_ns for path in run.path.rglob("*") if path.suffix in (".json", ".npz", ".txt")}
    command = f"proctor runtimes install {NAME} --from-lock {lock}"
    for go_on in (lambda: resume(run.path, ["n_trials=3"]), lambda: replay(run.path, "random/cart0/0000")):
        with pytest.raises(InputError) as caught:
            go_on()
        assert str(caught.value) == f'the runtime "{NAME}" is not installed; install it with: {command}'
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert run.config().n_trials == 2
    assert resume(run.path).complete, "a finished run needs no runtime"
    write_report(run)
    install(NAME)
    assert resume(run.path, ["n_trials=3"]).complete
    assert cautions(run) == []


def test_shards_of_different_runtimes_are_merged_with_a_caution(python: Path, tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path / "parts", **keys({"python": str(python)}, n_trials=4)))
    first = run_evaluation(cfg, shard="1/2")
    set_version(python, "1.1")
    second = run_evaluation(cfg, shard="2/2")
    merged = merge([first.path, second.path])
    (said,) = cautions(merged)
    assert f"({SIMULATOR} was 1.0 and is 1.1): trials of the two may differ" in said
    assert said.endswith(f"-m pip install -r {merged.path / 'runtimes'}/python-{_hash(first)[:12]}.lock.txt.")
    assert len(list((merged.path / "runtimes").iterdir())) == 2
    assert cautions(merge([first.path, first.path])) == []


def _hash(run: Run) -> str:
    return run.environment().current["runtimes"][0]["hash"]


def test_compare_names_runtimes_that_differ(examine: Examine, python: Path) -> None:
    given = {"python": str(python)}
    first, again = examine(**keys(given, None)), examine(**keys(given, given))
    set_version(python, "1.1")
    second = examine(**keys(given, None))
    assert [said for said in compare([first, first_copy(first)]).cautions if "untime" in said] == []
    (said,) = [said for said in compare([first, second]).cautions if "untime" in said]
    assert said.startswith(
        f"Runtimes differ: task cart0, runtime: the interpreter {python}, hash {_hash(first)[:12]}, against the "
        f"interpreter {python}, hash {_hash(second)[:12]}, ({SIMULATOR}: 1.0 against 1.1)"
    )
    (said,) = [said for said in compare([first, again]).cautions if "untime" in said]
    assert said.startswith("Runtimes differ: task cart1, runtime: Proctor's own interpreter against the interpreter")
    resume(second.path)
    assert any("Runtimes differ" in said for said in compare([first, second]).cautions), "reports were only rewritten"


POLICIES = Path(__file__).parents[1] / "support" / "hosted_policies.py"


def test_the_runtime_of_an_agent_is_checked_as_that_of_a_task(examine: Examine, python: Path) -> None:
    agent = {"name": "chunks", "policy": f"{POLICIES}:Chunks", "runtime": {"python": str(python)}}
    first = examine(**{**keys(None), "agents": [agent]})
    (noted,) = first.environment().sessions[0]["runtimes"]
    assert (first.path / "runtimes" / f"python-{noted['hash'][:12]}.lock.txt").is_file()
    assert replay(first, "chunks/cart0/0001").conditions == ()
    set_version(python, "1.1")
    was = f'the interpreter {python} of agent "chunks" was another when this run began than now ({SIMULATOR} was 1.0'
    (said,) = replay(first, "chunks/cart0/0001").conditions
    assert said.startswith(was)
    second = examine(**{**keys(None), "agents": [agent]})
    (said,) = [said for said in compare([first, second]).cautions if "untime" in said]
    assert said.startswith(
        f"Runtimes differ: agent chunks, runtime: the interpreter {python}, hash {noted['hash'][:12]}"
    )
    assert digests(first) == digests(second)
    resume(first.path, ["n_trials=3", "agents.0.runtime=null"])
    assert 'gent "chunks" lived in the interpreter' in (first.path / "report.md").read_text()


def first_copy(run: Run) -> Path:
    return Path(shutil.copytree(run.path, run.path.with_name("copy")))


def spoil_missing(python: Path) -> str:
    shutil.rmtree(folder_of(NAME))
    return f'the runtime "{NAME}" is not installed; install it with: proctor runtimes install {NAME}'


def spoil_half(python: Path) -> str:
    (folder_of(NAME) / "runtime.json").unlink()
    return (
        f'the runtime "{NAME}" is half installed, its installation was interrupted; install it with: '
        f"proctor runtimes install {NAME}"
    )


def spoil_version(python: Path) -> str:
    set_version(python, "7.0")
    return (
        f'the runtime "{NAME}" has changed since it was installed ({SIMULATOR} is 7.0 and was 1.0); build it again '
        f"with: proctor runtimes install {NAME}"
    )


def spoil_import(python: Path) -> str:
    site = next((python.parents[1] / "lib").glob("python3*")) / "site-packages"
    (site / "gymnasium.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    return f'the Python of the runtime "{NAME}" died while it imported "gymnasium"'


@pytest.mark.parametrize("spoil", [spoil_missing, spoil_half, spoil_version, spoil_import])
def test_a_runtime_that_cannot_be_used_is_said_before_there_is_a_folder(
    installed: str, tmp_path: Path, tell: Tell, spoil: Callable[[Path], str]
) -> None:
    said = spoil(locate(config_from_dict(keys(installed)).tasks[0].runtime).python)  # type: ignore[arg-type]
    config = tmp_path / "exam.json"
    config.write_text(json.dumps(examination(tmp_path / "out", **keys(None, installed))))
    found = tell("run", str(config))
    assert found.code == 2
    assert said in found.err
    assert found.err.rstrip().endswith(f"proctor runtimes install {NAME}")
    assert not (tmp_path / "out").exists()
    found = tell("check", str(config))
    assert found.code == 2
    assert said in found.out


def test_packages_of_a_config_are_installed_with_that_config(tmp_path: Path, tell: Tell) -> None:
    config = tmp_path / "exam.json"
    config.write_text(json.dumps(examination(tmp_path / "out", **keys({"packages": ["toy==1.0"]}))))
    for verb in ("run", "check"):
        found = tell(verb, str(config))
        assert found.code == 2
        assert f"proctor runtimes install --config {config}" in found.err + found.out


def test_check_tries_a_task_in_its_runtime(python: Path, tmp_path: Path) -> None:
    found = check(config_from_dict(examination(tmp_path, **keys({"python": str(python)}))))
    assert found.ok, found.problems


def test_a_config_from_before_there_were_runtimes_is_gone_on_with(examine: Examine) -> None:
    run = examine(**keys(None))
    config = json.loads((run.path / "config.json").read_text())
    del config["tasks"][0]["runtime"]
    (run.path / "config.json").write_text(json.dumps(config))
    assert resume(run.path, ["n_trials=3"]).complete
    assert cautions(run) == []


def test_the_runtime_is_no_part_of_a_trial_s_seed(tmp_path: Path, python: Path) -> None:
    one, other = (config_from_dict(examination(tmp_path, **keys(r))) for r in (None, {"python": str(python)}))
    assert list(Plan(one)) == list(Plan(other))


def test_a_host_elsewhere_is_noted_by_what_its_workers_say() -> None:
    known = {"runtime": "the interpreter /a", "tasks": ["a"], "python": "3.9.1", "hash": "1"}
    host: dict[str, Any] = {"runtime": "the host at robot:7000", "tasks": ["b", "c"]}
    said = {"protocol": 3, "host": "0.2", "python": "3.10.2", "implementation": "CPython", "numpy": "1.26.0", "pid": 7}
    assert greeted([known, host], {"a": said, "c": said})
    assert known["python"] == "3.9.1"
    assert host == {
        "runtime": "the host at robot:7000", "tasks": ["b", "c"], "python": "3.10.2", "implementation": "CPython",
        "numpy": "1.26.0", "host": "0.2",
    }  # fmt: skip
    assert not greeted([known], {})


def test_an_interpreter_that_a_folder_of_somebody_else_names_is_not_started(
    examine: Examine, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = examine(**keys({"python": str(python)}))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "nothing-trusted"))
    monkeypatch.setattr(locating, "ask", lambda *arguments: pytest.fail("an interpreter was started"))
    locating._given.cache_clear()
    for go_on in (lambda: resume(run.path, ["n_trials=3"]), lambda: replay(run.path, "random/cart0/0000")):
        with pytest.raises(InputError, match=f"tasks.0.runtime.python: {python}"):
            go_on()
    monkeypatch.undo()
    assert resume(run.path, ["n_trials=3"], trust=True).complete


NOTED = {
    "runtime": "the interpreter /a", "path": "/a", "tasks": ["cart0"], "python": "3.9.1", "implementation": "cpython",
    "packages": {"numpy": "2.0.0"}, "hash": "0" * 64,
}  # fmt: skip


def test_a_damaged_note_is_left_out(examine: Examine) -> None:
    run = examine(**keys(None))
    known = json.loads((run.path / "environment.json").read_text())

    def noted(runtime: Any) -> bool:
        known["sessions"][0]["runtimes"] = [runtime]
        (run.path / "environment.json").write_text(json.dumps(known))
        found = run.environment()
        assert (found.problem is None) == ("runtimes" in found.sessions[0])
        return found.problem is None

    assert noted(NOTED)
    for key, value in {"tasks": 3, "packages": {"numpy": 2}, "hash": None, "name": ["x"], "runtime": 1}.items():
        assert not noted({**NOTED, key: value})
    assert not noted("x")
    write_report(run)


def test_nothing_of_a_note_becomes_a_path_or_a_line(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.path.mkdir()
    evil = [{"name": "../../x"}, {"hash": "../../x"}, {"packages": {"a": "1\n-r /etc/passwd"}}]
    keep_locks(run, [{**NOTED, **keys} for keys in evil])
    assert not list(run.path.iterdir())
    (run.path / "runtimes").symlink_to(tmp_path)
    keep_locks(run, [NOTED])
    assert not list(tmp_path.glob("*.lock.txt"))


def test_a_resolved_config_names_the_runtime_as_it_was_given(examine: Examine, installed: str) -> None:
    run = examine(**keys(installed, None))
    assert [task.runtime and task.runtime.name for task in run.config().tasks] == [NAME, None]
    assert load_config(run.path / "config.json").tasks == run.config().tasks
