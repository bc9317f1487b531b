"""`goals.html`: one file, no network, no script."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.report import text
from proctor.report.draw import svg
from proctor.report.draw.markup import NONE, definitions, finding_list, forest, lead, small, table
from proctor.report.draw.page import Block, Page, asset, render
from proctor.report.draw.svg import esc
from proctor.suites.goals.report import charts
from proctor.suites.goals.report.findings import extremes, findings, number_words, signed, verdict
from proctor.suites.goals.report.model import DIMENSIONS, REFERENCES, Dimension, GoalsReport, Neighbour, Rate

MOST_EXTREMES, MOST_PICTURED, MOST_TASKS = 3, 16, 40
TRUTH = "ground-truth visual goal"
KEYS = ("n_trials", "n_success", "n_windows")


def to_html(report: GoalsReport) -> str:
    """The whole page. Everything that comes from a config or a result is escaped."""
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
        ("Tasks", f"{len(report.tasks):,}"),
        ("Success trials", f"{sum(own['n_success'] for own in report.visuals['tasks'].values()):,}"),
        ("Draws per text", esc(report.settings["draws"])),
    ]
    footer = f"Generated {esc(report.generated_at)} by Proctor. The same numbers for programs are in goals.json."
    styles = (
        asset("proctor.report", "comparison.css"),
        asset("proctor.suites.goals.report", "goals.css"),
        charts.picture_rules(report.pictures),
    )
    return render(Page("Goal evaluation", report.name, verdict(report), facts, blocks, footer, styles))


def _priors(report: GoalsReport) -> str:
    words = (
        f"Small numbers are {text.percent(report.level)} intervals and n. The words are reference bands: where to look "
        "first. Not available never counts as 0; hover for the reason."
    )
    header = ["Prior", *map(esc, DIMENSIONS.values())]
    flags = {True: ' <span class="flag">degenerate</span>', False: "", None: ""}
    rows = [
        [esc(prior.name) + flags[prior.degenerate], *(_cell(prior.dimensions[name]) for name in DIMENSIONS)]
        for prior in report.ranked()
    ]
    main = table("Dimensions of every prior, by accuracy", header, rows, "goal-table")
    cross = [[esc(p.name), *(_cell(p.references[name]) for name in REFERENCES)] for p in report.ranked()]
    caption = "Cross-space references: they put two spaces side by side, and decide nothing"
    return lead(words) + main + table(caption, ["Prior", *map(esc, REFERENCES.values())], cross, "goal-table")


def _cell(own: Dimension) -> str:
    reading = own.overall
    if reading.value is None:
        why = (reading.reason or "").split(";")[0]
        short = small(why if len(why) <= 48 else why[:46] + "…")
        return f'<td title="{esc(reading.reason)}"><span class="none">not available</span>{short}</td>'
    points = own.name == "quality_gap"
    value, _, ends = number_words(reading, points).partition(" (")
    why = "" if reading.interval else f' title="{esc(reading.no_interval or "")}"'
    span = ends.rstrip(")") or "no interval"
    band = "" if own.band is None else f'<span class="band {own.band.replace(" ", "-")}">{esc(own.band)}</span>'
    return f"<td{why}>{esc(value)}{band}{small(span)}{small(f'n {reading.n:,} {own.counts}')}</td>"


def _tasks(report: GoalsReport) -> str:
    """Accuracy and retrieval of every prior on every task."""
    shown = report.tasks[:MOST_TASKS]
    header = ["Task", *(esc(prior.name) for prior in report.priors)]
    drawn = ""
    for name in ("accuracy", "retrieval", "robustness"):
        rows = [[esc(task), *(_by_task(prior.dimensions[name], task) for prior in report.priors)] for task in shown]
        more = "" if len(shown) == len(report.tasks) else f", the first {text.count(len(shown), 'task')}"
        drawn += table(f"{DIMENSIONS[name]} by task{more}", header, rows, "goal-table")
    return drawn


def _by_task(own: Dimension, task: str) -> str:
    reading = own.by_task.get(task)
    if reading is None or reading.value is None:
        return f'<td title="{esc("" if reading is None else reading.reason)}">{NONE}</td>'
    value, _, ends = number_words(reading).partition(" (")
    return f"<td>{esc(value)} {small(ends.rstrip(')') or f'n {reading.n}')}</td>"


def _extremes(report: GoalsReport) -> str:
    rows = []
    for prior in report.ranked():
        best, worst = extremes(prior, MOST_EXTREMES)
        if best or worst:
            rows.append([esc(prior.name), _listed(best), _listed(worst)])
    return table("By accuracy", ["Prior", "Best", "Worst"], rows, "plain") if rows else ""


def _listed(tasks: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{esc(task)} {small(signed(value))}" for task, value in tasks) or NONE


def _distributions(report: GoalsReport) -> str:
    drawn = "".join(charts.distribution(prior) for prior in report.ranked()[: charts.MOST_MAPS])
    if not drawn:
        return ""
    words = (
        "Cosines of goals with success visuals, as shares. A prior that imagines the right picture has its own task's "
        "to the right of the others'; two lines on top of each other mean that its goals say nothing of the task."
    )
    return f'{lead(words)}{charts.distribution_legend()}<div class="pair">{drawn}</div>'


def _ablation(report: GoalsReport) -> str:
    if not report.visual_rates:
        return ""
    axis = svg.unit_axis()
    named = [(TRUTH, report.visual_rates[""]), *((prior.name, prior.rates[""]) for prior in report.ranked())]
    rows = [(n, svg.interval_row(axis, rate.value, rate.interval), text.percent(rate.value)) for n, rate in named]
    title = "Success of the policy, by where its goal comes from"
    words = (
        "The same policy on the same seeds; only the goal differs. The gap is success with the visual goal minus "
        "success with the prior's, of pairs of trials."
    )
    priors = report.ranked()
    header = ["Task", TRUTH, *(esc(prior.name) for prior in priors)]
    gaps = ["Gap over all tasks, in points", NONE, *(_gap(prior.dimensions["quality_gap"]) for prior in priors)]
    columns = [report.visual_rates, *(prior.rates for prior in priors)]
    cells = [[esc(task), *(_rate_cell(rates.get(task)) for rates in columns)] for task in report.tasks[:MOST_TASKS]]
    return (
        lead(words)
        + forest(title, rows, svg.axis_row(axis, text.percent))
        + table("Gap, and success by task", header, [gaps, *cells], "goal-table")
    )


def _gap(own: Dimension) -> str:
    if own.overall.value is None:
        return f'<td title="{esc(own.overall.reason)}"><span class="none">not available</span></td>'
    value, _, ends = number_words(own.overall, points=True).partition(" (")
    return f"<td>{esc(value.removesuffix(' points'))} {small(ends.rstrip(')') + f', n {own.overall.n:,}')}</td>"


def _rate_cell(rate: Rate | None) -> str:
    if rate is None or rate.value is None:
        return f"<td>{NONE}</td>"
    return f"<td>{svg.bar(rate.value, rate.interval)}{text.percent(rate.value)} {small(f'{rate.won} of {rate.n}')}</td>"


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
    return f'{lead(words)}{charts.map_legend(report.tasks)}<div class="goal-maps">{drawn}</div>'


def _nearest(report: GoalsReport) -> str:
    if not report.pictures:
        return ""
    words = "The success visuals nearest to each task's goal, nearest first. A frame marks pictures of another task."
    drawn = ""
    for number, prior in enumerate(report.ranked()):
        nearest = list(prior.nearest.items())[:MOST_PICTURED]
        rows = [[esc(task), *(_picture(n, task) for n in near)] for task, near in nearest]
        if not rows:
            continue
        widest = max(map(len, rows)) - 1
        made = table(f"{prior.name}: nearest pictures", ["Task", *(str(i + 1) for i in range(widest))], rows, "nearest")
        drawn += made if number < 2 else f"<details><summary>{esc(prior.name)}</summary>{made}</details>"
    return lead(words) + drawn


def _picture(near: Neighbour, task: str) -> str:
    kind = "picture" if near.task == task else "picture other"
    label = esc(f"{near.task}, cosine {near.cosine:.3f}")
    shown = f'<div class="{kind} pic{near.picture}" role="img" aria-label="{label}" title="{label}"></div>'
    return f"{shown if near.picture >= 0 else ''}{small(f'{near.task} {near.cosine:.2f}')}"


def _how(report: GoalsReport) -> str:
    visuals, settings = report.visuals, report.settings
    entries = {
        "Space of goals and pictures": str(visuals["space"] or visuals.get("reason")),
        "Encoder": str(visuals.get("encoder", {}).get("target", text.NONE)),
        "Encoder's hash": str(visuals.get("encoder", {}).get("hash", text.NONE)),
        "Accuracy": f"{settings['accuracy']}, a success embedding is of a {settings['unit']}",
        "Retrieval": f"k = {settings['k']}",
    }
    rows = [
        [esc(task), esc(words[0]), f"{len(words)}", *(f"{visuals['tasks'].get(task, {}).get(k, 0):,}" for k in KEYS)]
        for task, words in report.instructions.items()
    ]
    header = ["Task", "Instruction", "Wordings", "Trials", "Successes", "Pictures"]
    return definitions(entries) + table("Tasks and their success visuals", header, rows, "plain")
