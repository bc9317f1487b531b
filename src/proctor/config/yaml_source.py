"""YAML read safely, with the line of every key and list item.

Only plain values are taken: mappings with text keys, lists, text, numbers, true/false, null. Three departures
from YAML 1.1 keep things what they look like: `1e-3` is a number (not text), `1:30`, `010` and dates are text (not
90, 8 and a date), and `on` before a colon is a key (not true).

A file from somebody else costs little, whatever is in it: it is no larger than `MAX_BYTES`, values nest no deeper than
`MAX_DEPTH`, and there are no more than `MAX_VALUES` of them with every alias written out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import yaml

from proctor.config.plain import MAX_DEPTH, plain
from proctor.config.problems import ConfigError, Path, Problems, did_you_mean, shown
from proctor.errors import InputError

MAX_BYTES = 1 << 20
MAX_VALUES = 100_000
_MAX_DIGITS = 4_000
"""Fewer than Python itself makes an integer of."""
_INT = re.compile(r"[-+]?(?:0x_*[0-9a-fA-F][0-9a-fA-F_]*|0b_*[01][01_]*|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+"
    r"|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
)
_TAG = "tag:yaml.org,2002:"
_REPLACED = {_TAG + name for name in ("int", "float", "timestamp", "value")}
_EXPECTED = {"int": "an integer", "float": "a number", "bool": "true or false"}


class _Loader(yaml.SafeLoader):
    """Numbers and dates are recognised by the rules above; too many values, or too deep ones, are an error."""

    def __init__(self, text: str):
        super().__init__(text)
        self._depth = self._count = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > MAX_DEPTH:
            raise _refused(f"values nest more than {MAX_DEPTH} deep", self.peek_event().start_mark)
        if self._count > MAX_VALUES:
            raise _refused(f"there are more than {MAX_VALUES:,} values", self.peek_event().start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _refused(reason: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=reason, problem_mark=mark)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_TAG + "int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(_TAG + "float", _FLOAT, list("-+0123456789."))


def read(file: FilePath, problems: Problems) -> Any:
    """The data in a YAML file, as `parse` has it. Raises ConfigError where the file itself cannot be read."""
    text = _text(file, problems)
    problems.raise_any()
    return parse(text, problems)


def read_yaml(file: FilePath, what: str) -> Any:
    """The data of a YAML file that is no config, within the same limits. Raises InputError where it cannot be read as
    `what`, which is said with its article."""
    problems = Problems(str(file))
    try:
        data = plain(read(file, problems), (), problems)
        problems.raise_any()
    except ConfigError as error:
        raise InputError(f"{file} cannot be read as {what}: {error.problems[0]}") from None
    return data


def _text(file: FilePath, problems: Problems) -> str:
    try:
        with file.open("rb") as opened:
            found = opened.read(MAX_BYTES + 1)
        if len(found) <= MAX_BYTES:
            return found.decode("utf-8-sig")
        problems.add((), f"more than {MAX_BYTES:,} bytes; a config file is no larger than that")
    except FileNotFoundError:
        folder = file.absolute().parent
        near = did_you_mean(file.name, os.listdir(folder)) if os.path.isdir(folder) else None
        problems.add((), "no such file", near)
    except UnicodeDecodeError as error:
        problems.add((), f"not UTF-8 text (byte {error.start}); expected a YAML file")
    except OSError as error:
        problems.add((), f"cannot be read: {error.strerror}")
    except ValueError as error:  # no path at all: it has a NUL
        problems.add((), f"cannot be read: {error}")
    return ""


def parse(text: str, problems: Problems) -> Any:
    """The data in a YAML text. Lines go to `problems.lines`; what is wrong is added to `problems`, and None
    is returned where nothing can be read."""
    try:
        loader = _Loader(text)
        node = _single_node(loader)
        if node is not None:
            return _Builder(loader, problems).build(node, ())
        problems.add((), "the file is empty; expected a mapping")
    except yaml.reader.ReaderError as error:
        _add_character_error(text, error, problems)
    except yaml.YAMLError as error:
        _add_syntax_error(error, problems)
    return None


def _single_node(loader: _Loader) -> yaml.Node | None:
    try:
        return loader.get_single_node()
    except (ValueError, OverflowError):  # what the scanner leaves to `chr` and `int`
        raise _refused(
            "an escape stands for no character, or a version has too many digits", loader.get_mark()
        ) from None
    finally:
        loader.dispose()


def parse_value(text: str) -> Any:
    """One value, typed as in a file: `3`, `0.5`, `true`, `null`, `[a, b]`, `{x: 1}`, else text. Raises
    ValueError."""
    problems = Problems("")
    if not text.strip():
        return ""
    value = parse(text, problems)
    if problems:
        raise ValueError(f"{shown(text)} is not a YAML value")
    return value


def _add_character_error(text: str, error: yaml.reader.ReaderError, problems: Problems) -> None:
    position = text.find(chr(error.character))
    problems.lines[()] = text.count("\n", 0, position) + 1
    what = f"the character U+{error.character:04X}, which YAML does not allow"
    problems.add(
        (),
        f"invalid YAML: found {what}",
        f'write "\\x{error.character:02x}" in quotes' if error.character in range(1, 32) else None,
    )


def _add_syntax_error(error: yaml.YAMLError, problems: Problems) -> None:
    if not isinstance(error, yaml.MarkedYAMLError):
        problems.add((), f"invalid YAML: {error}")
        return
    mark = error.problem_mark or error.context_mark
    if mark is not None:
        problems.lines[()] = mark.line + 1
    tab = error.problem is not None and "'\\t'" in error.problem
    reason = ", ".join(part for part in (error.context, error.problem) if part)
    problems.add((), f"invalid YAML: {reason}", "indent with spaces, not tabs" if tab else None)


class _Builder:
    """Nodes into data, one path at a time."""

    def __init__(self, loader: _Loader, problems: Problems):
        self._loader, self._problems = loader, problems
        self._open: list[yaml.Node] = []
        self._count = 0

    def build(self, node: yaml.Node, path: Path) -> Any:
        self._count += 1
        if self._count > MAX_VALUES or len(self._open) >= MAX_DEPTH:
            limit = (
                f"more than {MAX_VALUES:,} values" if self._count > MAX_VALUES else f"values more than {MAX_DEPTH} deep"
            )
            raise _refused(f"with its aliases written out, this makes {limit}", node.start_mark)
        self._problems.lines.setdefault(path, node.start_mark.line + 1)
        if any(node is parent for parent in self._open):
            self._problems.add_unusable(path, "an alias points to a value that contains it")
            return None
        if node.tag not in _TAGS[type(node)]:
            self._problems.add_unusable(path, f"found the YAML tag {_short(node.tag)}; expected a plain value")
            return None
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item, (*path, i)) for i, item in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        data: dict[str, Any] = {}
        first_lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                continue
            if key_node.tag not in (_TAG + "str", _TAG + "bool"):
                self._add_at(key_node, (*path, _source_text(key_node)), "found a key that is no text; quote it")
                continue
            key, line = key_node.value, key_node.start_mark.line + 1
            if key in first_lines:
                self._add_at(key_node, (*path, key), f"given twice; first on line {first_lines[key]}")
                continue
            first_lines[key] = self._problems.lines[*path, key] = line
            data[key] = self.build(value_node, (*path, key))
        for key, value in self._merged(node, path).items():
            data.setdefault(key, value)
        return data

    def _merged(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag != _TAG + "merge":
                continue
            sources = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            for source in sources:
                value = self.build(source, path)
                if isinstance(value, dict):
                    merged = {**value, **merged}
                else:
                    self._add_at(key_node, (*path, "<<"), f"found {shown(value)}; expected a mapping to merge")
        return merged

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        if kind in ("str", "null"):
            return text if kind == "str" else None
        digits = len(text) if kind == "int" else 0
        if digits > _MAX_DIGITS or not _READ[kind](text):
            found = f"a number of {digits:,} digits" if digits > _MAX_DIGITS else f"!!{kind} {shown(text)}"
            self._problems.add_unusable(path, f"found {found}; expected {_EXPECTED[kind]}")
            return None
        build = {
            "bool": self._loader.construct_yaml_bool,
            "int": self._loader.construct_yaml_int,
            "float": self._loader.construct_yaml_float,
        }[kind]
        return build(node)

    def _add_at(self, node: yaml.Node, path: Path, message: str) -> None:
        """A problem on the node's own line, whatever else was written under this path."""
        kept = self._problems.lines.get(path)
        self._problems.lines[path] = node.start_mark.line + 1
        self._problems.add(path, message)
        if kept is not None:
            self._problems.lines[path] = kept


def _source_text(node: yaml.Node) -> str:
    return node.value if isinstance(node, yaml.ScalarNode) else node.tag.removeprefix(_TAG)


def _short(tag: str) -> str:
    """A tag as it is written in a file."""
    return "!!" + tag.removeprefix(_TAG) if tag.startswith(_TAG) else tag


_TAGS = {
    yaml.MappingNode: {_TAG + "map"},
    yaml.SequenceNode: {_TAG + "seq"},
    yaml.ScalarNode: {_TAG + name for name in ("str", "null", "bool", "int", "float")},
}
_READ: dict[str, Callable[[str], Any]] = {
    "bool": lambda text: text.lower() in yaml.SafeLoader.bool_values,
    "int": _INT.match,
    "float": lambda text: _FLOAT.match(text) or _INT.match(text),
}
