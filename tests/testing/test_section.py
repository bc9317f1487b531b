"""Every registered section keeps the laws of a section, and the laws find what breaks them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from vessel_runs import passage_arrays

from proctor.registry import SECTIONS
from proctor.report.model import Report
from proctor.report.section import Column, Grid, Section
from proctor.testing import SectionConformance
from proctor_host.trials import Trial

LAWS = [name for name in dir(SectionConformance) if name.startswith("test_")]


class OfEachSection(SectionConformance):
    metrics: ClassVar = {"emd": 0.5, "upright_share": 0.9, "tip_speed_max_mm_s": 20.0, "wall_force_max": 0.2}

    def __init__(self, section: type[Section]):
        self.section = section

    def make(self) -> Section:
        return self.section()

    def record(self, trial: Trial) -> dict[str, Any]:
        return passage_arrays(True, 20, 0.1)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", sorted(SECTIONS.builtin))
def test_the_laws_hold_for(name: str, law: str) -> None:
    found = OfEachSection(SECTIONS.load(name))
    assert found.make().key == name
    getattr(found, law)()


class Plain(Section):
    key, title, place = "plain", "Plain", 5

    def html(self, report: Report, data: Any) -> str:
        return "<p>said</p>"


class Raw(Plain):
    def html(self, report: Report, data: Any) -> str:
        return f"<p>{report.agents[0].agent}</p>"


class Open(Plain):
    def html(self, report: Report, data: Any) -> str:
        return "<p>said"


class Counting(Plain):
    calls = 0

    def html(self, report: Report, data: Any) -> str:
        Counting.calls += 1
        return f"<p>{Counting.calls}</p>"


class NeedsTrials(Plain):
    def html(self, report: Report, data: Any) -> str:
        return f"<p>{100 / report.scored}</p>"


class Taking(Plain):
    def keys(self, report: Report, data: Any) -> dict[str, Any]:
        return {"agents": 1}


class Unplaced(Plain):
    columns = (Column("mine", "nowhere", metric="mine"),)


class Ragged(Plain):
    def terminal(self, report: Report, data: Any) -> list[Grid | str]:
        return [Grid("told", ("agent", "n"), (("a",),))]


class Greedy(Plain):
    suites = "any"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("section", "law"),
    [
        (Raw, "test_names_are_escaped"),
        (Open, "test_names_are_escaped"),
        (Counting, "test_equal_runs_give_equal_sections"),
        (Taking, "test_keys_are_json_and_its_own"),
        (Unplaced, "test_columns_stand_behind_known_ones"),
        (Ragged, "test_the_terminal_gets_lines_and_whole_tables"),
        (Greedy, "test_declares_itself"),
    ],
)
def test_a_law_that_is_broken_is_found(section: type[Section], law: str) -> None:
    getattr(OfEachSection(Plain), law)()
    with pytest.raises(AssertionError):
        getattr(OfEachSection(section), law)()


def test_a_section_that_divides_by_nothing_is_found() -> None:
    with pytest.raises(ZeroDivisionError):
        OfEachSection(NeedsTrials).test_an_empty_run_is_no_error()


def test_what_is_not_written_is_said() -> None:
    with pytest.raises(NotImplementedError, match=r"write make\(\)"):
        SectionConformance().make()
