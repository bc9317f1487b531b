"""Records that are missing, cut short, empty or exchanged; and a ledger that says something else than its records."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from examining import by_key, examination, odd, odd_task, policy, task
from telling import Tell

from proctor import Run, config_from_dict, run_evaluation
from proctor.errors import InputError
from proctor.record.records import Found, damage
from proctor.runs.merge import merge
from proctor.runs.report import write_report
from proctor.runs.resume import resume
from proctor.runs.score import score
from proctor_host.trials import Trial

Examine = Callable[..., Run]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raw = examination(tmp_path_factory.mktemp("sound"), agents=[policy("Noisy"), policy("Linear")])
    return run_evaluation(config_from_dict(raw)).path


@pytest.fixture
def run(sound: Path, tmp_path: Path) -> Run:
    """A run of this test's own."""
    return Run.open(shutil.copytree(sound, tmp_path / sound.name))


def record(run: Run, key: str) -> Path:
    npz = by_key(run)[key].npz
    assert npz is not None
    return run.path / npz


def remove(run: Run, one: Path, other: Path) -> None:
    one.unlink()


def empty(run: Run, one: Path, other: Path) -> None:
    one.write_bytes(b"")


def cut(run: Run, one: Path, other: Path) -> None:
    one.write_bytes(one.read_bytes()[:-7])


def flip(run: Run, one: Path, other: Path) -> None:
    data = bytearray(one.read_bytes())
    data[len(data) // 2] ^= 1
    one.write_bytes(data)


def swap(run: Run, one: Path, other: Path) -> None:
    """The record of another trial, of the same size."""
    size = one.stat().st_size
    data = other.read_bytes()
    one.write_bytes(data[:size].ljust(size, b"\0"))


KEY = "noisy/toy/0001"
BY_SIZE = {remove: "it is missing", empty: "it is empty", cut: "bytes and was written with"}
BY_BYTES = dict.fromkeys((flip, swap), "its bytes are not those that were written")


@pytest.mark.parametrize("how", [*BY_SIZE, *BY_BYTES])
def test_resume_runs_a_trial_with_a_damaged_record_again_and_says_so(
    run: Run, how: Callable[..., None], tell: Tell
) -> None:
    before, path = by_key(run), record(run, KEY)
    whole = path.read_bytes()
    how(run, path, record(run, "linear/toy/0001"))
    said = tell("resume", run.path, "--quiet")
    assert said.code == 0
    assert f"note: 1 trial whose record is damaged run again: {KEY} (" in said.err
    assert (BY_SIZE | BY_BYTES)[how] in said.err
    assert path.read_bytes() == whole
    assert {key: r.digest for key, r in by_key(run).items()} == {key: r.digest for key, r in before.items()}
    assert resume(run.path).notes == ()


@pytest.mark.parametrize("how", BY_SIZE)
def test_report_says_which_records_are_damaged(run: Run, how: Callable[..., None], tell: Tell) -> None:
    how(run, record(run, KEY), record(run, "linear/toy/0001"))
    (caution, *_) = write_report(run).context.cautions
    assert caution.startswith("The records of 1 trial are damaged, and these numbers cannot be recomputed: " + KEY)
    assert BY_SIZE[how] in caution
    assert "`proctor resume` runs such trials again" in caution
    assert caution in " ".join(tell("report", run.path).out.split())


def test_report_without_its_trials_says_so_in_one_sentence(run: Run) -> None:
    shutil.rmtree(run.path / "trials")
    (caution,) = write_report(run).context.cautions
    assert caution == "The folder trials/ is missing, with the records of 10 trials: nothing can be recomputed."


@pytest.mark.parametrize("how", [*BY_SIZE, *BY_BYTES])
def test_score_and_merge_name_a_damaged_record_and_the_way_out(run: Run, how: Callable[..., None]) -> None:
    path = record(run, KEY)
    how(run, path, record(run, "linear/toy/0001"))
    for verb in (lambda: score(run.path), lambda: merge([run.path, run.path])):
        with pytest.raises(InputError) as error:
            verb()
        assert f"the record of trial {KEY}" in str(error.value)
        assert (BY_SIZE | BY_BYTES)[how] in str(error.value)
        assert f"run such trials again: proctor resume {run.path}" in str(error.value)


@pytest.mark.parametrize(
    "name", ["../../escaped.npz", "/etc/passwd", "trials/../../x.npz", "trials/a\0.npz", "ledger.sqlite"]
)
def test_a_record_is_a_file_in_trials_whatever_the_ledger_says(tmp_path: Path, name: str) -> None:
    assert damage(tmp_path, name, (1, 1)) == f"it is said to be {name!a}, which is no file in trials/"


def test_merge_copies_nothing_to_or_from_elsewhere(run: Run, tmp_path: Path) -> None:
    for column in ("npz", "video"):
        with sqlite3.connect(run.path / "ledger.sqlite") as ledger:
            ledger.execute(f"UPDATE trials SET {column} = '../../../escaped' WHERE agent = 'noisy' AND idx = 0")
        ledger.close()
        with pytest.raises(InputError, match="said to be"):
            merge([run.path, run.path])
    assert not list(tmp_path.parent.rglob("escaped*"))


def test_many_damaged_trials_are_counted_after_the_first_few() -> None:
    assert str(Found((Trial("a", "t", i, 0), "it is empty") for i in range(7))).endswith("; and 2 more")


LIES = {
    "outcome": ("success", "outcome was success and is failure"),
    "success": (1, "success was True and is False"),
    "steps_total": (3, "steps_total was 3 and is "),
    "episode_reward": (1e6, "episode_reward was 1000000.0 and is "),
    "first_success": (99, "first_success was 99 and is "),
    "case": ("easy", "case was easy and is none"),
}


@pytest.mark.parametrize("column", LIES)
def test_score_believes_the_records_and_reports_a_ledger_that_disagrees(run: Run, column: str, tell: Tell) -> None:
    failed = next(key for key, r in by_key(run).items() if r.outcome.value == "failure")
    before, (value, said) = by_key(run), LIES[column]
    agent, task, index = failed.split("/")
    with sqlite3.connect(run.path / "ledger.sqlite") as ledger:
        lie = f'UPDATE trials SET "{column}" = ? WHERE agent = ? AND task = ? AND idx = ?'
        ledger.execute(lie, (value, agent, task, int(index)))
    ledger.close()
    told = tell("score", run.path)
    assert told.code == 1
    assert f"The ledger said something else than the records of 1 trial, and was corrected: {failed} (" in " ".join(
        told.out.split()
    )
    assert said in " ".join(told.out.split())
    assert by_key(run) == before
    assert tell("score", run.path).code == 0, "it is corrected"
    assert "was corrected" in " ".join(tell("report", run.path).out.split()), "and nobody forgets"


def test_score_of_an_untouched_run_corrects_nothing(examine: Examine) -> None:
    """Whatever ended the trials: success, time, the policy, nothing that says what success is."""
    for keys in (
        {"agents": [policy("Noisy")], "tasks": [task(), {**task(), "name": "ever", "success_rule": "ever"}]},
        {"agents": [policy("Noisy")], "max_episode_steps": 6},
        {"agents": [odd("Steady")], "tasks": [odd_task()]},
        {
            "agents": [{"name": "random", "policy": "random"}],
            "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1"}}],
        },
    ):
        run = examine(**keys)
        before = by_key(run)
        assert score(run.path).corrected == []
        assert by_key(run) == before
