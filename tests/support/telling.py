"""What the command line says, and pages that hold together."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any, NamedTuple


class Said(NamedTuple):
    code: int
    out: str
    err: str


Tell = Callable[..., Said]


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = frozenset({"meta", "br", "line", "circle", "rect", "path", "use", "polyline", "polygon"})

    def check(self, page: str) -> None:
        self.stack: list[str] = []
        self.feed(page)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.stack.pop() == tag
