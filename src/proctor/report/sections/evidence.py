"""The evidence: every trial, those to look at first, how trials ended, and how the run was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from proctor.report import text
from proctor.report.build.sample import AGENTS, EACH
from proctor.report.draw import pipes, svg
from proctor.report.draw.markup import NONE, definitions, lead, number, small, table
from proctor.report.draw.svg import esc
from proctor.report.formats.files import plain
from proctor.report.model import AgentReport, Cell, Extreme, Mark, Report
from proctor.report.section import Section
from proctor.report.sections import timing
from proctor.report.sections.films import leads_to
from proctor_host.episode import Outcome

MAX_CAUSES = 10


class Strips(Section):
    """One mark per trial, in the order of the seeds, so that a column is one seed."""

    key, title, place = "trials", "Every trial", 120

    def html(self, report: Report, data: Any) -> str:
        if not report.finished:
            return ""
        blocks = []
        for position, task in enumerate(report.tasks):
            rows = "".join(_strip(report, agent.cells[position]) for agent in report.agents)
            blocks.append(f'<div class="strips"><h3>{esc(task.task)}</h3>{rows}</div>')
        words = (
            "One mark per trial in the order of seeds, so agents can be compared mark by mark. A mark names its "
            "seed, steps and score, and links to its recording where there is one."
        )
        items = "".join(f"<li>{svg.shape(name)} {_words(name)}</li>" for name in _outcomes_seen(report))
        if report.n_filmed:
            items += f'<li><span class="mark filmed">{svg.shape("done")}</span> underlined: with a video</li>'
        legend = f'<ul class="legend" aria-label="Outcomes">{items}</ul>'
        return f'{lead(words)}{legend}<div class="pair">{"".join(blocks)}</div>'


def _words(outcome: str) -> str:
    return esc(outcome.replace("_", " "))


def _outcomes_seen(report: Report) -> list[str]:
    seen = {name for agent in report.agents for name in agent.overall.outcomes}
    return [outcome.value for outcome in Outcome if outcome.value in seen]


def _strip(report: Report, cell: Cell) -> str:
    marks = "".join(_mark(mark, leads_to(report, mark)) for mark in cell.marks) or NONE
    hidden = cell.summary.n_trials - len(cell.marks)
    rest = small(f"and {hidden:,} more") if hidden > 0 else ""
    counts = ", ".join(f"{n} {_words(name)}" for name, n in cell.summary.outcomes.items()) or "no trials"
    return (
        f'<div class="strip" role="group" aria-label="{esc(cell.agent)} on {esc(cell.task)}: {counts}">'
        f'<span class="name">{esc(cell.agent)}</span><span class="marks">{marks}{rest}</span></div>\n'
    )


def _mark(mark: Mark, target: str | None) -> str:
    score = "no score" if mark.score is None else f"score {text.number(mark.score)}"
    steps = "" if mark.steps is None else f", {text.count(mark.steps, 'step')}"
    film, kind = ("", "mark") if mark.video is None else (", with a video", "mark filmed")
    words = f"seed {mark.seed}: {_words(mark.outcome)}{steps}, {score}{film}"
    shape = svg.shape(mark.outcome)
    if target is None:
        return f'<span class="{kind}" title="{words}">{shape}</span>'
    return f'<a class="{kind}" href="{target}" title="{words}" aria-label="{words}">{shape}</a>'


class Extremes(Section):
    """Tables of the lowest scores and of the longest wall times."""

    key, title, place = "extremes", "Worst and slowest trials", 130

    def html(self, report: Report, data: Any) -> str:
        if not report.extremes:
            return ""
        words = (
            f"Up to {EACH} trials of each of the first {AGENTS} agents. Start here to see what goes wrong; a seed "
            "leads to the trial's recording."
        )
        return lead(words) + f'<div class="pair">{_extremes(report, "worst")}{_extremes(report, "slowest")}</div>'


def _extremes(report: Report, kind: str) -> str:
    caption, last = ("Lowest scores", "Score") if kind == "worst" else ("Longest wall times", "Time")
    shown = [trial for trial in report.extremes if trial.kind == kind]
    scores = text.ranked_means([trial.score for trial in shown], [None] * len(shown))
    rows = [
        [
            *(esc(trial.agent), esc(trial.task), _seed(report, trial), _words(trial.outcome)),
            NONE if trial.steps is None else f"{trial.steps:,}",
            score if kind == "worst" else f"{text.number(trial.wall_time_s, 2)} s",
        ]
        for trial, score in zip(shown, scores, strict=True)
    ]
    return table(caption, ["Agent", "Task", "Seed", "Outcome", "Steps", last], rows, "extremes") if rows else ""


def _seed(report: Report, trial: Extreme) -> str:
    """The seed, leading to the trial's recording, and its video."""
    what, film = f"{trial.agent} on {trial.task}, seed {trial.seed}", leads_to(report, trial)
    npz = None if trial.npz is None else svg.beside(trial.npz)
    seed = str(trial.seed) if npz is None else _link(npz, f"recording of {what}", str(trial.seed))
    return seed if trial.video is None else f"{seed} {_link(film or '', f'video of {what}', 'video')}"


def _link(address: str, label: str, words: str) -> str:
    return f'<a href="{address}" aria-label="{esc(label)}">{words}</a>'


class Endings(Section):
    """Counts of every outcome, then the messages of what broke."""

    key, title, place = "failures", "How trials ended", 150

    def html(self, report: Report, data: Any) -> str:
        seen = _outcomes_seen(report)
        if not seen:
            return ""
        titles = [f"{svg.shape(name)} {_words(name)}" for name in seen]
        header = ["Agent", "Shares", *titles, "Clipped steps", "Retried"]
        words = (
            "Invalid action and policy error are the policy's own and count as failures; env error, timeout and "
            "worker lost are faults of the infrastructure and enter no rate."
        )
        rows = [_ending_row(agent, seen) for agent in report.agents]
        return lead(words) + table("Trials by outcome", header, rows, "endings") + _causes(report)

    def markdown(self, report: Report, data: Any) -> str:
        rows = [
            [*map(pipes.escape, (c.agent, c.outcome.replace("_", " "), c.message, str(c.count), c.example))]
            for c in report.causes[:MAX_CAUSES]
        ]
        if not rows:
            return ""
        shown = pipes.table(["agent", "outcome", "message", "trials", "for example"], rows, left=3)
        return "## What broke\n\n" + shown + pipes.more(len(report.causes) - MAX_CAUSES, "cause")


def _ending_row(agent: AgentReport, seen: list[str]) -> list[str]:
    summary = agent.overall
    counts = {name: summary.outcomes[name] for name in seen if name in summary.outcomes}
    return [
        esc(agent.agent),
        f'<td class="shares">{svg.stacked(counts) if counts else NONE}</td>',
        *(number(counts.get(name, 0)) for name in seen),
        number(summary.clipped_steps),
        number(summary.retried_trials),
    ]


def _causes(report: Report) -> str:
    if not report.causes:
        return ""
    rows = [
        [
            esc(c.agent),
            f"{svg.shape(c.outcome)} {_words(c.outcome)}",
            _code(c.message),
            f"{c.count:,}",
            _code(c.example),
        ]
        for c in report.causes
    ]
    return table("What broke, by message", ["Agent", "Outcome", "Message", "Trials", "For example"], rows, "causes")


class How(Section):
    """Trials, scoring, intervals, tasks, agents, environment, and the whole config."""

    key, title, place = "how", "How it was run", 170

    def html(self, report: Report, data: Any) -> str:
        known = {str(key): _inline(value) for key, value in report.context.environment.items()}
        environment = {key: value for key, value in known.items() if value}
        config = json.dumps(plain(report.config), indent=2, ensure_ascii=False)
        return (
            definitions(_facts(report))
            + _tasks(report)
            + _agents(report)
            + (f"<h3>Environment</h3>{definitions(environment)}" if environment else "")
            + '<details class="resolved"><summary>Resolved config</summary>'
            + f'<pre tabindex="0">{esc(config)}</pre></details>\n'
        )

    def markdown(self, report: Report, data: Any) -> str:
        context, scoring = report.context, report.scoring
        lines = [
            f"{report.finished:,} of {text.count(report.planned, 'planned trial')} finished, {report.scored:,} "
            f"scored; {text.trials_each(report.config)} per agent and task, {text.seeds_each(report.config)}.",
            f"Scoring {pipes.escape(scoring.name)}, version {pipes.escape(scoring.version)}.",
            "Success intervals: Wilson. Score intervals: bootstrap within tasks "
            f"({context.n_resamples:,} resamples). Unscored trials enter no rate.",
        ]
        if context.duration_s is not None:
            lines.append(f"Took {text.duration(context.duration_s)}.")
        if words := timing.time_words(context.spent):
            lines.append(f"Time per slot: {words}.")
        batches = "; ".join(f"{pipes.escape(agent)} {words}" for agent, words in timing.batch_words(context.batch))
        if batches:
            lines.append(f"Mean batch: {batches}.")
        return "## How it was run\n\n" + " ".join(lines)


def _facts(report: Report) -> dict[str, str]:
    context, scoring = report.context, report.scoring
    floor = "none" if scoring.floor is None else f"{scoring.floor:g}"
    return {
        "Trials": f"{text.trials_each(report.config)} per agent and task, {text.seeds_each(report.config)}; "
        f"{report.finished:,} of {report.planned:,} finished, {report.scored:,} scored",
        "Scoring": f"{scoring.name}, version {scoring.version}; a trial that the policy broke scores {floor}",
        "Intervals": f"{text.percent(context.level)}; rates: Wilson; scores: BCa bootstrap within "
        f"tasks, {context.n_resamples:,} resamples; other means: Student",
        "Duration": text.duration(context.duration_s),
        **({"Time per slot": words} if (words := timing.time_words(context.spent)) else {}),
        **{f"Mean batch: {agent}": words for agent, words in timing.batch_words(context.batch)},
    }


def _tasks(report: Report) -> str:
    rows = [
        [
            esc(task.task),
            esc(task.suite),
            _words(task.success_rule) if task.defines_success else "not defined",
            NONE if task.max_steps is None else f"{task.max_steps:,}",
            f"{task.n:,} of {task.n_trials:,}",
        ]
        for task in report.tasks
    ]
    return table("Tasks", ["Task", "Suite", "Success counts", "Step limit", "Trials scored"], rows, "plain")


def _agents(report: Report) -> str:
    rows = [
        [esc(a.agent), _code(a.policy), NONE if a.checkpoint is None else _code(a.checkpoint)] for a in report.agents
    ]
    return table("Agents", ["Agent", "Policy", "Checkpoint"], rows, "plain")


def _code(words: str) -> str:
    return f"<code>{esc(words)}</code>"


def _inline(value: Any) -> str:
    """A value in one line; what is not known (no Git checkout, no weights to hash) is left out."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shown}" for key, item in value.items() if (shown := _inline(item)))
    if isinstance(value, list | tuple):
        return ", ".join(_inline(item) for item in value)
    return text.number(value) if isinstance(value, float) else str(value)
