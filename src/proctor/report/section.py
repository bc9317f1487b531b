"""What a section of a report is: one part of the page, of the Markdown file and of `report.json`.

A section is registered in the group `proctor.sections`, by Proctor, by a suite's `parts.py` or by another package, and
is in every report that it applies to. The least it has is a key, a title, a place and `html`; everything else does
nothing unless it is written. Sections are drawn of the report, and of what they read from the run folder themselves.
What a section raises costs that section alone: the page says which one failed and why, and the log has the traceback.
"""

from __future__ import annotations

import abc
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from proctor.errors import BREAKS
from proctor.registry import SECTIONS
from proctor.report.draw.page import asset

if TYPE_CHECKING:
    from proctor.config.models import AgentCfg, EvalConfig
    from proctor.report.model import Finding, Report

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Column:
    """A column that a section adds to a table, behind the column `after`. Its values are those of one of these: a
    `metric` (in tables of agents: reduced over an agent's trials), a `component` of the score, or a text that
    `of_agent` makes of the config."""

    name: str
    after: str
    metric: str | None = None
    component: str | None = None
    of_agent: Callable[[EvalConfig, AgentCfg], str | None] | None = None

    def __post_init__(self) -> None:
        if sum(source is not None for source in (self.metric, self.component, self.of_agent)) != 1:
            raise ValueError(f'the column "{self.name}" needs one of metric, component and of_agent')


@dataclass(frozen=True)
class CaseLayout:
    """How tables of cases look: cases come with the largest `order` first, `shown` are the metrics that have a column
    where they were recorded, and those in `shares` are shown as percentages."""

    order: str
    shown: tuple[str, ...]
    shares: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grid:
    """A table of texts for a terminal; columns called agent, method, pair, rater, task or tool hold names."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(abc.ABC):
    """One part of a report. A section holds no state: whatever it needs is in its arguments."""

    key: ClassVar[str]
    """The name that it is registered under, and its anchor in the page."""
    title: ClassVar[str]
    place: ClassVar[float]
    """Sections come in ascending order; those of Proctor stand at 10, 20, 30 and so on."""
    suites: ClassVar[tuple[str, ...] | None] = None
    """It is part of reports with a task of one of these suites; None: of every report."""
    signs: ClassVar[tuple[str, ...]] = ()
    """It is also part of reports whose trials have one of these metrics, whatever their suite is called."""
    columns: ClassVar[tuple[Column, ...]] = ()
    """What it adds to `summary.csv` and `trials.parquet`."""
    agent_columns: ClassVar[tuple[Column, ...]] = ()
    """What it adds to `report.csv` and to the agents of `report.json`."""
    case_layout: ClassVar[CaseLayout | None] = None
    """How the cases of its suites are shown; None: by score."""
    signal_units: ClassVar[Mapping[str, str]] = {}
    """Units of signals that its suites record, where their names do not say them; `{NAME}` stands for the text of the
    constant NAME of a record."""
    stylesheets: ClassVar[tuple[str, ...]] = ()
    """CSS files as PACKAGE/FILE, each in the folder `assets` of its package."""

    @abc.abstractmethod
    def html(self, report: Report, data: Any) -> str:
        """The body of the section as HTML; "" where there is nothing to show. Names come from configs and records of
        others: escape every one."""

    def read(self, folder: Path, report: Report) -> Any:
        """What the section needs from the run folder beyond the report. The other methods get it as `data`; it is None
        in a report that is built without a folder."""
        return None

    def markdown(self, report: Report, data: Any) -> str:
        """The section in `report.md`, with its heading; "" leaves it out."""
        return ""

    def terminal(self, report: Report, data: Any) -> Iterable[Grid | str]:
        """What a terminal shows of the section below the ranking: tables, and lines of text."""
        return ()

    def keys(self, report: Report, data: Any) -> Mapping[str, Any]:
        """Further keys of `report.json`, none of which the report has already."""
        return {}

    def findings(self, report: Report) -> Iterable[Finding]:
        """What a reader must know before using the numbers."""
        return ()

    def opening(self, report: Report) -> str:
        """A sentence that opens the verdict."""
        return ""

    def styles(self) -> str:
        """CSS that its HTML needs: its stylesheets, and what else it makes."""
        return "\n".join(asset(*sheet.split("/")) for sheet in self.stylesheets)

    def write(self, folder: Path, data: Any) -> None:  # noqa: B027 - optional to override
        """Write further files, such as pictures, into the run folder."""


@dataclass(frozen=True)
class Shown:
    """A section of one report, with the `data` that it read. `problem` says in one line why it could not be made."""

    section: Section
    data: Any = None
    problem: str | None = None

    def filled(self, folder: Path, report: Report, out: Path) -> Shown:
        """The section after it has read its data from the run's folder and written its files to `out`."""

        def work() -> Any:
            data = self.section.read(folder, report)
            self.section.write(out, data)
            return data

        data, problem = attempt(self.section, work)
        return replace(self, data=data, problem=problem)

    def made(self, make: Callable[[], T]) -> tuple[T | None, str | None]:
        """What `make` gives, or why it gave nothing."""
        return (None, self.problem) if self.problem else attempt(self.section, make)


def attempt(section: Section, make: Callable[[], T]) -> tuple[T | None, str | None]:
    """What `make` gives and None, or None and the first line of what it raised, which is logged."""
    try:
        return make(), None
    except BREAKS as error:
        log.exception('the report section "%s" failed', section.key)
        return None, next(iter(f"{type(error).__name__}: {error}".splitlines()))


def sections_of(suites: Collection[str], metrics: Collection[str]) -> tuple[list[Section], list[str]]:
    """The sections that apply to a run with tasks of these suites and trials with these metrics, in the order of the
    page; and a sentence for each that could not be loaded."""
    found, troubles = [], []
    for name in SECTIONS.names():
        try:
            section = SECTIONS.load(name)()
        except BREAKS as error:
            log.exception('the report section "%s" cannot be loaded', name)
            troubles.append(f'The report section "{name}" cannot be loaded: {error}.')
            continue
        if applies(section, suites, metrics):
            found.append(section)
    return sorted(found, key=lambda section: (section.place, section.key)), troubles


def applies(section: Section, suites: Collection[str], metrics: Collection[str]) -> bool:
    """Whether a section belongs in the report of a run with tasks of these suites and trials with these metrics."""
    if section.suites is None:
        return True
    return any(suite in section.suites for suite in suites) or any(sign in metrics for sign in section.signs)
