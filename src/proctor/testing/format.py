"""The laws of a report format."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from proctor.record.batch import batched
from proctor.record.columns import Trials
from proctor.report.build.aggregate import report_of
from proctor.report.formats.base import Format
from proctor.report.model import Report
from proctor.scoring import make_scoring
from proctor.scoring.trials import scored_trials
from proctor.testing.common import Conformance, check_part
from proctor.testing.reports import AGENTS, CONTEXT, HOSTILE, made_up_config, made_up_results

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
            report = replace(report, sections=tuple(shown.filled(Path(name), report) for shown in report.sections))
        return report, trials


def _files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
