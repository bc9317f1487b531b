"""The laws of a report section."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor.plan.trial import Trial
from proctor.record.result import TrialResult
from proctor.report.build.aggregate import build_report
from proctor.report.formats.files import plain
from proctor.report.formats.json_file import to_json
from proctor.report.formats.tables import COMMON, agent_keys
from proctor.report.model import Finding, Report
from proctor.report.section import Section, applies
from proctor.testing.common import Conformance, check_part
from proctor.testing.reports import AGENTS, CONTEXT, HOSTILE, made_up_config, made_up_results

VOID = frozenset({"br", "col", "hr", "img", "input", "meta", "wbr"})
OTHER = "a suite that nobody has"


class SectionConformance(Conformance[Section]):
    """Subclass, name it `Test...`, and write `make`. Sections of metrics also set `metrics`; sections that read records
    write `record`."""

    metrics: ClassVar[Mapping[str, float]] = {}
    """Metrics that the trials of the made-up run have."""

    def record(self, trial: Trial) -> Mapping[str, np.ndarray] | None:
        """The arrays of a trial's record; None: it has no record."""
        return None

    def test_declares_itself(self) -> None:
        section = self.make()
        check_part(section, Section, "key", "title")
        assert section.key.isidentifier(), f"key is {section.key!r}; expected a name of letters, digits and _"
        assert isinstance(section.place, int | float), f"place is {section.place!r}; expected a number"
        kinds = section.suites is None or isinstance(section.suites, tuple)
        assert kinds, f"suites is {section.suites!r}; expected a tuple of names, or None for every run"

    def test_equal_runs_give_equal_sections(self) -> None:
        first, second = self._made(AGENTS), self._made(AGENTS)
        assert first == second, "the same run gave two different sections"

    def test_names_are_escaped(self) -> None:
        html, markdown, _ = self._made(HOSTILE)
        check_html(html)
        assert "<script" not in markdown, "a name reaches report.md without being escaped"

    def test_an_empty_run_is_no_error(self) -> None:
        html, _, _ = self._made(AGENTS, empty=True)
        check_html(html)

    def test_is_part_of_its_own_runs_only(self) -> None:
        section = self.make()
        if section.suites is not None:
            assert not applies(section, [OTHER], []), "the section is part of runs of other suites"
            assert all(applies(section, [suite], []) for suite in section.suites)

    def test_keys_are_json_and_its_own(self) -> None:
        _, _, keys = self._made(AGENTS)
        json.dumps(plain(keys), allow_nan=False)
        with tempfile.TemporaryDirectory() as folder:
            taken = sorted(set(keys) & set(to_json(self._report(Path(folder), AGENTS))))
        assert not taken, f"report.json has these keys already: {taken}"

    def test_findings_are_sentences(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            report = self._report(Path(folder), AGENTS)
        found = list(self.make().findings(report))
        assert all(isinstance(finding, Finding) and finding.text for finding in found), f"findings gave {found}"
        assert isinstance(self.make().opening(report), str), "opening gave no text"

    def test_columns_stand_behind_known_ones(self) -> None:
        section = self.make()
        with tempfile.TemporaryDirectory() as folder:
            report = self._report(Path(folder), AGENTS)
        of_agents = agent_keys(report, report.agents[0])
        for columns, known in ((section.columns, COMMON), (section.agent_columns, of_agents)):
            names = [column.name for column in columns]
            assert len(set(names)) == len(names), f"a column is there twice: {names}"
            for column in columns:
                assert column.after in known, f'the column "{column.name}" stands behind an unknown "{column.after}"'
                assert column.name not in COMMON, f'every table has a column "{column.name}" already'

    def _made(self, agents: Sequence[str], *, empty: bool = False) -> tuple[str, str, dict[str, Any]]:
        """HTML, Markdown and keys of a run."""
        section = self.make()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            report = self._report(folder, agents, empty=empty)
            data = section.read(folder, report)
            section.write(folder, data)
            made = section.html(report, data), section.markdown(report, data), dict(section.keys(report, data))
        assert isinstance(made[0], str), f"html gave a {type(made[0]).__name__}"
        assert isinstance(made[1], str), f"markdown gave a {type(made[1]).__name__}"
        assert isinstance(section.styles(), str), "styles gave no text"
        return made

    def _report(self, folder: Path, agents: Sequence[str], *, empty: bool = False) -> Report:
        suites = self.make().suites
        cfg = made_up_config(suites[0] if suites else OTHER, agents, sections=())
        results: list[TrialResult] = [] if empty else made_up_results(cfg, folder, self.metrics, self.record)
        return build_report(cfg, results, CONTEXT)


def check_html(html: str) -> None:
    """Raise AssertionError where HTML is not whole, or holds a script or an event handler."""
    found = _Page()
    found.feed(html)
    found.close()
    assert not found.open, f"these elements are not closed: {found.open}"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._check(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._check(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def _check(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script", "a script is in the page, or a name is not escaped"
        handlers = [name for name, _ in attrs if name.startswith("on")]
        assert not handlers, f"<{tag}> has {handlers}: a script is in the page, or a name is not escaped"
