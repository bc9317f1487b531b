"""Numbers by agent: by task, as intervals, by component of the score, by metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proctor.metrics import MetricInfo
from proctor.report import text
from proctor.report.draw import pipes, svg
from proctor.report.draw.markup import NONE, estimate, forest, heat_cell, lead, scale_key, small, table
from proctor.report.draw.palette import GOOD
from proctor.report.draw.svg import esc
from proctor.report.model import MeanEstimate, Report, Summary
from proctor.report.section import Grid, Section
from proctor.report.sections.ranking import ranking_words

MAX_AGENTS, MAX_TASKS = 20, 12
TERMINAL_AGENTS, TERMINAL_TASKS, WITH_INTERVALS = 4, 40, 2
"""What a terminal shows by task: so many agents and tasks, and intervals beside so many agents."""
BETTER = {"up": "higher is better", "down": "lower is better", "none": ""}


class Tasks(Section):
    """Agent x task, once for the success rate, once for the score, and for the steps to success where tasks differ in
    length."""

    key, title, place = "tasks", "Agents by task", 80

    def html(self, report: Report, data: Any) -> str:
        if not report.scored:
            return ""
        header = ["Agent", *(esc(task.task) for task in report.tasks)]
        drawn = {"success": _rates, "score": _scores}
        tables = "".join(drawn[measure](report, header) for measure in report.measures)
        return f'<div class="pair">{tables}</div>' + _steps_to_success(report, header)

    def markdown(self, report: Report, data: Any) -> str:
        if len(report.tasks) < 2:
            return ""
        header = ["agent", *(pipes.escape(task.task) for task in report.tasks[:MAX_TASKS])]
        words_of = task_words(report)
        rows = [
            [
                pipes.escape(agent.agent),
                *(
                    _cell(report, cell.summary, own)
                    for cell, own in zip(agent.cells[:MAX_TASKS], words_of[agent.agent], strict=False)
                ),
            ]
            for agent in report.agents[:MAX_AGENTS]
        ]
        shown = {"success": "successes of scored trials", "score": "the mean score"}
        words = " and ".join(shown[measure] for measure in report.measures).capitalize()
        return (
            f"## Agents by task\n\n{words}.\n\n"
            + pipes.table(header, rows)
            + pipes.more(len(report.tasks) - MAX_TASKS, "task")
        )

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        """Task by task the rates of the first agents, or scores where nothing says what success is; nothing of a single
        task, whose numbers stand in the ranking."""
        if len(report.tasks) < 2 or not report.scored:
            return
        agents = report.agents[:TERMINAL_AGENTS]
        rows = [
            (task.task, *(_terminal_cell(report, agent.cells[i].summary, len(agents)) for agent in agents))
            for i, task in enumerate(report.tasks[:TERMINAL_TASKS])
        ]
        left_out = [
            text.count(hidden, what)
            for hidden, what in (
                (len(report.tasks) - TERMINAL_TASKS, "more task"),
                (len(report.agents) - TERMINAL_AGENTS, "more agent"),
            )
            if hidden > 0
        ]
        what = "success, of scored trials" if report.defines_success else "mean score"
        spans = f"; […]: {text.percent(report.context.level)} interval" if len(agents) <= WITH_INTERVALS else ""
        more = f"; {' and '.join(left_out)} in the report" if left_out else ""
        yield Grid(f"{what}, by task{spans}{more}", ("task", *(agent.agent for agent in agents)), tuple(rows))


def _terminal_cell(report: Report, summary: Summary, agents: int) -> str:
    """`90 % (18/20)`, or a mean score with its n; with the interval where there are few agents."""
    rate = summary.success
    if not summary.n:
        return text.NONE
    if report.defines_success:
        if rate.rate is None:
            return text.NONE
        interval = f" [{text.percent_range(rate.interval)}]" if rate.interval is not None else ""
        value = f"{text.percent(rate.rate)} ({rate.successes}/{rate.n})"
    else:
        interval = f" [{text.span(summary.score.interval)}]" if summary.score.interval is not None else ""
        value = f"{text.mean(summary.score)} (n {summary.score.n})"
    return value + (interval if agents <= WITH_INTERVALS else "")


def _rates(report: Report, header: list[str]) -> str:
    rates = [[esc(a.agent), *(_rate_cell(c.summary) for c in a.cells)] for a in report.agents]
    shown = table("Success rate, with successes of scored trials", header, rates, "heat")
    return f"<div>{shown}{scale_key(GOOD, '0 %', '100 %')}</div>"


def _scores(report: Report, header: list[str]) -> str:
    means = [m for a in report.agents for c in a.cells if (m := c.summary.score.mean) is not None]
    axis = svg.axis_for(means)
    words = task_words(report)
    scores = [
        [esc(a.agent), *(_score_cell(c.summary, axis, own) for c, own in zip(a.cells, words[a.agent], strict=True))]
        for a in report.agents
    ]
    shown = table("Mean score, with its interval", header, scores, "heat")
    return f"<div>{shown}{scale_key(GOOD, svg.tick_words(axis.low), svg.tick_words(axis.high))}</div>"


def _steps_to_success(report: Report, header: list[str]) -> str:
    """A table where the ranking cannot have the mean over all tasks."""
    if len({task.max_steps for task in report.tasks if task.max_steps is not None}) < 2:
        return ""
    own = [[cell.summary.steps_to_success for cell in agent.cells] for agent in report.agents]
    if not any(found.n for row in own for found in row):
        return ""
    rows = [
        [esc(agent.agent), *(estimate(found.mean, found.interval, found.n) for found in row)]
        for agent, row in zip(report.agents, own, strict=True)
    ]
    return table("Steps to success, of successes only", header, rows, "plain")


def task_words(report: Report) -> dict[str, list[str]]:
    """The mean scores of every agent task by task, each task with the digits that show its own ranking."""
    columns = [[agent.cells[place].summary.score for agent in report.agents] for place in range(len(report.tasks))]
    written = [text.ranked_means([own.mean for own in one], [own.interval for own in one]) for one in columns]
    return {agent.agent: [column[row] for column in written] for row, agent in enumerate(report.agents)}


def _score_cell(summary: Summary, axis: svg.Axis, words: str) -> str:
    score = summary.score
    if score.mean is None:
        return heat_cell(None, "", f"n {score.n}")
    span = text.span(score.interval) if score.interval else f"n {score.n}, no interval"
    return heat_cell(axis.share(score.mean), words, span)


def _rate_cell(summary: Summary) -> str:
    rate = summary.success
    nothing = "not defined" if summary.n else "n 0"
    counts = nothing if rate.rate is None else f"{rate.successes} of {rate.n}"
    return heat_cell(rate.rate, text.percent(rate.rate), counts, text.percent_range(rate.interval))


def _cell(report: Report, summary: Summary, score: str) -> str:
    if not summary.n:
        return text.NONE
    rate = summary.success
    success = text.NONE if rate.rate is None else f"{text.percent(rate.rate)} ({rate.successes}/{rate.n})"
    own = {"success": success, "score": score}
    return ", ".join(own[measure] for measure in report.measures)


class Intervals(Section):
    """Interval plots of success rate and score."""

    key, title, place = "intervals", "Intervals", 40

    def html(self, report: Report, data: Any) -> str:
        if not report.scored:
            return ""
        how = {"success": "Wilson for the rate", "score": "bootstrap within tasks for the score"}
        words = (
            f"Dot: estimate over all tasks. Bar: {text.percent(report.context.level)} interval "
            f"({', '.join(how[measure] for measure in report.measures)})."
        )
        if report.defines_success:
            words += " Dashed: where the rate could lie, had the unscored trials been scored."
        drawn = {"success": _success_plot, "score": _score_plot}
        plots = "".join(drawn[measure](report) for measure in report.measures)
        return f'{lead(words)}<div class="pair">{plots}</div>'


def _success_plot(report: Report) -> str:
    axis, rates = svg.unit_axis(), [(agent.agent, agent.overall.success) for agent in report.agents]
    words = {name: own["success"][0] for name, own in ranking_words(report).items()}
    rows = [(name, svg.interval_row(axis, r.rate, r.interval, r.bounds), words[name]) for name, r in rates]
    return forest("Success rate", rows, svg.axis_row(axis, "success rate", text.percent))


def _score_plot(report: Report) -> str:
    scores = [(agent.agent, agent.overall.score) for agent in report.agents]
    axis = svg.axis_for([point for _, s in scores if s.mean is not None for point in (s.mean, *(s.interval or ()))])
    words = {name: own["score"][0] for name, own in ranking_words(report).items()}
    rows = [(name, svg.interval_row(axis, s.mean, s.interval), words[name]) for name, s in scores]
    unit = "" if report.scoring.unit == "1" else f" ({report.scoring.unit})"
    return forest(f"Score{unit}", rows, svg.axis_row(axis, f"mean score{unit}"))


class Components(Section):
    """Mean of every component by agent, as numbers and bars."""

    key, title, place = "components", "What the score is made of", 140

    def html(self, report: Report, data: Any) -> str:
        names = list(dict.fromkeys(name for agent in report.agents for name in agent.overall.components))
        counts = {name: sum(c.n for a in report.agents if (c := a.overall.components.get(name))) for name in names}
        shown = [name for name in names if counts[name]]
        if not shown or "score" not in report.measures:
            return ""
        absent = [name for name in names if name not in shown]
        words = "Mean of each component over the trials that have it."
        if absent:
            words += f" Not available in this run, and left out: {', '.join(absent)}."
        header = ["Agent", *(_component_title(report, name) for name in shown)]
        rows = [
            [esc(agent.agent), *(_component(agent.overall.components.get(name)) for name in shown)]
            for agent in report.agents
        ]
        return lead(words) + table("Score components by agent", header, rows, "components")


def _component_title(report: Report, name: str) -> str:
    weight = report.scoring.settings["options"].get(f"w_{name}")
    if weight is None or len(report.scoring.components) < 2:
        return esc(name)
    return f"{esc(name)} {small(f'weight {weight:g}')}"


def _component(found: MeanEstimate | None) -> str:
    if found is None or found.mean is None:
        return NONE
    drawn = svg.bar(found.mean, found.interval) if 0 <= found.mean <= 1 else ""
    return estimate(found.mean, found.interval, found.n) + drawn


class Metrics(Section):
    """Every metric that has a value, by agent."""

    key, title, place = "metrics", "Metrics", 160

    def html(self, report: Report, data: Any) -> str:
        if not report.metrics:
            return ""
        words = (
            "Over scored trials of all tasks, with Student intervals for means; n counts the trials that have a value."
        )
        header = ["Agent", *(_metric_title(info) for info in report.metrics)]
        own = [[agent.overall.metric(info.name) for info in report.metrics] for agent in report.agents]
        cells = [[estimate(m.value, m.interval, m.n) for m in row] for row in own]
        rows = [[esc(agent.agent), *row] for agent, row in zip(report.agents, cells, strict=True)]
        return lead(words) + table("Metrics by agent", header, rows, "metrics")


def _metric_title(info: MetricInfo) -> str:
    unit = "" if info.unit == "1" else info.unit
    words = ", ".join(word for word in (unit, info.reducer, BETTER[info.direction]) if word)
    return f'<span title="{esc(info.doc)}">{esc(info.name)}</span> {small(words)}'
