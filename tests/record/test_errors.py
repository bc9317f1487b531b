"""Errors in one line: the line that decides."""

from __future__ import annotations

import pytest

from proctor.record.errors import decisive_line
from proctor_host.errors import explain


def raised(run) -> str:
    try:
        run()
    except Exception as problem:
        return explain(problem)
    raise AssertionError("nothing was raised")


def plain() -> None:
    raise ValueError("no such joint")


def chained() -> None:
    try:
        plain()
    except ValueError as problem:
        raise RuntimeError("the policy failed") from problem


def empty() -> None:
    raise TimeoutError


def announcing() -> None:
    raise RuntimeError("Error(s) in loading state_dict for Net:\n\tMissing key(s): bias\n\tUnexpected key(s): b")


def nested() -> None:
    raise RuntimeError("Caught KeyError in worker 0.\nOriginal " + raised(lambda: {}["image"]).split("\n", 1)[1])


@pytest.mark.parametrize(
    ("run", "line"),
    [
        (plain, "ValueError: no such joint"),
        (chained, "RuntimeError: the policy failed"),
        (empty, "TimeoutError: raise TimeoutError"),
        (announcing, "RuntimeError: Error(s) in loading state_dict for Net: Missing key(s): bias"),
        (nested, "KeyError: 'image'"),
    ],
)
def test_the_exception_that_ends_the_last_traceback(run, line: str) -> None:
    assert decisive_line(raised(run)) == line


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("worker 1 ended with signal 11", "worker 1 ended with signal 11"),
        ("\n  action has NaN\nmore", "action has NaN"),
        ('Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1\n', "KeyError: 1"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("", ""),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_text_that_is_no_exception_of_ours(error: str, line: str) -> None:
    assert decisive_line(error) == line
