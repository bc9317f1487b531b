"""The files of `proctor leaderboard`: `leaderboard.json`, `.csv`, `.md` and `.html`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from proctor.report import text
from proctor.report.compare.page import comparison_keys
from proctor.report.draw.pipes import bullets, document, escape, findings, more
from proctor.report.draw.pipes import table as pipe_table
from proctor.report.formats.files import plain, write_csv, write_json, write_text
from proctor.report.leaderboard.page import said_of, to_html, weights_words
from proctor.report.leaderboard.words import advice_words, episodes_words, score_words, task_words, verdict
from proctor.report.text import signed
from proctor.verdict.leaderboard import Entry, Leaderboard, TaskResult

MAX_AGENTS = 20


def write_leaderboard(folder: Path, board: Leaderboard, generated_at: str) -> None:
    """The four files, each whole or not at all."""
    write_json(folder / "leaderboard.json", to_json(board, generated_at))
    rows = [_csv_row(entry, board) for entry in board.entries]
    write_csv(folder / "leaderboard.csv", rows[0], (row.values() for row in rows))
    write_text(folder / "leaderboard.md", to_markdown(board, generated_at))
    write_text(folder / "leaderboard.html", to_html(board, generated_at))


def to_json(board: Leaderboard, generated_at: str) -> dict[str, Any]:
    """Plain data, null where there is no number."""
    return plain(
        {
            "name": board.name,
            "generated_at": generated_at,
            "verdict": verdict(board),
            "scoring": board.scoring,
            "unit": board.unit,
            "level": board.level,
            "tasks": list(board.tasks),
            "weights": dict(board.weights),
            "cautions": list(board.cautions),
            "notes": list(board.notes),
            "runs": dict(board.runs),
            "agents": [_entry(entry) for entry in board.entries],
            "comparison": comparison_keys(board.comparison),
        }
    )


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        **_judged(entry),
        "n": entry.n,
        "n_repeats": entry.n_repeats,
        "n_unscored": entry.n_unscored,
        "tasks": [_judged(task) for task in entry.tasks],
        "advice": [{**asdict(advice), "text": advice_words(advice)} for advice in entry.advice],
    }


def _judged(found: Entry | TaskResult) -> dict[str, Any]:
    """With the reason for a missing interval under a name that says so."""
    keys = asdict(found)
    return {"no_interval_because" if name == "reason" else name: value for name, value in keys.items()}


def _csv_row(entry: Entry, board: Leaderboard) -> dict[str, Any]:
    """An agent: the score, then task by task, then what each term contributed."""
    low, high = entry.interval or (None, None)
    row: dict[str, Any] = {
        "rank": entry.rank,
        "agent": entry.agent,
        "letters": entry.letters,
        "score": entry.score,
        "score_low": low,
        "score_high": high,
        "n": entry.n,
        "n_repeats": entry.n_repeats,
        "n_unscored": entry.n_unscored,
    }
    for task in entry.tasks:
        low, high = task.interval or (None, None)
        own = {"score": task.score, "score_low": low, "score_high": high, "n": task.n, "n_repeats": task.n_repeats}
        row |= {f"{name} {task.task}": value for name, value in own.items()}
    row |= {f"term {term}": entry.terms.get(term) for term in board.terms}
    row["advice"] = advice_words(entry.advice[0]) if entry.advice else None
    return row


def to_markdown(board: Leaderboard, generated_at: str) -> str:
    """Small enough for a pull-request comment: long lists are cut, and say so."""
    runs = bullets(f"{label}: {words}" for label, words in board.runs.items())
    ranked = f"## What was ranked\n\n{runs}" if runs else ""
    blocks = [findings(said_of(board)), _ranking(board), _terms(board), _advices(board), ranked]
    return document(board.name, verdict(board), blocks, generated_at)


def _ranking(board: Leaderboard) -> str:
    level = text.percent(board.level)
    header = ["rank", "agent", "score", f"{level} interval", "", *map(escape, board.tasks), "episodes"]
    rows = [
        [
            text.rank(entry.rank),
            escape(entry.agent),
            score,
            text.span(entry.interval),
            entry.letters or "",
            *own,
            episodes_words(entry.n, entry.n_repeats),
        ]
        for entry, score, own in zip(board.entries[:MAX_AGENTS], score_words(board), task_words(board), strict=False)
    ]
    words = f"{escape(weights_words(board))} Agents that share a letter are not significantly different."
    hidden = more(len(board.entries) - MAX_AGENTS, "agent", "the HTML file")
    return f"## Ranking\n\n{words}\n\n" + pipe_table(header, rows, left=2) + hidden


def _terms(board: Leaderboard) -> str:
    if not board.terms:
        return ""
    header = ["agent", *map(escape, board.terms)]
    rows = [
        [escape(entry.agent), *(signed(entry.terms.get(term, 0.0)) for term in board.terms)]
        for entry in board.entries[:MAX_AGENTS]
        if entry.score is not None
    ]
    return "## What each term contributed\n\n" + pipe_table(header, rows)


def _advices(board: Leaderboard) -> str:
    lines = [
        f"- **{escape(entry.agent)}**: {escape('; '.join(map(advice_words, entry.advice)))}"
        for entry in board.entries[:MAX_AGENTS]
        if entry.advice
    ]
    return "## What would raise a score\n\n" + "\n".join(lines) if lines else ""
