"""The ledger: what is finished stays finished and comes back as it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.errors import InputError, RunError
from proctor.record.ledger import FORMAT, Ledger
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

number = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
details = st.builds(
    dict,
    outcome=st.sampled_from(Outcome),
    success=st.booleans(),
    steps_total=st.integers(0, 10**9),
    steps_to_success=st.none() | st.integers(1, 10**9),
    first_success=st.none() | st.integers(1, 10**9),
    episode_reward=st.none() | number,
    max_steps=st.integers(1, 10**9),
    attempts=st.integers(1, 9),
    clipped_steps=st.integers(0, 99),
    wall_time_s=number,
    sim_time_s=st.none() | number,
    metrics=st.dictionaries(text, st.none() | number, max_size=3),
    error=st.none() | text,
    npz=st.none() | text,
    digest=st.none() | text,
    video=st.none() | text,
)

FIRST = Trial("a", "t", 0, 5)


def done(trial: Trial, outcome: Outcome = Outcome.SUCCESS) -> TrialResult:
    return TrialResult(trial, outcome, outcome is Outcome.SUCCESS, 3, 2, 1.5, 10, metrics={"m": 0.5})


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "ledger.sqlite") as made:
        yield made


@settings(max_examples=50, deadline=None)
@given(details)
def test_a_result_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, values: dict) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.sqlite"
    result = TrialResult(trial=Trial("ä b", "t/1", 3, 126), **values)
    with Ledger.create(path) as ledger:
        ledger.add([(result.trial, 0, 0)])
        ledger.finish([result])
    with Ledger.open(path) as ledger:
        assert list(ledger.results()) == [result]
        assert ledger.result("ä b", "t/1", 3) == result


def test_results_come_in_the_order_of_the_config_however_they_finished(ledger: Ledger) -> None:
    trials = [Trial(a, t, i, i) for a in ("zeta", "alpha") for t in ("v", "u") for i in range(11)]
    ledger.add((t, ["zeta", "alpha"].index(t.agent), ["v", "u"].index(t.task)) for t in trials)
    ledger.finish(done(t) for t in trials[::-1])
    assert [r.trial for r in ledger.results()] == trials
    assert [r for batch in ledger.batches() for r in batch.results()] == list(ledger.results())


def test_batches_go_over_cells_and_show_one_moment(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.record.ledger.BATCH", 3)
    trials = [Trial("a", t, i, i) for t in ("v", "u") for i in range(2)]
    ledger.add((t, 0, ["v", "u"].index(t.task)) for t in trials)
    ledger.finish([done(t) for t in trials])
    with Ledger.open(tmp_path / "ledger.sqlite") as reader:
        batches = reader.batches()
        assert [r.trial for r in next(batches).results()] == trials
        assert list(batches) == []
        monkeypatch.setattr("proctor.record.ledger.BATCH", 1)
        batches = reader.batches()
        assert len(next(batches)) == 2
        ledger.reopen(trials)
        assert [r.trial for batch in batches for r in batch.results()] == trials[2:]
        assert list(reader.batches()) == []


def test_planned_pending_and_done(ledger: Ledger) -> None:
    trials = [Trial("a", "t", i, i) for i in range(3)]
    assert ledger.counts() == (0, 0)
    ledger.add((t, 0, 0) for t in trials)
    ledger.finish([done(trials[1])])
    assert ledger.counts() == (3, 1)
    assert ledger.pending() == {("a", "t", 0), ("a", "t", 2)}
    assert ledger.result("a", "t", 0) is None


def test_planning_again_leaves_finished_trials_alone(ledger: Ledger) -> None:
    ledger.add([(FIRST, 0, 0)])
    ledger.finish([done(FIRST)])
    ledger.add([(FIRST, 0, 0), (Trial("a", "t", 1, 6), 0, 0)])
    assert ledger.counts() == (2, 1)
    assert list(ledger.results()) == [done(FIRST)]


def test_metrics_that_are_no_numbers_are_not_available(ledger: Ledger) -> None:
    ledger.add([(FIRST, 0, 0)])
    ledger.finish([replace(done(FIRST), metrics={"m": float("nan"), "n": float("inf"), "o": 1})])
    assert next(ledger.results()).metrics == {"m": None, "n": None, "o": 1.0}


def test_metrics_can_be_replaced_and_nothing_else_changes(ledger: Ledger) -> None:
    ledger.add([(FIRST, 0, 0)])
    ledger.finish([done(FIRST)])
    ledger.set_metrics([(FIRST, {"other": 2.0})])
    assert next(ledger.results()) == replace(done(FIRST), metrics={"other": 2.0})


def test_a_transaction_happens_wholly_or_not_at_all(ledger: Ledger) -> None:
    trials = [Trial("a", "t", i, i) for i in range(3)]
    ledger.add((t, 0, 0) for t in trials)

    def breaks() -> Iterator[TrialResult]:
        yield done(trials[0])
        raise KeyError("no more")

    with pytest.raises(KeyError):
        ledger.finish(breaks())
    assert ledger.counts() == (3, 0)
    ledger.finish([done(trials[2])])
    assert ledger.counts() == (3, 1), "and the ledger can still be written"


def test_broken_attempts_are_counted_until_the_trial_is_done(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add([(FIRST, 0, 0), (Trial("a", "t", 1, 6), 0, 0)])
    ledger.add_fault(FIRST, "env_error: it diverged")
    ledger.add_fault(FIRST, "timeout: it hung")
    assert ledger.attempts() == {"a/t/0000": 2}
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        (faults,) = db.execute("SELECT faults FROM trials WHERE idx = 0").fetchone()
    db.close()
    assert faults == '["env_error: it diverged","timeout: it hung"]'
    ledger.finish([done(FIRST)])
    assert ledger.attempts() == {}


def test_only_what_the_infrastructure_broke_is_opened_again(ledger: Ledger) -> None:
    trials = [Trial("a", "t", i, i) for i in range(len(Outcome))]
    ledger.add((t, 0, 0) for t in trials)
    ledger.finish(done(t, outcome) for t, outcome in zip(trials, Outcome, strict=True))
    assert ledger.reopen_unscored() == 3
    assert ledger.attempts() == {}, "with all its attempts"
    assert {r.outcome for r in ledger.results()} == {o for o in Outcome if o.scored}
    assert ledger.reopen_unscored() == 0


def test_notes_are_kept(ledger: Ledger) -> None:
    ledger.set_meta("colour", "red")
    ledger.set_meta("colour", {"a": [1, None]})
    assert ledger.get_meta("colour") == {"a": [1, None]}
    assert ledger.get_meta("missing", 7) == 7


def test_a_reader_sees_what_is_committed_while_the_writer_works(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add([(FIRST, 0, 0)])
    with Ledger.open(tmp_path / "ledger.sqlite") as reader:
        assert reader.counts() == (1, 0)
        ledger.finish([done(FIRST)])
        assert reader.counts() == (1, 1)


def test_a_ledger_that_cannot_be_written_is_a_run_error(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger._db.execute("PRAGMA query_only = ON")
        with pytest.raises(RunError, match=r"the ledger cannot be written: .*what was committed before is safe"):
            ledger.add([(FIRST, 0, 0)])


def test_a_ledger_without_a_plan_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.touch()
    with pytest.raises(InputError, match=r"was given up before its trials were planned, .* start the run again"):
        Ledger.open(path)


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"this is no database, whatever its name says" * 9)
    with pytest.raises(InputError) as error:
        Ledger.open(path)
    assert str(error.value).startswith(f"{path} cannot be read as a ledger: ")


def test_a_ledger_of_another_format(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.create(path) as ledger:
        ledger.set_meta("format", 99)
    with pytest.raises(InputError) as error:
        Ledger.open(path)
    assert str(error.value) == f"{path} has ledger format 99; this version of Proctor reads {FORMAT}"


def test_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        Ledger.open(tmp_path / "ledger.sqlite")
    assert str(error.value) == f"{tmp_path} is not a run folder: it has no ledger.sqlite"


def test_a_disk_that_takes_no_more_is_no_damaged_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ledger.create(tmp_path / "ledger.sqlite").close()

    def full(self: Ledger) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Ledger, "_configure", full)
    with pytest.raises(RunError, match=r"takes no more \(disk I/O error.*ledger\.sqlite cannot be opened"):
        Ledger.open(tmp_path / "ledger.sqlite")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("batching", {"a": 1.0}),
        ("batching", {"a": {"act": {"forwardt": 1, "rows": 1, "seconds": 0.1}}}),
        ("batching", {"a": {"act": {"forwards": 1, "rows": float("nan"), "seconds": 0.1}}}),
        ("spent", {"waiting": "long"}),
        ("seconds", "many"),
        ("protocols", [[1]]),
    ],
)
def test_a_note_of_another_shape_is_damage(tmp_path: Path, key: str, value: object) -> None:
    with Ledger.create(tmp_path / "ledger.sqlite") as ledger:
        ledger.set_meta(key, value)
        with pytest.raises(InputError, match=f'the ledger is damaged: its note "{key}"'):
            ledger.get_meta(key)
