"""The frame of an HTML page: one file, no network, no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

from proctor.report.draw.palette import heat_rules
from proctor.report.draw.svg import esc, shape_definitions


class Block(NamedTuple):
    """A part of a page; one without a body is left out."""

    anchor: str
    title: str
    body: str
    """HTML."""


@dataclass(frozen=True)
class Page:
    """Everything but `blocks`, `facts`, `footer` and `styles` is plain text."""

    overline: str
    name: str
    verdict: str
    facts: Sequence[tuple[str, str]]
    """Term and HTML."""
    blocks: Sequence[Block]
    footer: str
    styles: Sequence[str] = ()
    """Further CSS."""


def render(page: Page) -> str:
    shown = [block for block in page.blocks if block.body]
    links = "".join(f'<li><a href="#{esc(block.anchor)}">{esc(block.title)}</a></li>' for block in shown)
    parts = "\n".join(map(_section, shown))
    styles = "\n".join([asset("proctor.report", "report.css"), heat_rules(), *page.styles])
    terms = "".join(f"<div><dt>{esc(name)}</dt><dd>{value}</dd></div>" for name, value in page.facts)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{esc(page.name)}: {esc(page.overline.lower())}</title>
<style>
{styles}
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


def _section(block: Block) -> str:
    key = esc(block.anchor)
    heading = f'<h2 id="{key}-title">{esc(block.title)}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-title">{heading}\n{block.body}</section>'


def asset(package: str, name: str) -> str:
    """The text of a file in the folder `assets` of a package."""
    return resources.files(package).joinpath(f"assets/{name}").read_text(encoding="utf-8").strip()
