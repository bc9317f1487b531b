"""The frame of an HTML page: one file, no network, no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from proctor.report.draw.palette import heat_rules
from proctor.report.draw.svg import esc, shape_definitions

Section = tuple[str, str, str]
"""Anchor, title, HTML; without HTML it is left out."""


@dataclass(frozen=True)
class Page:
    """Everything but `sections`, `facts`, `footer` and `styles` is plain text."""

    overline: str
    name: str
    verdict: str
    facts: Sequence[tuple[str, str]]
    """Term and HTML."""
    sections: Sequence[Section]
    footer: str
    styles: Sequence[str] = ()
    """Further CSS: names of assets, or rules."""


def render(page: Page) -> str:
    shown = [section for section in page.sections if section[2]]
    links = "".join(f'<li><a href="#{key}">{esc(title)}</a></li>' for key, title, _ in shown)
    parts = "\n".join(_section(*section) for section in shown)
    terms = "".join(f"<div><dt>{esc(name)}</dt><dd>{value}</dd></div>" for name, value in page.facts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{esc(page.name)}: {esc(page.overline.lower())}</title>
<style>
{_style(page)}
</style>
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
{shape_definitions()}
<header>
<p class="overline">{esc(page.overline)}</p>
<h1>{esc(page.name)}</h1>
<p class="verdict">{esc(page.verdict)}</p>
<dl class="facts">{terms}</dl>
</header>
<nav aria-label="Sections"><ul>{links}</ul></nav>
<main id="main">
{parts}
</main>
<footer><p>{page.footer}</p></footer>
</body>
</html>
"""


def _section(key: str, title: str, body: str) -> str:
    heading = f'<h2 id="{key}-title">{esc(title)}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-title">{heading}\n{body}</section>'


def _style(page: Page) -> str:
    further = [_asset(style) if style.endswith(".css") else style for style in page.styles]
    return "\n".join([_asset("report.css"), heat_rules(), *further])


def _asset(name: str) -> str:
    return resources.files("proctor.report").joinpath(f"assets/{name}").read_text(encoding="utf-8").strip()
