"""The manual as scripts: a page's blocks in order, run in one folder, with their outputs compared.

A page is read from top to bottom in a folder of its own, in which `examples` leads to the repository's examples.

- A block whose first line is `# file: NAME` is written to that file.
- `bash` and `python` blocks run; the Python blocks of a page share their names.
- `yaml` blocks without a file begin with `# fragment` (a part of a config, which is validated) or `# other`.
- `text` is what the last command or Python block before it printed. A line of three dots stands for any lines.
  Times, paths, dates and rates of this machine are not compared. Drawings are blocks without a language.

HTML comments, which a reader does not see, stand right above a block:

- `<!-- not run: WHY -->` leaves the block out;
- `<!-- exit code N -->` says how the block's last command ends;
- `<!-- with: OPTIONS -->` adds options to the block's `proctor` commands, e.g. to run fewer trials;
- `<!-- in the background -->` lets the block's command go on until the page ends;
- `<!-- setup` (or `<!-- setup python`) begins commands that run here, up to `-->`. There, `files PAGE` writes the files
  of another page;
- `<!-- slow: WHY -->` anywhere marks the page's test as slow.

`RUN` in a folder is always a link to the newest run (`RUN_1` to that of shard 1); a setup may `mv RUN BASE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = ("", "bash", "python", "text", "toml", "yaml", "setup")
_ELEMENT = re.compile(r"^```(\w*)\n(.*?)^```$|^<!--(.*?)-->$", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_GAP = "..."


@dataclass(frozen=True)
class Block:
    """One fenced block, or one setup comment (language `setup`). `start` and `end` frame `text` in the page."""

    page: Path
    language: str
    text: str
    start: int
    end: int
    marks: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        return f"{self.page.name}:{self.page.read_text()[: self.start].count(chr(10))}"

    @property
    def file(self) -> str | None:
        found = re.match(r"# file: (\S+)\n", self.text)
        return found[1] if found else None

    @property
    def kind(self) -> str:
        """The word that the first line begins with, e.g. `file`, `fragment` or `other`."""
        return self.text.removeprefix("# ").partition("\n")[0].partition(":")[0]

    def mark(self, name: str) -> str | None:
        """What follows `name` in a comment above this block; None without such a comment."""
        found = [mark.removeprefix(name).strip(": ") for mark in self.marks if mark.startswith(name)]
        return found[0] if found else None

    @property
    def runs(self) -> bool:
        return self.mark("not run") is None


def blocks(page: Path) -> Iterator[Block]:
    """Every block of a page, in order."""
    text, marks, last = page.read_text(), [], 0
    for found in _ELEMENT.finditer(text):
        if text[last : found.start()].strip():
            marks = []
        last = found.end()
        if found[3] is None:
            yield Block(page, found[1], found[2], *found.span(2), marks=tuple(marks))
            marks = []
        elif setup := re.match(r" setup(?: (python))?\n", found[3]):
            yield Block(page, setup[1] or "setup", found[3][setup.end() :], *found.span(3))
        else:
            marks.append(found[3].strip())


def headings(page: Path) -> list[str]:
    """The titles on a page, in order."""
    return _HEADING.findall(_FENCED.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings(page)}


def is_slow(page: Path) -> bool:
    return "\n<!-- slow: " in page.read_text()


def commands(text: str) -> Iterator[str]:
    """The command lines of a bash block, continued lines joined, comments left out."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        command = re.sub(r"(^|\s+)#.*$", "", line).strip()
        if command:
            yield command


_MACHINE = [
    (re.compile(r"\d{8}-\d{6}"), "<date>"),
    (re.compile(r"\S*results/eval_runs/"), "results/eval_runs/"),
    (re.compile(r"\d[\d.,]* (trials|steps|decisions|forwards)/s"), r"<rate> \1/s"),
    (re.compile(r"\b\d[\d.,]* ?(s|ms|µs|us|min|h)\b( \d+ (s|min))?"), "<time>"),
    (re.compile(r"\d[\d.,]* (B|kB|MB|GB|KiB|MiB|GiB)\b"), "<size>"),
    (re.compile(r"\b[0-9a-f]{8,64}\b"), "<hash>"),
    (re.compile(r"\b\d+\.\d+\.\d+(\+\w+)?\b"), "<version>"),
    (re.compile(r"^time per slot: .*"), "time per slot: <shares>"),
    (re.compile(r"\b\d[\d.]* rows"), "<n> rows"),
    (re.compile(r"[─━═-]{3,}"), "---"),
    (re.compile(r"\s+"), " "),
]
_PROGRESS = re.compile(r"^\[ *[\d.]+ s\] ")


def comparable(text: str) -> list[str]:
    """Lines without what differs between machines and days: progress, times, dates, rates, column widths."""
    lines = []
    for line in text.splitlines():
        if not _PROGRESS.match(line):
            for pattern, stand_in in _MACHINE:
                line = pattern.sub(stand_in, line)
            lines.append(line.strip())
    return [line for line in lines if line]


def agree(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed."""
    pattern = "".join(r"(?:.*\n)*?" if line == _GAP else re.escape(line) + r"\n" for line in comparable(shown))
    return re.fullmatch(pattern, "".join(line + "\n" for line in comparable(printed))) is not None


def presentable(printed: str, shown: str) -> str:
    """`printed` as a page shows it: without progress and the day. Where `shown` leaves a gap between
    a head and a tail, so many lines of head and tail are kept."""
    text = re.sub(r"\d{8}-\d{6}", "20260101-120000", printed)
    lines = [line.rstrip() for line in text.splitlines() if not _PROGRESS.match(line)]
    lines = "\n".join(lines).strip("\n").splitlines()
    old = shown.splitlines()
    if old.count(_GAP) == 1:
        head, tail = old.index(_GAP), len(old) - old.index(_GAP) - 1
        lines = [*lines[:head], _GAP, *lines[len(lines) - tail :]]
    return "".join(line + "\n" for line in lines)
