"""What is promised of other people's versions: lower bounds only, and each of them is what the oldest set has."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned(name: str) -> dict[str, str]:
    """Package -> version, of a file of constraints."""
    lines = [Requirement(line) for line in (ROOT / name).read_text().splitlines()]
    return {line.name.lower(): next(iter(line.specifier)).version for line in lines}


CORE = [Requirement(text) for text in project()["dependencies"]]


@pytest.mark.parametrize("requirement", CORE, ids=lambda requirement: requirement.name)
def test_the_core_has_lower_bounds_alone_and_the_oldest_set_is_at_them(requirement: Requirement) -> None:
    (bound,) = requirement.specifier
    assert bound.operator == ">="
    version = pinned("constraints-oldest.txt")[requirement.name.lower()]
    assert version.removesuffix(".0").removesuffix(".0") == bound.version.removesuffix(".0")


def test_no_extra_pins_a_package() -> None:
    wanted = [Requirement(text) for texts in project()["optional-dependencies"].values() for text in texts]
    assert [str(one) for one in wanted if any(bound.operator != ">=" for bound in one.specifier)] == []


def test_the_newest_set_has_every_dependency_of_the_core() -> None:
    assert {requirement.name.lower() for requirement in CORE} <= set(pinned("constraints-newest.txt"))
