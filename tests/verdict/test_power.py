"""How many trials a difference takes, by the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from made_up_runs import config, made_up

from proctor.cli import main
from proctor.errors import InputError
from proctor.stats import trials_paired, trials_unpaired
from proctor.stats.power import paired_power
from proctor.verdict.power import Question, answers, answers_for_run, as_rows


def test_rows_are_the_sample_sizes_of_the_tests() -> None:
    (row,) = answers(Question(0.3, (0.5,), correlation=0.0))
    assert row.differing == pytest.approx(0.5)
    assert row.paired == trials_paired(row.rate_a - row.rate_b, row.differing)
    assert row.unpaired == trials_unpaired(row.rate_a, row.rate_b)
    assert row.sequential.n >= row.paired.n
    assert row.usual < row.sequential.n
    assert paired_power(row.paired.n, 0.3, 0.5) >= 0.8


def test_seeds_that_matter_save_trials() -> None:
    (apart,), (alike,) = (answers(Question(0.3, (0.5,), correlation=c)) for c in (0.0, 0.6))
    assert alike.paired.n < apart.paired.n


def test_a_run_brings_its_rates_and_differing_seeds(tmp_path: Path) -> None:
    run = made_up(config(tmp_path, ("a", "b")), lambda t: t.index < (16 if t.agent == "a" else 8))
    (row,) = answers_for_run(run.path, None, Question(0.1))
    assert (row.rate_a, row.rate_b, row.differing, row.seen) == (0.8, 0.4, 0.4, ("a", "b"))
    (asked,) = answers_for_run(run.path, 0.5, Question(0.5))
    assert (asked.rate_a, asked.rate_b) == (0.9, 0.4)
    same = made_up(config(tmp_path / "same", ("a", "b")), lambda t: True)
    with pytest.raises(InputError, match=r"no two agents of .* differ in success; say which difference matters"):
        answers_for_run(same.path, None, Question(0.1))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question(0.0), "a difference of 0; expected one between 0 and 1"),
        (Question(0.1, (1.2,)), "a rate lies between 0 and 1"),
        (Question(0.1, power=1.0), "a power of 1; expected one between 0 and 1, such as 0.8"),
        (Question(0.1, alpha=5), "an alpha of 5; expected one between 0 and 1, such as 0.05"),
        (Question(0.1, correlation=2), "a correlation of 2; expected one from -1 to 1"),
        (Question(0.3, (0.8, 0.9)), "no rate leaves room for a difference of 0.3 above it"),
    ],
)
def test_questions_without_an_answer(question: Question, message: str) -> None:
    with pytest.raises(InputError, match=message):
        answers(question)


def test_power_prints_a_table_or_json(monkeypatch, capsys) -> None:
    said = []
    for extra in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["proctor", "power", "--difference", "0.4", "--rate", "0.5", *extra])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        said.append(capsys.readouterr().out)
    found = json.loads(said[1])
    assert found["rows"] == json.loads(json.dumps(as_rows(answers(Question(0.4, (0.5,))))))
    assert f" {found['rows'][0]['paired']:,} " in said[0]
    monkeypatch.setattr(sys, "argv", ["proctor", "power", "somewhere", "--rate", "0.5"])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    assert "name a RUN or rates, not both" in capsys.readouterr().err
