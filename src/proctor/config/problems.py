"""What is wrong with a config: every problem at once, each with its place and the way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from proctor.errors import InputError

Path = tuple[str | int, ...]
"""Where in the config: keys and list positions from the top."""


@dataclass(frozen=True)
class Problem:
    """One thing to mend. `file` is the config's path, or the text of the override that brought the value in;
    `line` counts from 1 and is None where the value has no line (a dict, an override). `hint` is a clause
    such as `did you mean "device"?`."""

    file: str
    line: int | None
    key: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        text = ": ".join(part for part in (place, self.key, self.message) if part)
        return f"{text}; {self.hint}" if self.hint else text


class ConfigError(InputError):
    """A config with problems, all of them listed in `problems` and in the text, one to a line."""

    def __init__(self, source: str, problems: Iterable[Problem]):
        self.problems = list(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n  ".join([f"{source}: {count}", *map(str, self.problems)]))


class Problems:
    """Collects problems by config path and knows where each path was written."""

    def __init__(self, source: str, lines: dict[Path, int] | None = None):
        self.source, self.lines = source, lines or {}
        self.overridden: dict[Path, str] = {}
        self.moved: dict[Path, Path] = {}
        """Where a value stands now -> where it was written, for a config that was translated."""
        self.unusable: set[Path] = set()
        """Paths whose value was replaced by a stand-in; nothing more is said of them and of what is below."""
        self._found: dict[tuple[str, str], Problem] = {}

    def add(self, path: Path, message: str, hint: str | None = None) -> None:
        """Note a problem; the same one twice counts once."""
        path = self._written(path)
        if any(origin in self.unusable for origin in prefixes(path)):
            return
        file, line = self._place(path)
        problem = Problem(file, line, key_text(path), message, hint)
        self._found.setdefault((problem.key, message), problem)

    def add_unusable(self, path: Path, message: str, hint: str | None = None) -> None:
        """Note a problem with a value that cannot be validated any further."""
        self.add(path, message, hint)
        self.unusable.add(path)

    def add_override(self, text: str, message: str, hint: str | None = None) -> None:
        """Note a problem with an override that leads nowhere."""
        self._found.setdefault((text, message), Problem(f"--set {text}", None, "", message, hint))

    def _written(self, path: Path) -> Path:
        """The path at which the user wrote what stands at `path`."""
        for origin in prefixes(path):
            if origin in self.moved:
                return (*self.moved[origin], *path[len(origin) :])
        return path

    def _place(self, path: Path) -> tuple[str, int | None]:
        for origin in prefixes(path):
            if origin in self.overridden:
                return f"--set {self.overridden[origin]}", None
            if origin in self.lines:
                return self.source, self.lines[origin]
        return self.source, None

    def raise_any(self) -> None:
        """Raise a ConfigError if anything was found, in the order of the file."""
        if self._found:
            raise ConfigError(self.source, sorted(self._found.values(), key=lambda p: (p.line is None, p.line or 0)))

    def __bool__(self) -> bool:
        return bool(self._found)

    def __len__(self) -> int:
        return len(self._found)


def prefixes(path: Path) -> Iterator[Path]:
    """The path itself, then each of its parents, up to the empty one."""
    for length in range(len(path), -1, -1):
        yield path[:length]


def key_text(path: Path) -> str:
    """`agents[0].options.pad_to`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A clause that names the known word which `word` most likely meant; None where nothing is near."""
    by_lower = {name.lower(): name for name in known}
    hits = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.5)
    return f'did you mean "{by_lower[hits[0]]}"?' if hits else None


def shown(value: Any) -> str:
    """A value as the user wrote it, cut to a line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"a mapping ({', '.join(map(str, list(value)[:4]))}{', ...' if len(value) > 4 else ''})"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    text = f'"{_printable(value)}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:76] + ('..."' if isinstance(value, str) else "...")


def _printable(text: str) -> str:
    """Text of one line; what a terminal would not show as a character is an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:80])
