"""Whatever a config file says, it is a valid config or an error for its author: never a traceback, never a flood."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from proctor.config import ConfigError, EvalConfig, config_from_dict, load_config
from proctor.config.yaml_source import MAX_BYTES
from proctor.registry import BACKENDS, LOADERS, LOGGERS, SCORINGS, SUITES

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yml"))
HEAD = "agents: [{name: a, policy: random}]\ntasks: [CartPole-v1]\n"
MINIMAL: dict[str, Any] = {"agents": [{"name": "a", "policy": "random"}], "tasks": ["CartPole-v1"]}
SPICES = [
    "\0", "\x07", "\ud7ff", "\ufeff", "\t", "\n", "  ", ": ", "- ", "[", "]", "{", "}", "&a ", "*a", "<<: *a", "!!int ",
    "!!set ", "!!bool ", "!!binary ", "? ", "|\n", ">\n", "%", "---\n", "...", "'", '"', "\\",
    '"\\ud800"', '"\\U00110000"', '"\\0"',
    "0x_", "0b", "1e400", "-.inf", ".nan", "-0", "1" * 4301, "9" * 40, "~", "null", "true", "2026-01-01", "1:30", "=",
    "{}", "[[]]", "../", "~nobody/", "a.py:B", ":", "\u2028", "\U0001f600",
]  # fmt: skip
"""What YAML, Python or a file system has trouble with."""
KEYS = [*EvalConfig.model_fields, "suite", "options", "policy", "checkpoint", "kwargs", "id", "level", "video", "fps"]

TEXTS = st.text(max_size=8) | st.sampled_from(SPICES)
NUMBERS = st.integers() | st.floats() | st.integers(-(2**300), 2**300)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.binary(max_size=2) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS) | TEXTS, inner, max_size=4),
    max_leaves=12,
)


@st.composite
def seasoned(draw: st.DrawFn) -> str:
    """A config of the examples with pieces cut out, doubled, or replaced by something odd."""
    text = draw(st.sampled_from(EXAMPLES)).read_text()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.sampled_from(["", text[start:end] * 2, *SPICES])) + text[end:]
    return text


def load_text(text: str, folder: Path, overrides: typing.Sequence[str] = ()) -> None:
    """Load it; whoever wrote it may be told what is wrong, in lines that can be printed."""
    file = folder / "config.yml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_config(file, overrides)
    except ConfigError as error:
        str(error).encode()


many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


@many
@given(seasoned())
def test_a_damaged_config_is_a_config_or_an_error(tmp_path, text):
    load_text(text, tmp_path)


@many
@given(st.text(max_size=60) | st.lists(st.sampled_from([*SPICES, *KEYS, ": ", "\n"]), max_size=12).map("".join))
def test_any_text_is_a_config_or_an_error(tmp_path, text):
    load_text(text, tmp_path)
    load_text(HEAD + text, tmp_path)


@many
@given(st.sampled_from(KEYS), TEXTS, st.sampled_from(["n_trials", "agents.0", "tasks.*.options", "x", "record.video"]))
def test_any_override_is_one_or_an_error(tmp_path, key, value, place):
    load_text(HEAD, tmp_path, [f"{key}={value}", f"{place}={value}", f"{place}.{key}={value}"])


@many
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3), VALUES)
def test_any_dict_is_a_config_or_an_error(data, value):
    for raw in ({**MINIMAL, **data}, {**MINIMAL, "agents": [data]}, {**MINIMAL, "tasks": [data]}, {"agents": value}):
        try:
            config_from_dict(raw)
        except ConfigError as error:
            str(error).encode()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: a\0b", "invalid YAML: found the character U+0000, which YAML does not allow"),
        ("name: \x01", 'invalid YAML: found the character U+0001, which YAML does not allow; write "\\x01" in quotes'),
        ('name: "\\0"', "name: found '\\x00'; expected text without the character NUL"),
        ('name: "\\ud800"', "name: found '\\ud800'; expected text of whole characters"),
        ('name: "\\U00110000"',
         "invalid YAML: an escape stands for no character, or a version has too many digits"),
        ("n_trials: 0x_", 'n_trials: found "0x_"; expected an integer'),
        ("n_trials: !!int foo", 'n_trials: found !!int "foo"; expected an integer'),
        ("name: !!bool foo", 'name: found !!bool "foo"; expected true or false'),
        ("name: !!set {a, b}", "name: found the YAML tag !!set; expected a plain value"),
        ("name: !!binary eA==", "name: found the YAML tag !!binary; expected a plain value"),
        ("n_trials: " + "1" * 4301, "n_trials: found a number of 4,301 digits; expected an integer"),
        ("n_trials: " + "1" * 400, "n_trials: found an integer of 1,326 bits; expected at most 256"),
        ("name: " + "[" * 500 + "]" * 500, "invalid YAML: values nest more than 50 deep"),
        ("name: {<<: 3}", "name.<<: found 3; expected a mapping to merge"),
        ("name: &a [*a]", "name[0]: an alias points to a value that contains it"),
        ("n_trials: 1e400", "n_trials: found inf; expected a finite number"),
        ("n_trials: -0", "n_trials: found 0; expected at least 1"),
        ("base_seed: " + "9" * 23, f"base_seed: found {'9' * 23}; expected at most 9,000,000,000,000,000"),
        ("max_episode_steps: 1000000000", "max_episode_steps: found 1000000000; expected at most 100,000,000"),
        ("num_parallel: 1000000", "num_parallel: found 1000000; expected at most 100,000"),
        ("limits: {step_s: 1.0e+30}", "limits.step_s: found 1e+30; expected at most 100,000,000"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, said):
    file = tmp_path / "config.yml"
    file.write_text(HEAD + text + "\n")
    with pytest.raises(ConfigError) as error:
        load_config(file)
    assert f"{file}:3: {said}" in [str(problem) for problem in error.value.problems]


def test_a_forward_of_a_billion_rows_is_refused():
    agent = {"name": "a", "policy": "random", "options": {"pad_to": 1_000_000_000}}
    with pytest.raises(ConfigError, match=r"agents\[0\].options.pad_to: found 1000000000; expected at most 65,536"):
        config_from_dict({**MINIMAL, "agents": [agent]})


def test_aliases_that_multiply_are_refused(tmp_path):
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    file = tmp_path / "config.yml"
    file.write_text("\n".join(lines))
    with pytest.raises(ConfigError, match="with its aliases written out, this makes more than 100,000 values"):
        load_config(file)


def test_a_file_without_an_end_is_read_to_the_limit_only():
    with pytest.raises(ConfigError, match=f"more than {MAX_BYTES:,} bytes; a config file is no larger than that"):
        load_config("/dev/zero")


def test_more_values_than_a_config_has_are_refused(tmp_path):
    file = tmp_path / "config.yml"
    file.write_text("a: [" + "1," * 100_001 + "]")
    with pytest.raises(ConfigError, match="invalid YAML: there are more than 100,000 values"):
        load_config(file)


def test_a_dict_that_contains_itself_is_refused():
    loop: list[Any] = []
    loop += [loop, loop]
    with pytest.raises(ConfigError, match="values nest more than 50 deep; expected fewer levels"):
        config_from_dict({**MINIMAL, "name": loop})


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path):
    file = tmp_path / "config.yml"
    file.write_text(HEAD, encoding="utf-8-sig")
    assert load_config(file).agents[0].name == "a"


def unbounded(model: type[BaseModel], seen: set[type[BaseModel]]) -> list[str]:
    """The integers of a model, and of those in it, that have no least or no largest value."""
    if model in seen:
        return []
    seen.add(model)
    found: list[str] = []
    for name, field in model.model_fields.items():
        found += [f"{model.__name__}.{name}"] if _open(field.annotation, list(field.metadata)) else []
        for inner in _models(field.annotation):
            found += unbounded(inner, seen)
    return found


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models(part)]


def _open(annotation: Any, metadata: list[Any]) -> bool:
    if annotation is int:
        text = repr(metadata)
        return not (("ge=" in text or "gt=" in text) and ("le=" in text or "lt=" in text))
    if typing.get_origin(annotation) is typing.Literal:
        return False
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *more = typing.get_args(annotation)
        return _open(inner, metadata + more)
    return any(_open(part, metadata) for part in typing.get_args(annotation))


def test_every_integer_of_a_config_has_a_least_and_a_largest_value():
    seen: set[type[BaseModel]] = set()
    found = unbounded(EvalConfig, seen)
    for registry in (SUITES, LOADERS, SCORINGS, BACKENDS, LOGGERS):
        for name in registry.names():
            options = registry.load(name).Options
            found += unbounded(options, seen) if options else []
    assert set(found) == {"CrafterOptions.start"}  # a validator of its own says 0 to 9
