"""The laws of report sections and formats, which are tried on made-up runs."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor.config.models import AgentCfg, EvalConfig, ReportCfg, ScoringCfg, TaskCfg
from proctor.record.batch import batched
from proctor.record.columns import Trials
from proctor.report.build.aggregate import build_report, report_of
from proctor.report.formats.base import Format
from proctor.report.formats.files import plain
from proctor.report.formats.json_file import to_json
from proctor.report.formats.tables import COMMON, agent_keys
from proctor.report.model import Finding, Report, ReportContext
from proctor.report.section import Grid, Section, applies
from proctor.scoring import make_scoring
from proctor.scoring.columns import scored_trials
from proctor.testing.common import Conformance, check_part
from proctor_host.episode import Outcome
from proctor_host.npz import write_npz
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

AGENTS = ("steady", "hasty")
HOSTILE = ("<script>alert('a')</script>", 'b" onload="x & | `c` *d* [e](f)')
"""Names that do harm where they are not escaped."""
N_TRIALS = 4
CONTEXT = ReportContext(generated_at="2026-01-05T12:00:00+00:00", duration_s=12.0)

Record = Callable[[Trial], Mapping[str, np.ndarray] | None]


def made_up_config(suite: str, agents: Sequence[str], sections: Sequence[str] | None = None) -> EvalConfig:
    """Two tasks of a suite, scored by success."""
    return EvalConfig(
        name=f"run of {agents[0]}",
        agents=tuple(AgentCfg(name=name, policy="random") for name in agents),
        tasks=tuple(TaskCfg(suite=suite, name=name) for name in (f"reach {agents[0]}", "push")),
        n_trials=N_TRIALS,
        scoring=ScoringCfg(mode="success"),
        report=ReportCfg(sections=None if sections is None else tuple(sections)),
    )


def made_up_results(cfg: EvalConfig, folder: Path, metrics: Mapping[str, float], record: Record) -> list[TrialResult]:
    """Every planned trial, in the order of the plan: some succeed, and one of each cell is lost. What `record` gives
    for a trial is written as its record."""
    (folder / "trials").mkdir(parents=True, exist_ok=True)
    found = []
    for a, agent in enumerate(cfg.agents):
        for t, task in enumerate(cfg.tasks):
            for i in range(N_TRIALS):
                trial = Trial(agent.name, task.name, i, cfg.base_seed + i)
                arrays = record(trial)
                npz = None if arrays is None else f"trials/{a}_{t}_{i}.npz"
                if npz is not None and arrays is not None:
                    write_npz(folder / npz, dict(arrays))
                found.append(_result(trial, metrics, npz, skilled=(a + i) % 2 == 0))
    return found


def _result(trial: Trial, metrics: Mapping[str, float], npz: str | None, *, skilled: bool) -> TrialResult:
    lost = trial.index == N_TRIALS - 1
    outcome = Outcome.WORKER_LOST if lost else Outcome.SUCCESS if skilled else Outcome.FAILURE
    return TrialResult(
        trial=trial,
        outcome=outcome,
        success=outcome is Outcome.SUCCESS,
        steps_total=20 + trial.index,
        steps_to_success=20 + trial.index if outcome is Outcome.SUCCESS else None,
        first_success=20 + trial.index if outcome is Outcome.SUCCESS else None,
        episode_reward=float(trial.index),
        max_steps=100,
        metrics={name: value * (1 + 0.1 * trial.index) for name, value in metrics.items()},
        error=f"lost with {trial.agent}\nsecond line" if lost else None,
        npz=None if lost else npz,
        trace=f"{zlib.crc32(trial.key.encode()):016x}",
        case=f"case {trial.index} of {trial.agent}",
    )


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
        taken = sorted(set(keys) & set(to_json(self._report(AGENTS)[0])))
        assert not taken, f"report.json has these keys already: {taken}"

    def test_findings_are_sentences(self) -> None:
        report, _ = self._report(AGENTS)
        found = list(self.make().findings(report))
        assert all(isinstance(finding, Finding) and finding.text for finding in found), f"findings gave {found}"
        assert isinstance(self.make().opening(report), str), "opening gave no text"

    def test_the_terminal_gets_lines_and_whole_tables(self) -> None:
        for agents in (AGENTS, HOSTILE):
            for part in self.make().terminal(*self._report(agents)):
                assert isinstance(part, str | Grid), f"terminal gave a {type(part).__name__}; expected texts and Grids"
                if isinstance(part, Grid):
                    widths = {len(part.header), *map(len, part.rows)}
                    assert len(widths) == 1, f"a table for the terminal has rows of {sorted(widths)} cells"

    def test_columns_stand_behind_known_ones(self) -> None:
        section = self.make()
        report, _ = self._report(AGENTS)
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
        report, data = self._report(agents, empty=empty)
        made = section.html(report, data), section.markdown(report, data), dict(section.keys(report, data))
        assert isinstance(made[0], str), f"html gave a {type(made[0]).__name__}"
        assert isinstance(made[1], str), f"markdown gave a {type(made[1]).__name__}"
        assert isinstance(section.styles(), str), "styles gave no text"
        return made

    def _report(self, agents: Sequence[str], *, empty: bool = False) -> tuple[Report, Any]:
        """The report of a made-up run, and what the section has read of its folder; it has written its files there."""
        section = self.make()
        cfg = made_up_config(section.suites[0] if section.suites else OTHER, agents, sections=())
        with tempfile.TemporaryDirectory() as name:
            results = [] if empty else made_up_results(cfg, Path(name), self.metrics, self.record)
            report = build_report(cfg, results, CONTEXT)
            data = section.read(Path(name), report)
            section.write(Path(name), data)
        return report, data


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


SUITE = "gymnasium"


class FormatConformance(Conformance[Format]):
    """Subclass, name it `Test...`, and write `make`."""

    def test_declares_itself(self) -> None:
        made = self.make()
        check_part(made, Format, "name")
        assert made.name.isidentifier(), f"name is {made.name!r}; expected a name of letters, digits and _"
        assert isinstance(made.always, bool), f"always is {made.always!r}; expected True or False"

    def test_names_the_files_that_it_writes_and_writes_no_others(self) -> None:
        for agents in (AGENTS, HOSTILE):
            names, files = self._written(agents)
            assert names, "write() gave no names of files"
            assert sorted(names) == sorted(files), f"write() named {sorted(names)} and wrote {sorted(files)}"
            empty = sorted(name for name, data in files.items() if not data)
            assert not empty, f"these files are empty: {empty}"

    def test_equal_reports_give_equal_files(self) -> None:
        _, first = self._written(AGENTS)
        _, second = self._written(AGENTS)
        differ = sorted(name for name in first if first[name] != second.get(name))
        assert not differ, f"the same report gave two different {differ}"

    def test_an_empty_run_is_no_error(self) -> None:
        names, files = self._written(AGENTS, empty=True)
        assert sorted(names) == sorted(files), f"write() named {sorted(names)} and wrote {sorted(files)}"

    def test_older_files_are_replaced_and_others_left_alone(self) -> None:
        names, files = self._written(AGENTS)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for each in [*names, "mine.txt"]:
                (folder / each).parent.mkdir(parents=True, exist_ok=True)
                (folder / each).write_bytes(b"older " * 10_000)
            self.make().write(folder, *self._report(AGENTS))
            found = _files(folder)
            assert found.pop("mine.txt", None) == b"older " * 10_000, "a file of another's was changed"
        assert found == files, "over older files, other files come out"

    def _written(self, agents: Sequence[str], *, empty: bool = False) -> tuple[list[str], dict[str, bytes]]:
        with tempfile.TemporaryDirectory() as name:
            names = self.make().write(Path(name), *self._report(agents, empty=empty))
            return list(names), _files(Path(name))

    def _report(self, agents: Sequence[str], *, empty: bool = False) -> tuple[Report, Trials]:
        cfg = made_up_config(SUITE, agents)
        with tempfile.TemporaryDirectory() as name:
            results = [] if empty else made_up_results(cfg, Path(name), {"seed": 0.5, "made_up": 2.0}, lambda _: None)
            trials = scored_trials(cfg, batched(iter(results)), make_scoring(cfg.scoring))
            report = report_of(cfg, trials, CONTEXT)
            report = replace(
                report, sections=tuple(shown.filled(Path(name), report, Path(name)) for shown in report.sections)
            )
        return report, trials


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
