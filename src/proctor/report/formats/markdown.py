"""`report.md`: the verdict and its tables, small enough for a pull-request comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.report import text
from proctor.report.model import AgentReport, Case, Report, Summary
from proctor.report.sections import timing
from proctor.report.sections.cases import target_value, target_words
from proctor.report.sections.results import letters_of

MAX_AGENTS, MAX_TASKS, MAX_FINDINGS, MAX_CAUSES, MAX_CASES = 20, 12, 12, 10, 15


def to_markdown(report: Report) -> str:
    """The whole document. Long lists are cut, and say so."""
    blocks = [
        f"# {escape(report.name)}",
        f"**{escape(report.verdict)}**",
        *_findings(report),
        _ranking(report),
        *_targets(report),
        *_differences(report),
        *_per_task(report),
        *_worst_cases(report),
        *_faults(report),
        _how(report),
    ]
    return "\n\n".join(blocks) + "\n"


def escape(words: str) -> str:
    """Text that Markdown and its HTML show as it is, on one line."""
    words = " ".join(words.split())
    for character in "\\`*_[]|#~":
        words = words.replace(character, f"\\{character}")
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A pipe table; the first `left` columns are flush left, the others right."""
    rule = [":---" if i < left else "---:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [header, rule, *rows])


def _findings(report: Report) -> Iterator[str]:
    if report.findings:
        shown = [
            f"- {'**Caution.** ' if f.level == 'caution' else ''}{escape(f.text)}"
            for f in report.findings[:MAX_FINDINGS]
        ]
        hidden = len(report.findings) - MAX_FINDINGS
        yield "\n".join([*shown, f"- … and {hidden} more in `report.html`"] if hidden > 0 else shown)


def _ranking(report: Report) -> str:
    level = text.percent(report.context.level)
    header = [
        "rank",
        "agent",
        "n",
        "success",
        f"{level} interval",
        "score",
        f"{level} interval",
        "steps",
        "unscored",
    ]
    groups = letters_of(report)
    rows = [_agent_cells(agent, groups.get(agent.agent)) for agent in report.agents[:MAX_AGENTS]]
    told = "Agents that share a letter are not told apart by these trials.\n\n" if groups else ""
    shown = f"## Ranking\n\n{told}" + table(header, rows, left=2)
    return shown + _more(len(report.agents) - MAX_AGENTS, "agents")


def _agent_cells(agent: AgentReport, letters: str | None) -> list[str]:
    summary = agent.overall
    return [
        text.NONE if agent.rank is None else str(agent.rank),
        escape(agent.agent) + (f" ({letters})" if letters else ""),
        str(summary.n),
        text.percent(summary.success.rate),
        text.percent_range(summary.success.interval),
        text.mean(summary.score),
        text.mean_range(summary.score),
        text.number(summary.steps_total.mean),
        str(summary.n_unscored),
    ]


def _differences(report: Report) -> Iterator[str]:
    from proctor.report.compare.page import differences_markdown

    if report.comparison is not None:
        yield differences_markdown(report.comparison)


def _per_task(report: Report) -> Iterator[str]:
    if len(report.tasks) < 2:
        return
    tasks = report.tasks[:MAX_TASKS]
    header = ["agent", *(escape(task.task) for task in tasks)]
    rows = [
        [escape(agent.agent), *(_cell(cell.summary) for cell in agent.cells[:MAX_TASKS])]
        for agent in report.agents[:MAX_AGENTS]
    ]
    more = _more(len(report.tasks) - MAX_TASKS, "tasks")
    yield ("## Success by task\n\nSuccesses of scored trials, and the mean score.\n\n" + table(header, rows) + more)


def _cell(summary: Summary) -> str:
    if not summary.n:
        return text.NONE
    rate = summary.success
    return f"{text.percent(rate.rate)} ({rate.successes}/{rate.n}), {text.mean(summary.score)}"


def _targets(report: Report) -> Iterator[str]:
    if report.targets:
        rows = [
            [escape(r.agent), escape(target_words(r)), "met" if r.met else "**missed**", escape(target_value(r))]
            for r in report.targets
        ]
        yield "## Targets\n\n" + table(["agent", "target", "", "mean (interval)"], rows, left=4)


def _worst_cases(report: Report) -> Iterator[str]:
    """The worst cases of every agent, with what their task was ordered by."""
    rows = [
        [escape(t.agent), escape(t.task), escape(c.case), str(c.n), str(c.successes), *_measures(c)]
        for t in report.cases
        for c in t.cases[: max(1, MAX_CASES // len(report.cases))]
    ]
    if rows:
        header = ["agent", "task", "case", "n", "successes", "score", "emd", "upright"]
        shown = table(header, rows[:MAX_CASES], left=3)
        total = sum(len(t.cases) for t in report.cases)
        yield "## Worst cases\n\n" + shown + _more(total - min(len(rows), MAX_CASES), "cases")


def _measures(case: Case) -> list[str]:
    emd, upright = case.metrics.get("emd"), case.metrics.get("upright_share")
    return [
        text.number(case.score.value),
        text.NONE if emd is None else text.number(emd.value),
        text.NONE if upright is None else text.percent(upright.value),
    ]


def _faults(report: Report) -> Iterator[str]:
    if not report.causes:
        return
    rows = [
        [escape(c.agent), c.outcome.replace("_", " "), escape(c.message), str(c.count), escape(c.example)]
        for c in report.causes[:MAX_CAUSES]
    ]
    shown = table(["agent", "outcome", "message", "trials", "for example"], rows, left=3)
    yield "## What broke\n\n" + shown + _more(len(report.causes) - MAX_CAUSES, "causes")


def _how(report: Report) -> str:
    context, scoring = report.context, report.scoring
    lines = [
        f"{report.finished:,} of {text.count(report.planned, 'planned trial')} finished, {report.scored:,} "
        f"scored; {text.trials_each(report.config)} per agent and task, seeds from {report.config['base_seed']}.",
        f"Scoring {escape(scoring.name)}, version {escape(scoring.version)}.",
        "Success intervals: Wilson. Score intervals: bootstrap within tasks "
        f"({context.n_resamples:,} resamples). Unscored trials enter no rate.",
    ]
    if context.duration_s is not None:
        lines.append(f"Took {text.duration(context.duration_s)}.")
    if words := timing.time_words(context.spent):
        lines.append(f"Time of slots: {words}.")
    batches = "; ".join(f"{escape(agent)} {words}" for agent, words in timing.batch_words(context.batch))
    if batches:
        lines.append(f"Mean batch: {batches}.")
    return "## How it was run\n\n" + " ".join(lines) + f"\n\n<sub>{escape(context.generated_at)}</sub>"


def _more(hidden: int, what: str) -> str:
    return f"\n\n… and {hidden} more {what} in `report.html`." if hidden > 0 else ""
