"""`report.html`: one file, no network, no script. The page; its sections are in `sections`, its drawings in
`svg`."""

from __future__ import annotations

from importlib import resources

from proctor.report import case_sections, evidence, sections, text, tracking, vessel
from proctor.report.model import Report
from proctor.report.palette import fill_rules, heat_rules
from proctor.report.svg import esc, shape_definitions
from proctor.report.vessel_drawing import scale_rules

SECTIONS = (
    ("ranking", "Ranking", sections.ranking),
    ("targets", "Targets", case_sections.targets),
    ("findings", "Findings", sections.findings),
    ("intervals", "Intervals", sections.intervals),
    ("tasks", "Agents by task", sections.heat_maps),
    ("tracking", "Motion tracking", tracking.tracking),
    ("vessels", "Path and wall force", vessel.vessels),
    ("cases", "Case by case", case_sections.cases),
    ("trials", "Every trial", evidence.strips),
    ("components", "What the score is made of", sections.components),
    ("failures", "How trials ended", evidence.endings),
    ("metrics", "Metrics", sections.metrics),
    ("how", "How it was run", evidence.how),
)


def to_html(report: Report) -> str:
    """The whole page. Everything that comes from a config or a result is escaped."""
    bodies = [(key, title, draw(report)) for key, title, draw in SECTIONS]
    shown = [(key, title, body) for key, title, body in bodies if body]
    links = "".join(f'<li><a href="#{key}">{esc(title)}</a></li>' for key, title, _ in shown)
    parts = "\n".join(_section(*section) for section in shown)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{esc(report.name)}: examination report</title>
<style>
{_style(report)}
</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
{shape_definitions()}
{_header(report)}
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main id="main">
{parts}
</main>
<footer><p>{esc(report.name)} · generated {esc(report.context.generated_at)} by Proctor.
Every number here can be recomputed from the run folder with <code>proctor score</code>.</p></footer>
</body>
</html>
"""


def _section(key: str, title: str, body: str) -> str:
    heading = f'<h2 id="{key}-title">{esc(title)}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-title">{heading}\n{body}</section>'


def _style(report: Report) -> str:
    """What every page needs, what only targets and cases do, and what only pictures of vessels do."""
    css = f"{_asset('report.css')}\n{heat_rules()}"
    css = f"{css}\n{_asset('tracking.css')}\n{fill_rules()}" if report.targets or report.cases else css
    return f"{css}\n{_asset('vessel.css')}\n{scale_rules()}" if report.passages else css


def _asset(name: str) -> str:
    return resources.files("proctor.report").joinpath(f"assets/{name}").read_text(encoding="utf-8").strip()


def _header(report: Report) -> str:
    facts = [
        ("Agents", f"{len(report.agents):,}"),
        ("Tasks", f"{len(report.tasks):,}"),
        ("Trials scored", f"{report.scored:,} of {report.planned:,}"),
        ("Scoring", report.scoring.name),
        ("Took", text.duration(report.context.duration_s)),
    ]
    terms = "".join(f"<div><dt>{esc(name)}</dt><dd>{esc(value)}</dd></div>" for name, value in facts)
    cautions = sum(finding.level == "caution" for finding in report.findings)
    if cautions:
        terms += f'<div><dt>Cautions</dt><dd><a href="#findings">{cautions}</a></dd></div>'
    return f"""<header>
<p class="overline">Examination report</p>
<h1>{esc(report.name)}</h1>
<p class="verdict">{esc(report.verdict)}</p>
<dl class="facts">{terms}</dl>
</header>"""
