"""YAML read safely, with the line of every key and list item.

Only plain values are taken: mappings with text keys, lists, text, numbers, true/false, null. Three departures
from YAML 1.1 keep things what they look like: `1e-3` is a number (not text), `1:30`, `010` and dates are text (not
90, 8 and a date), and `on` before a colon is a key (not true).
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from proctor.config.problems import Path, Problems, shown

_INT = re.compile(r"[-+]?(?:0x[0-9a-fA-F_]+|0b[01_]+|0|[1-9][0-9_]*)$")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+"
    r"|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
)
_TAG = "tag:yaml.org,2002:"
_REPLACED = {_TAG + name for name in ("int", "float", "timestamp")}


class _Loader(yaml.SafeLoader):
    """Numbers and dates are recognised by the rules above."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in _REPLACED]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_TAG + "int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(_TAG + "float", _FLOAT, list("-+0123456789."))


def parse(text: str, problems: Problems) -> Any:
    """The data in a YAML text. Lines go to `problems.lines`; what is wrong is added to `problems`, and None
    is returned where nothing can be read."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        _add_syntax_error(error, problems)
        return None
    finally:
        loader.dispose()
    if node is None:
        problems.add((), "the file is empty; expected a mapping with agents and tasks")
        return None
    return _Builder(loader, problems).build(node, ())


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

    def build(self, node: yaml.Node, path: Path) -> Any:
        self._problems.lines.setdefault(path, node.start_mark.line + 1)
        if any(node is parent for parent in self._open):
            self._problems.add(path, "an alias points to a value that contains it")
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
        kind = node.tag.removeprefix(_TAG)
        if kind == "str":
            return node.value
        if kind == "null":
            return None
        build = {
            "bool": self._loader.construct_yaml_bool,
            "int": self._loader.construct_yaml_int,
            "float": self._loader.construct_yaml_float,
        }.get(kind)
        if build is None:
            self._problems.add(path, f"found the YAML tag {node.tag}; expected a plain value")
            return None
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
