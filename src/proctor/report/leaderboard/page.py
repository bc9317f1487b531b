"""`leaderboard.html`: one file, no network, no script."""

from __future__ import annotations

from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.markup import NONE, definitions, finding_list, forest, lead, number, small, spread, table
from proctor.report.draw.page import Block, Page, asset, render
from proctor.report.draw.svg import axis_for, esc, interval_row
from proctor.report.draw.term_bars import term_bars, term_legend
from proctor.report.leaderboard.words import advice_words, episodes_words, score_words, task_words, verdict
from proctor.report.model import Finding
from proctor.report.sections.differences import differences
from proctor.report.text import signed
from proctor.verdict.leaderboard import Entry, Leaderboard, TaskResult


def to_html(board: Leaderboard, generated_at: str) -> str:
    """The whole page. Everything that comes from a config or a result is escaped."""
    n, repeats = sum(entry.n for entry in board.entries), sum(entry.n_repeats for entry in board.entries)
    facts = [
        ("Agents", f"{len(board.entries):,}"),
        ("Tasks", f"{len(board.tasks):,}"),
        ("Episodes", esc(episodes_words(n, repeats))),
        ("Scoring", esc(board.scoring)),
    ]
    blocks = [
        Block("ranking", "Ranking", _ranking(board)),
        Block("cautions", "Before you use the numbers", finding_list(said_of(board))),
        Block("intervals", "Scores and intervals", _intervals(board)),
        Block("terms", "What each term contributed", _terms(board)),
        Block("advice", "What would raise a score", _advice(board)),
        Block("differences", "Differences", differences(board.comparison)),
        Block("how", "What was ranked", definitions(board.runs)),
    ]
    footer = f"Generated {esc(generated_at)} by Proctor. The same numbers for programs are in leaderboard.json."
    styles = [asset("proctor.report", name) for name in ("comparison.css", "terms.css")]
    return render(Page("Leaderboard", board.name, verdict(board), facts, blocks, footer, styles))


def _ranking(board: Leaderboard) -> str:
    words = (
        f"{weights_words(board)} Small numbers are {text.percent(board.level)} intervals and numbers of episodes. "
        "Agents that share a letter are not significantly different."
    )
    header = ["Agent", "Score", "Letters", *(esc(task) for task in board.tasks), "Episodes", "Unscored"]
    rows = map(_ranking_row, board.entries, score_words(board), task_words(board))
    return lead(words) + table("Agents in the order of their scores", header, rows, "ranking")


def weights_words(board: Leaderboard) -> str:
    """How tasks were made into one score."""
    if len(board.tasks) == 1:
        return "The score is the mean over episodes."
    shares = ", ".join(f"{task} {text.percent(share)}" for task, share in board.weights.items())
    equal = len({round(share, 12) for share in board.weights.values()}) == 1
    return "The score is the mean over tasks of their means over episodes" + (
        "." if equal else f", each with its weight: {shares}."
    )


def _ranking_row(entry: Entry, score: str, by_task: list[str]) -> list[str]:
    repeats = f" {small(text.count(entry.n_repeats, 'repeat'))}" if entry.n_repeats else ""
    return [
        f'<span class="rank">{text.rank(entry.rank)}</span>{esc(entry.agent)}',
        spread(score, text.span(entry.interval)),
        esc(entry.letters or text.NONE),
        *map(_task_cell, entry.tasks, by_task),
        f"{entry.n:,}{repeats}",
        number(entry.n_unscored),
    ]


def said_of(board: Leaderboard) -> list[Finding]:
    """Its cautions, then its notes."""
    cautions = [Finding("caution", sentence) for sentence in board.cautions]
    return [*cautions, *(Finding("note", sentence) for sentence in board.notes)]


def _intervals(board: Leaderboard) -> str:
    """Scores with their intervals, agent by agent."""
    known = [entry for entry in board.entries if entry.score is not None]
    if not known:
        return ""
    ends = [end for entry in known for end in (entry.interval or ())] + [entry.score or 0.0 for entry in known]
    axis = axis_for(ends)
    words = dict(zip([entry.agent for entry in board.entries], score_words(board), strict=True))
    rows = [(e.agent, interval_row(axis, e.score, e.interval), words[e.agent]) for e in known]
    reasons = dict.fromkeys(e.reason for e in known if e.interval is None and e.reason)
    note = lead(f"An open dot has no interval: {'; '.join(reasons)}.") if reasons else ""
    return note + forest(
        f"Score, with its {text.percent(board.level)} interval", rows, svg.axis_row(axis, "mean score")
    )


def _terms(board: Leaderboard) -> str:
    """Stacked bars of all tasks together, then task by task, and the numbers."""
    terms = board.terms
    if not terms:
        return ""
    known = [entry for entry in board.entries if entry.score is not None]
    whole = {entry.agent: {term: entry.terms.get(term, 0.0) for term in terms} for entry in known}
    own = {entry.agent: {task.task: task.terms for task in entry.tasks} for entry in known}
    figures = [
        term_bars({agent: {t: parts[task].get(t, 0.0) for t in terms} for agent, parts in own.items()}, task)
        for task in board.tasks
    ]
    if len(board.tasks) > 1:
        figures.insert(0, term_bars(whole, "All tasks, by their weights"))
    words = (
        "The mean over episodes of value times weight. Costs reach to the left of zero, gains to the right; the "
        "upright line is the score, their sum."
    )
    rows = [[esc(term), *(esc(signed(parts[term])) for parts in whole.values())] for term in terms]
    scores = dict(zip((entry.agent for entry in board.entries), score_words(board), strict=True))
    rows.append(["score", *(esc(scores[entry.agent]) for entry in known)])
    numbers = table("What each term contributed to the score", ["Term", *map(esc, whole)], rows, "boards")
    return lead(words) + term_legend(terms) + "".join(figures) + numbers


def _advice(board: Leaderboard) -> str:
    if not any(entry.advice for entry in board.entries):
        return ""
    words = (
        "From the recorded terms, what an agent has most to gain by: a cost that it could avoid, something paid that "
        "it did not do, or a term that pays another agent more. Numbers are in points of the score."
    )
    header = ["Agent", "First", "Second", "Third"]
    rows = [
        [esc(entry.agent), *([esc(advice_words(a)) for a in entry.advice] + [NONE] * 3)[:3]] for entry in board.entries
    ]
    return lead(words) + table("What would raise each agent's score", header, rows, "advice")


def _task_cell(result: TaskResult, score: str) -> str:
    if result.score is None:
        return NONE
    span = "" if result.interval is None else small(text.span(result.interval))
    episodes = f"n {episodes_words(result.n, result.n_repeats)}"
    return f"{esc(score)} {span}{small(episodes)}"
