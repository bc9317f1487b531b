"""YAML in: plain values, lines of keys and items, and what is refused."""

from __future__ import annotations

import pytest

from proctor.config.problems import ConfigError, Problems
from proctor.config.yaml_source import parse, parse_value


def problems_of(text: str) -> list[str]:
    problems = Problems("f.yml")
    parse(text, problems)
    try:
        problems.raise_any()
    except ConfigError as error:
        return [str(p) for p in error.problems]
    return []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-1_000", -1000),
        ("0x10", 16),
        ("0.5", 0.5),
        ("1e-3", 1e-3),
        ("1E5", 1e5),
        (".5", 0.5),
        ("true", True),
        ("no", False),
        ("null", None),
        ("", ""),
        ("cuda:0", "cuda:0"),
        ("1:30", "1:30"),
        ("010", "010"),
        ("2026-01-01", "2026-01-01"),
        ("'3'", "3"),
        ("[a, 1]", ["a", 1]),
        ("{x: {y: 1.5}}", {"x": {"y": 1.5}}),
        ("{on: score}", {"on": "score"}),
    ],
)
def test_values_are_what_they_look_like(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_every_key_and_item_has_its_line():
    problems = Problems("f.yml")
    parse("a: 1\nb:\n  - x\n  -\n    c: 2\n", problems)
    assert problems.lines == {
        (): 1,
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 1): 5,
        ("b", 1, "c"): 5,
    }


def test_merge_keys_give_way_to_the_mapping_itself():
    problems = Problems("f.yml")
    data = parse("base: &b {x: 1, y: 2}\nmine:\n  <<: *b\n  x: 3\n", problems)
    assert data["mine"] == {"x": 3, "y": 2}
    assert not problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["f.yml: the file is empty; expected a mapping"]),
        ("# only a comment\n", ["f.yml: the file is empty; expected a mapping"]),
        ("a: 1\nb: 2\na: 3\n", ["f.yml:3: a: given twice; first on line 1"]),
        ("1: x\n", ["f.yml:1: 1: found a key that is no text; quote it"]),
        ("a: !!python/name:os.system x\n",
         ["f.yml:1: a: found the YAML tag !!python/name:os.system; expected a plain value"]),
        ("a: &x\n  b: *x\n", ["f.yml:2: a.b: an alias points to a value that contains it"]),
        ("a: 1\n---\nb: 2\n",
         ["f.yml:2: invalid YAML: expected a single document in the stream, but found another document"]),
        ("a:\n\t- b\n",
         ["f.yml:2: invalid YAML: while scanning for the next token, found character '\\t' that cannot start "
          "any token; indent with spaces, not tabs"]),
    ],
)  # fmt: skip
def test_what_is_refused(text, expected):
    assert problems_of(text) == expected
