"""Report and leaderboard of one run show the same: differences, ranks, what each term adds, and its colour."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from term_runs import TARGET, TASKS, contest, outcome

from proctor.record.rundir import RunDir
from proctor.report.leaderboard.files import write_leaderboard
from proctor.report.leaderboard.words import task_words
from proctor.runs.report import write_report
from proctor.verdict.leaderboard import leaderboard
from proctor_host.episode import Outcome
from proctor_host.trials import Trial


def broken(trial: Trial) -> Any:
    """Every fourth trial is broken by the policy, and takes the scoring's floor."""
    return {"outcome": Outcome.POLICY_ERROR} if trial.index % 4 == 3 else outcome(trial)


def pages(folder: Path) -> tuple[str, str]:
    write_report(RunDir.open(folder))
    write_leaderboard(folder, leaderboard([str(folder)]), "now")
    texts = [(folder / f"{name}.html").read_text(encoding="utf-8") for name in ("report", "leaderboard")]
    report, board = (text.partition('<section id="terms"')[2].partition("</section>")[0] for text in texts)
    return report, board


def legend(section: str) -> list[tuple[str, str]]:
    """Colour and term."""
    return re.findall(r'<rect class="([^"]+)" width="14" height="14"/></svg>([^<]+)</li>', section)


def drawn(section: str, task: str) -> list[tuple[str, str]]:
    """Of a task's figure: the colour of every bar, and its term with what it adds."""
    figures = [figure for figure in section.split("<figure")[1:] if f">{task}<" in figure]
    assert len(figures) == 1
    return re.findall(r'<rect class="([^"]+)" x="[^"]+" y="-6"[^>]*><title>([^<]+)</title>', figures[0])


@pytest.mark.parametrize("keys", [{}, {"wins": broken, "floor": -5.0}], ids=["whole", "broken trials"])
def test_terms_have_one_colour_and_one_value_on_both_pages(tmp_path: Path, keys: dict[str, Any]) -> None:
    report, board = pages(contest(tmp_path, **keys))
    assert len(legend(report)) > 5
    assert legend(report) == legend(board)
    assert (legend(report)[-1][1] == "broken trials") == bool(keys)
    for task in TASKS:
        assert drawn(report, task) == drawn(board, task) != []


def test_ranks_differences_and_tests_are_the_same(tmp_path: Path) -> None:
    folder = contest(tmp_path)
    with RunDir.open(folder).ledger() as ledger:
        ledger.set_meta("by_seed", list(TASKS))
    pages(folder)
    report, board = (json.loads((folder / f"{name}.json").read_text()) for name in ("report", "leaderboard"))
    assert report["comparison"] == board["comparison"]
    assert [(a["agent"], a["rank"]) for a in report["agents"]] == [(a["agent"], a["rank"]) for a in board["agents"]]
    assert report["verdict"] == board["verdict"]


def test_a_task_column_has_the_digits_that_rank_its_scores(tmp_path: Path) -> None:
    close = {"striker": 0.50012, "walker": 0.50019, "statue": 0.50012}

    def near(trial: Trial) -> dict[str, Any]:
        terms = {**outcome(trial)["metrics"], "term/distance": close[trial.agent] + 0.2 * trial.index}
        if trial.task == TARGET:
            terms |= {"term/offside": 0.0, "term/success": 0.0}
        return {"outcome": False, "metrics": terms, "trace": sha256(repr(trial).encode()).hexdigest()}

    folder = contest(tmp_path, agents=tuple(close), wins=near)
    pages(folder)
    board = leaderboard([str(folder)])
    shown = {entry.agent: own[TASKS.index(TARGET)] for entry, own in zip(board.entries, task_words(board), strict=True)}
    assert shown == {"striker": "0.50006", "walker": "0.50010", "statue": "0.50006"}
    for name in ("report.html", "report.md", "leaderboard.html", "leaderboard.md"):
        page = (folder / name).read_text()
        assert page.count("0.50006") >= 2
        assert page.count("0.50010") >= 1
