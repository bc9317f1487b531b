"""Names of reward tasks: every name means one thing, and a wrong one gets the nearest form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import InputError
from proctor.suites.tracking.tasks import DEFAULT_TASKS, parse_task
from proctor.suites.tracking.tasks.names import FAMILIES, Task

angles = st.integers(-360, 360).map(float)
speeds = st.integers(0, 100).map(lambda n: n / 10)
rates = st.integers(-500, 500).map(lambda n: n / 10)
heights = st.integers(0, 1000).map(lambda n: n / 100)
levels = st.sampled_from("lmhx")
values = {
    "angle": angles, "speed": speeds, "rate": rates, "height": heights, "left": levels, "right": levels,
    "axis": st.sampled_from("xyz"),
}  # fmt: skip
tasks = st.sampled_from(list(FAMILIES)).flatmap(
    lambda form: st.builds(Task, st.just(form), st.tuples(*(values[field] for field in re.findall(r"{(\w+)}", form))))
)


@given(tasks)
def test_a_task_prints_as_the_name_it_is_parsed_from(task: Task) -> None:
    assert parse_task(str(task)) == task


@given(tasks, tasks)
def test_different_tasks_have_different_names(one: Task, other: Task) -> None:
    assert (str(one) == str(other)) == (one == other)


@pytest.mark.parametrize(
    ("name", "family", "values"),
    [
        ("move-ego-90-0.70", "move-ego", (90.0, 0.7)),
        ("move-ego--90-0.7", "move-ego", (-90.0, 0.7)),
        ("move-ego-low0.6-180-0.5", "move-ego-low", (0.6, 180.0, 0.5)),
        ("jump-1.6", "jump", (1.6,)),
        ("rotate-z--5-0.8", "rotate", ("z", -5.0, 0.8)),
        ("raisearms-l-x", "raisearms", ("l", "x")),
        ("crouch-0", "crouch", (0.0,)),
        ("sitonground", "sitonground", ()),
        ("move-arms-0-0.7-m-h", "move-arms", (0.0, 0.7, "m", "h")),
        ("spin-arms--5-l-m", "spin-arms", (-5.0, "l", "m")),
    ],
)
def test_names_mean(name: str, family: str, values: tuple[float | str, ...]) -> None:
    found = parse_task(name)
    assert (found.family, found.values) == (family, values)


def test_minus_zero_is_zero() -> None:
    assert str(parse_task("move-ego--0-0")) == "move-ego-0-0"


def test_examples_are_valid_and_the_default_set_has_every_family_once_named() -> None:
    assert all((parse_task(name).form, str(parse_task(name))) == (form, name) for form, name in FAMILIES.items())
    assert {parse_task(name).form for name in DEFAULT_TASKS} == set(FAMILIES)
    assert len(set(DEFAULT_TASKS)) == len(DEFAULT_TASKS)
    assert [str(parse_task(name)) for name in DEFAULT_TASKS] == list(DEFAULT_TASKS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "moveego-0-1",
            '"moveego-0-1" is no reward task; the nearest form is move-ego-{angle}-{speed}, for example '
            "move-ego-90-0.7 (angle a number in degrees, speed a number in m/s)",
        ),
        ("move-ego-0-fast", "nearest form is move-ego-{angle}-{speed}"),
        ("move-ego-low-0-1", "nearest form is move-ego-low{height}-{angle}-{speed}"),
        ("raise-arms-l-l", "nearest form is raisearms-{left}-{right}"),
        ("move_arms-0-1-l-l", "nearest form is move-arms-{angle}-{speed}-{left}-{right}"),
        ("sitonground-1", "no reward task; the nearest form is sitonground"),
        (
            "raisearms-l-q",
            '"raisearms-l-q" is no reward task: right is "q", and one of l, m, h, x was expected; the form is '
            "raisearms-{left}-{right}, for example raisearms-l-h",
        ),
        ("rotate-w-3-1", 'axis is "w", and one of x, y, z was expected'),
        ("jump-99", "height is 99, and 0 to 10 m was expected"),
        ("move-ego-0--1", "speed is -1, and 0 to 10 m/s was expected"),
        ("jump-nan", "nearest form is jump-{height}"),
        ("", "the forms are move-ego-{angle}-{speed}, "),
        ("blub", "spin-arms-{rate}-{left}-{right}"),
    ],
)
def test_a_wrong_name_gets_the_nearest_form(name: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_task(name)
    assert text in str(error.value)


def test_the_manual_has_every_form() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reward-tasks.md").read_text()
    assert [form for form in FAMILIES if f"| `{form}` |" not in page] == []
    assert f"a set of {len(DEFAULT_TASKS)} with every family" in page
