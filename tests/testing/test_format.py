"""Every registered format keeps the laws of a format, and the laws find what breaks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.record.columns import Trials
from proctor.registry import FORMATS
from proctor.report.formats.base import Format
from proctor.report.model import Report
from proctor.testing import FormatConformance

LAWS = [name for name in dir(FormatConformance) if name.startswith("test_")]


class OfEachFormat(FormatConformance):
    def __init__(self, each: type[Format]):
        self.each = each

    def make(self) -> Format:
        return self.each()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", sorted(FORMATS.builtin))
def test_the_laws_hold_for(name: str, law: str) -> None:
    found = OfEachFormat(FORMATS.load(name))
    assert found.make().name == name
    getattr(found, law)()


class Lines(Format):
    name = "lines"

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        (folder / "lines.txt").write_text(f"{report.name}\n{trials.n}\n")
        return ["lines.txt"]


class Silent(Lines):
    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        super().write(folder, report, trials)
        return []


class Appending(Lines):
    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        with (folder / "lines.txt").open("a") as stream:
            stream.write(report.name)
        return ["lines.txt"]


class Sweeping(Lines):
    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        for path in folder.iterdir():
            path.unlink()
        return super().write(folder, report, trials)


class Counting(Lines):
    calls = 0

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        Counting.calls += 1
        (folder / "lines.txt").write_text(str(Counting.calls))
        return ["lines.txt"]


@pytest.mark.parametrize(
    ("each", "law", "error"),
    [
        (Silent, "test_names_the_files_that_it_writes_and_writes_no_others", AssertionError),
        (Appending, "test_older_files_are_replaced_and_others_left_alone", AssertionError),
        (Sweeping, "test_older_files_are_replaced_and_others_left_alone", AssertionError),
        (Counting, "test_equal_reports_give_equal_files", AssertionError),
    ],
)
def test_a_law_that_is_broken_is_found(each: type[Format], law: str, error: type[Exception]) -> None:
    getattr(OfEachFormat(Lines), law)()
    with pytest.raises(error):
        getattr(OfEachFormat(each), law)()
