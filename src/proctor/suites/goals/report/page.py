"""`goals.html`: one file, no network, no script."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.charts import legend
from proctor.report.draw.markup import NONE, definitions, estimate, finding_list, forest, lead, small, table
from proctor.report.draw.page import Block, Page, asset, render
from proctor.report.draw.svg import esc
from proctor.report.model import RateEstimate
from proctor.suites.goals.report import charts
from proctor.suites.goals.report.findings import chance_words, extremes, findings, number_words, verdict
from proctor.suites.goals.report.model import (
    DIMENSIONS,
    REFERENCES,
    Dimension,
    GoalsReport,
    Neighbour,
    PriorReport,
    absent,
)

MOST_EXTREMES, MOST_PICTURED, MOST_TASKS = 3, 16, 40
TRUTH = "ground-truth visual goal"
KEYS = ("n_trials", "n_success", "n_windows")


def to_html(report: GoalsReport) -> str:
    """The whole page. Everything that comes from a config or a result is escaped."""
    records = report.records
    blocks = [
        Block("priors", "Priors", _priors(report)),
        Block("findings", "Findings", finding_list(findings(report))),
        Block("accuracy", "Goals and pictures of success", _distributions(report)),
        Block("ablation", "What the prior costs", _ablation(report)),
        Block("tasks", "Task by task", _tasks(report)),
        Block("extremes", "Best and worst tasks", _extremes(report)),
        Block("similarity", "Are goals of different tasks different?", _similarity(report)),
        Block("map", "Map of goals and success visuals", _maps(report)),
        Block("nearest", "Nearest pictures", _nearest(report)),
        Block("how", "How it was done", _how(report)),
    ]
    facts = [
        ("Priors", f"{len(report.priors):,}"),
        ("Tasks", f"{len(records.tasks):,}"),
        ("Success trials", f"{sum(own['n_success'] for own in records.counts.values()):,}"),
        ("Draws per text", f"{records.goals.draws}"),
    ]
    footer = f"Generated {esc(report.generated_at)} by Proctor. The same numbers for programs are in goals.json."
    styles = (
        asset("proctor.report", "comparison.css"),
        asset("proctor.suites.goals.report", "goals.css"),
        charts.picture_rules(report.pictures),
    )
    return render(Page("Goal evaluation", records.name, verdict(report), facts, blocks, footer, styles))


def _priors(report: GoalsReport) -> str:
    words = (
        f"Small numbers are {text.percent(report.records.goals.level)} intervals, n, and chance: what goals get that "
        "have nothing to do with the task. The words are reference bands: where to look first. Not available never "
        "counts as 0; hover for the reason."
    )
    header = ["Prior", *map(esc, DIMENSIONS.values())]
    rows = [[_named(prior), *(_cell(prior.dimensions[name]) for name in DIMENSIONS)] for prior in report.ranked()]
    main = table("Dimensions of every prior, by accuracy", header, rows, "goal-table")
    cross = [[esc(p.name), *(_cell(p.dimensions[name]) for name in REFERENCES)] for p in report.ranked()]
    caption = "Cross-space references: they put two spaces side by side, and decide nothing"
    return lead(words) + main + table(caption, ["Prior", *map(esc, REFERENCES.values())], cross, "goal-table")


def _named(prior: PriorReport) -> str:
    return esc(prior.name) + (f' <span class="flag">{esc(prior.flag)}</span>' if prior.flag else "")


def _cell(own: Dimension) -> str:
    reading = own.overall
    if reading.value is None:
        why = (reading.reason or "").split(";")[0]
        short = small(why if len(why) <= 48 else why[:46] + "…")
        return f'<td title="{esc(reading.reason)}"><span class="none">not available</span>{short}</td>'
    value, _, ends = number_words(own).partition(" (")
    why = "" if reading.interval else f' title="{esc(reading.no_interval or "")}"'
    span = ends.rstrip(")") or "no interval"
    band = "" if own.band is None else f'<span class="band {own.band.replace(" ", "-")}">{esc(own.band)}</span>'
    chance = small(chance_words(reading)) if reading.chance is not None else ""
    return f"<td{why}>{esc(value)}{band}{small(span)}{chance}{small(f'n {reading.n:,} {own.counts}')}</td>"


def _tasks(report: GoalsReport) -> str:
    """Accuracy, retrieval and robustness of every prior on every task."""
    tasks = report.records.tasks
    shown = tasks[:MOST_TASKS]
    header = ["Task", *(esc(prior.name) for prior in report.priors)]
    drawn = ""
    for name in ("accuracy", "retrieval", "consistency", "robustness"):
        rows = [[esc(task), *(_by_task(prior.dimensions[name], task) for prior in report.priors)] for task in shown]
        more = "" if len(shown) == len(tasks) else f", the first {text.count(len(shown), 'task')}"
        drawn += table(f"{DIMENSIONS[name]} by task{more}", header, rows, "goal-table")
    return drawn


def _by_task(own: Dimension, task: str) -> str:
    reading = own.by_task.get(task, absent(""))
    why = reading.reason or reading.no_interval or ""
    chance = small(chance_words(reading)) if reading.chance is not None else ""
    return f'<td title="{esc(why)}">{estimate(reading.value, reading.interval, reading.n)}{chance}</td>'


def _extremes(report: GoalsReport) -> str:
    found = {prior.name: extremes(prior, MOST_EXTREMES) for prior in report.ranked()}
    rows = [[esc(name), *map(_listed, tasks)] for name, tasks in found.items() if any(tasks)]
    return table("By accuracy", ["Prior", "Best", "Worst"], rows, "plain") if rows else ""


def _listed(tasks: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{esc(task)} {small(text.number(value))}" for task, value in tasks) or NONE


def _distributions(report: GoalsReport) -> str:
    drawn = "".join(charts.distribution(prior) for prior in report.ranked()[: charts.MOST_MAPS])
    if not drawn:
        return ""
    words = (
        "Cosines of goals with success visuals, as shares. A prior that imagines the right picture has its own task's "
        "to the right of the others'; two lines on top of each other mean that its goals say nothing of the task."
    )
    lines = legend(["pictures of the own task", "pictures of other tasks"])
    return f'{lead(words)}{lines}<div class="pair">{drawn}</div>'


def _ablation(report: GoalsReport) -> str:
    if not report.visual_rates:
        return ""
    axis = svg.unit_axis()
    named = [(TRUTH, report.visual_rates[""]), *((prior.name, prior.rates[""]) for prior in report.ranked())]
    rows = [(n, svg.interval_row(axis, rate.rate, rate.interval), text.percent(rate.rate)) for n, rate in named]
    title = "Success of the policy, by where its goal comes from"
    words = (
        "The same policy on the same seeds; only the goal differs. The gap is success with the visual goal minus "
        "success with the prior's, of pairs of trials."
    )
    priors = report.ranked()
    header = ["Task", TRUTH, *(esc(prior.name) for prior in priors)]
    gaps = ["Gap over all tasks", NONE, *(_cell(prior.dimensions["quality_gap"]) for prior in priors)]
    columns = [report.visual_rates, *(prior.rates for prior in priors)]
    cells = [
        [esc(task), *(_rate_cell(rates.get(task)) for rates in columns)] for task in report.records.tasks[:MOST_TASKS]
    ]
    return (
        lead(words)
        + forest(title, rows, svg.axis_row(axis, "success rate", text.percent))
        + table("Gap, and success by task", header, [gaps, *cells], "goal-table")
    )


def _rate_cell(rate: RateEstimate | None) -> str:
    if rate is None or rate.rate is None:
        return NONE
    bar, counted = svg.bar(rate.rate, rate.interval), small(f"{rate.successes} of {rate.n}")
    return f"{bar}{text.percent(rate.rate)} {counted}"


def _similarity(report: GoalsReport) -> str:
    maps = [(prior.name, drawn) for prior in report.ranked() if (drawn := charts.similarity_map(prior))]
    if not maps:
        return ""
    rest = "".join(f"<details><summary>{esc(name)}</summary>{drawn}</details>" for name, drawn in maps[1:])
    words = "The diagonal is a task with itself; high numbers beside it are tasks that the prior does not tell apart."
    return lead(words) + maps[0][1] + rest


def _maps(report: GoalsReport) -> str:
    if report.map is None:
        return ""
    drawn = "".join(charts.goal_map(report, prior) for prior in report.ranked()[: charts.MOST_MAPS])
    first, second = report.map.explained
    words = (
        "Directions of success visuals (small) and of goals (large, numbered) in the plane in which they are spread "
        f"most (PCA; it holds {text.percent(first)} and {text.percent(second)} of the spread). All priors are on one "
        "map. A goal belongs among the pictures of its colour."
    )
    return f'{lead(words)}{charts.map_legend(report.records.tasks)}<div class="goal-maps">{drawn}</div>'


def _nearest(report: GoalsReport) -> str:
    if not report.pictures:
        return ""
    words = "The success visuals nearest to each task's goal, nearest first. A frame marks pictures of another task."
    drawn = ""
    for number, prior in enumerate(report.ranked()):
        nearest = list(prior.nearest.items())[:MOST_PICTURED]
        rows = [[esc(task), *(_picture(n, task, n.row in report.pictures) for n in near)] for task, near in nearest]
        if not rows:
            continue
        widest = max(map(len, rows)) - 1
        made = table(f"{prior.name}: nearest pictures", ["Task", *(str(i + 1) for i in range(widest))], rows, "nearest")
        drawn += made if number < 2 else f"<details><summary>{esc(prior.name)}</summary>{made}</details>"
    return lead(words) + drawn


def _picture(near: Neighbour, task: str, known: bool) -> str:
    kind = "picture" if near.task == task else "picture other"
    label = esc(f"{near.task}, cosine {near.cosine:.3f}")
    shown = f'<div class="{kind} pic{near.row}" role="img" aria-label="{label}" title="{label}"></div>'
    return f"{shown if known else ''}{small(f'{near.task} {near.cosine:.2f}')}"


def _how(report: GoalsReport) -> str:
    records, goals = report.records, report.records.goals
    visuals = records.visuals
    encoder = {} if visuals is None else visuals.encoder
    entries = {
        "Space of goals and pictures": records.no_visuals if visuals is None else visuals.space,
        "Encoder": str(encoder.get("target", text.NONE)),
        "Encoder's hash": str(encoder.get("hash", text.NONE)),
        "Accuracy": f"{goals.accuracy}, a success embedding is of a {goals.unit}",
        "Retrieval": f"k = {goals.k}",
    }
    counts = records.counts
    rows = [
        [esc(task), esc(own.text), f"{len(own.wordings)}", *(f"{counts.get(task, {}).get(k, 0):,}" for k in KEYS)]
        for task, own in records.instructions.items()
    ]
    header = ["Task", "Instruction", "Wordings", "Trials", "Successes", "Pictures"]
    return definitions(entries) + table("Tasks and their success visuals", header, rows, "plain")
