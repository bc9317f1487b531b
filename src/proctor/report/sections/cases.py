"""Targets of the config, and tasks whose trials name their case: a motion, an instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.metrics import MetricInfo
from proctor.report import text
from proctor.report.draw import pipes, svg
from proctor.report.draw.markup import estimate, heat_cell, lead, scale_key, small, table
from proctor.report.draw.palette import BAD, GOOD
from proctor.report.draw.svg import esc
from proctor.report.model import Case, CaseTable, MetricEstimate, Report, TargetResult
from proctor.report.section import Section

COMPARED, LISTED, MAX_CASES = 40, 200, 15
WORDS = {"down": "at most", "up": "at least"}


class Targets(Section):
    """Agent x target: met or missed, with the number behind it."""

    key, title, place = "targets", "Targets", 20
    stylesheets = ("proctor.report/cases.css",)

    def html(self, report: Report, data: Any) -> str:
        if not report.targets:
            return ""
        level = text.percent(report.context.level)
        words = (
            f"Whether the mean over all scored trials reaches the target. Small numbers are its {level} interval and "
            "how many trials have a value. An interval that reaches across the target leaves it open for other trials."
        )
        names = list(dict.fromkeys(result.metric for result in report.targets))
        found = {(result.agent, result.metric): result for result in report.targets}
        header = ["Agent", *(esc(target_words(found[report.agents[0].agent, name])) for name in names)]
        rows = [[esc(a.agent), *(_target_cell(found[a.agent, name]) for name in names)] for a in report.agents]
        return lead(words) + table("Targets by agent", header, rows, "targets")

    def markdown(self, report: Report, data: Any) -> str:
        rows = [
            [
                pipes.escape(result.agent),
                pipes.escape(target_words(result)),
                "met" if result.met else "**missed**",
                pipes.escape(target_value(result)),
            ]
            for result in report.targets
        ]
        return "## Targets\n\n" + pipes.table(["agent", "target", "", "mean (interval)"], rows, left=4) if rows else ""


def target_words(result: TargetResult) -> str:
    """Such as `action_rate_mean at most 0.5`."""
    unit = "" if result.unit == "1" else f" {result.unit}"
    return f"{result.metric} {WORDS[result.direction]} {result.target:g}{unit}"


def target_value(result: TargetResult) -> str:
    """`0.34 (0.21 to 0.47), n 12`."""
    if result.value is None:
        return "no value"
    ends = "" if result.interval is None else f" ({text.span(result.interval)})"
    of = f" of {result.n_scored:,}" if result.n < result.n_scored else ""
    return f"{text.fixed(result.value, result.interval)}{ends}, n {result.n:,}{of}"


def _target_cell(result: TargetResult) -> str:
    verdict = "met" if result.met else "missed"
    open_ = "" if result.clear or result.value is None else small("; the interval reaches across")
    shape = svg.shape("success" if result.met else "failure")
    return f'<td class="{verdict}">{shape} {verdict} {small(target_value(result))}{open_}</td>'


class Cases(Section):
    """Per task: cases x agents by the measure that orders them, then the cases of each agent in full."""

    key, title, place = "cases", "Case by case", 110
    stylesheets = ("proctor.report/cases.css",)

    def html(self, report: Report, data: Any) -> str:
        if not report.cases:
            return ""
        infos = {info.name: info for info in report.metrics}
        words = "Worst first. n counts scored trials; every trial is a row of summary.csv."
        blocks = []
        for task in report.tasks:
            tables = [table for table in report.cases if table.task == task.task]
            compared = _compared(tables, infos) if len(tables) > 1 else ""
            details = "".join(_details(table, infos, opened=len(tables) == 1) for table in tables)
            blocks.append(f"<h3>{esc(task.task)}</h3>\n{compared}{details}" if tables else "")
        return lead(words) + "".join(blocks)

    def markdown(self, report: Report, data: Any) -> str:
        """The worst cases of every agent, by what their task was ordered by."""
        rows = [
            [*map(pipes.escape, (t.agent, t.task, c.case)), str(c.n), _successes(c), *_measures(report.cases, c)]
            for t in report.cases
            for c in t.cases[: max(1, MAX_CASES // len(report.cases))]
        ]
        if not rows:
            return ""
        header = ["agent", "task", "case", "n", "successes", "score", *map(pipes.escape, _brief(report.cases))]
        shown = pipes.table(header, rows[:MAX_CASES], left=3)
        total = sum(len(t.cases) for t in report.cases)
        return "## Worst cases\n\n" + shown + pipes.more(total - min(len(rows), MAX_CASES), "case")


def _successes(case: Case) -> str:
    return text.NONE if case.successes is None else f"{case.successes:,}"


def _brief(tables: Sequence[CaseTable]) -> list[str]:
    """The metrics of a short table: what cases are ordered by, and shares."""
    return list(dict.fromkeys(name for t in tables for name in (t.order, *t.shares) if name != "score"))


def _measures(tables: Sequence[CaseTable], case: Case) -> list[str]:
    shares = {name for t in tables for name in t.shares}
    found = [text.number(case.score.value)]
    for name in _brief(tables):
        value = case.metrics[name].value if name in case.metrics else None
        found.append(text.percent(value) if name in shares else text.number(value))
    return found


def _compared(tables: Sequence[CaseTable], infos: Mapping[str, MetricInfo]) -> str:
    """Cases x agents as a heat map, the worst on average first."""
    order = tables[0].order
    values = [{c.case: c.score if order == "score" else c.metrics[order] for c in table.cases} for table in tables]
    names = list(dict.fromkeys(case.case for table in tables for case in table.cases))
    ranks = {name: _badness([column.get(name) for column in values], order) for name in names}
    names.sort(key=lambda name: (ranks[name], name))
    axis = svg.axis_for([e.value for column in values for e in column.values() if e.value is not None])
    scale = GOOD if order == "score" else BAD
    rows = [[esc(name), *(_heat_cell(column.get(name), axis, scale) for column in values)] for name in names[:COMPARED]]
    key = scale_key(scale, *(svg.tick_words(end) for end in (axis.low, axis.high)))
    caption = f"Mean {_with_unit(order, infos)} of every case, worst first"
    hidden = len(names) - COMPARED
    more = lead(f"And {hidden:,} more, further down and in summary.csv.") if hidden > 0 else ""
    return table(caption, ["Case", *(esc(table.agent) for table in tables)], rows, "heat cases") + key + more


def _badness(estimates: Sequence[MetricEstimate | None], order: str) -> float:
    """For sorting, the worst first: cases without a value, then by the mean over agents."""
    known = [e.value for e in estimates if e is not None and e.value is not None]
    if len(known) < sum(e is not None for e in estimates):
        return float("-inf")
    mean = sum(known) / len(known)
    return mean if order == "score" else -mean


def _heat_cell(found: MetricEstimate | None, axis: svg.Axis, scale: str) -> str:
    if found is None or found.value is None:
        return heat_cell(None, "", f"n {0 if found is None else found.n}")
    return heat_cell(axis.share(found.value), text.number(found.value), f"n {found.n:,}", scale=scale)


def _details(cases: CaseTable, infos: Mapping[str, MetricInfo], *, opened: bool) -> str:
    shown = [name for name in (cases.cases[0].metrics if cases.cases else ()) if name in infos]
    header = ["Case", "n", "Success", "Score", *(_title(name, infos, share=name in cases.shares) for name in shown)]
    rows = [_row(case, shown, cases.shares) for case in cases.cases[:LISTED]]
    hidden = len(cases.cases) - LISTED
    more = lead(f"And {hidden:,} better ones in summary.csv.") if hidden > 0 else ""
    caption = f"{cases.agent}: cases by {_with_unit(cases.order, infos)}, worst first"
    title = f"{cases.agent}: {text.count(len(cases.cases), 'case')}, worst first"
    body = table(caption, header, rows, "case-details") + more
    return f"<details{' open' if opened else ''}><summary>{esc(title)}</summary>{body}</details>\n"


def _row(case: Case, shown: Sequence[str], shares: Sequence[str]) -> list[str]:
    return [
        esc(case.case),
        f"{case.n:,}",
        _successes(case),
        estimate(case.score.value, case.score.interval),
        *(_metric(case.metrics[name], share=name in shares) for name in shown),
    ]


def _metric(found: MetricEstimate, *, share: bool) -> str:
    known = share and found.value is not None
    return text.percent(found.value) if known else estimate(found.value, found.interval)


def _with_unit(name: str, infos: Mapping[str, MetricInfo]) -> str:
    unit = infos[name].unit if name in infos else "1"
    return name if unit == "1" else f"{name} ({unit})"


def _title(name: str, infos: Mapping[str, MetricInfo], *, share: bool) -> str:
    unit = "share" if share else infos[name].unit
    return f'<span title="{esc(infos[name].doc)}">{esc(name)}</span> {small("" if unit == "1" else unit)}'
