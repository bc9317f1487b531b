"""What mkdocs is told beside mkdocs.yml (`make site`), so that the pages in docs/ stay as they are read in a clone.

- Files elsewhere in the repository that a page links (examples, README, CHANGELOG) become pages, in `repository/`.
- docs/api.md says which names are public; each gets its signature and docstring, in `reference/`.
- Comments for tests/test_docs.py are left out, and anchors of headings are those of the tests.
- Pages that `nav` in mkdocs.yml does not name are added to it.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LANGUAGES = {".py": "python", ".yml": "yaml", ".toml": "toml"}
OTHERS = "More"
"""The part of the navigation for pages that mkdocs.yml does not name."""
_CODE = r"^(?P<indent> *)(?P<fence>`{3,})[^`]*?\n.*?^(?P=indent)(?P=fence) *$|`+[^`\n]+`+"
_COMMENT = re.compile(rf"(?P<code>{_CODE})|^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(rf"(?P<code>{_CODE})|(?P<head>\]\()(?P<target>[^)\s]+)(?P<tail>\))", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
_NAME = re.compile(r"^\| `(\w+)` \| (`proctor[^|]*) \|", re.MULTILINE)


def on_config(config: Any) -> Any:
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    named = set(_leaves(config.nav))
    rest = [page for page in _pages() if page not in named and not page.startswith("decisions/")]
    decisions = [page for page in _pages() if page.startswith("decisions/")]
    config.nav += [{OTHERS: rest}] if rest else []
    config.nav += [{"Decisions": decisions}, {"Reference": [_reference(module) for module in public()]}]
    config.nav += [{"Repository": [site_path(path) for path in outside()]}]
    return config


def on_files(files: Files, config: Any) -> Files:
    made = {_reference(module): reference(module, names) for module, names in public().items()}
    made |= {site_path(path): source_page(path) for path in outside()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    place = page.file.src_uri
    if place == "api.md":
        markdown = _NAME.sub(_reference_link, markdown)
    return relinked(without_comments(markdown), place)


def slug(title: str, separator: str) -> str:
    """The anchor of a heading, as a clone's reader and tests/test_docs.py have it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", separator)


def without_comments(text: str) -> str:
    """A page without its comments; code keeps its own."""
    return _COMMENT.sub(lambda found: found["code"] or "", text)


def relinked(text: str, place: str) -> str:
    """The Markdown of the page at `place`, its links to files of the repository turned to where the site has them."""

    def turned(found: re.Match[str]) -> str:
        if found["code"]:
            return found["code"]
        path, mark, anchor = found["target"].partition("#")
        target = None if not path or "://" in path else _resolved(path, place)
        if target is None or not target.is_file():
            return found[0]
        return f"{found['head']}{os.path.relpath(site_path(target), os.path.dirname(place))}{mark}{anchor})"

    return _LINK.sub(turned, text)


def site_path(path: Path) -> str:
    """Where the site has a file of the repository."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    return f"repository/{path.relative_to(ROOT).as_posix()}{'' if path.suffix == '.md' else '.md'}"


def source_page(path: Path) -> str:
    """The page of a file outside docs/: itself, or its text as code."""
    text = path.read_text()
    if path.suffix == ".md":
        return text
    return f"# {path.relative_to(ROOT).as_posix()}\n\n`````{LANGUAGES.get(path.suffix, 'text')}\n{text}`````\n"


@functools.cache
def outside() -> list[Path]:
    """The files outside docs/ that pages link, directly or by one another."""
    found: dict[Path, None] = {}
    waiting = [DOCS / page for page in _pages()]
    while waiting:
        page = waiting.pop()
        targets = (match["target"] for match in _LINK.finditer(page.read_text()) if not match["code"])
        for target in sorted({_resolved(t.partition("#")[0], site_path(page)) for t in targets if "://" not in t}):
            if target.is_file() and not target.is_relative_to(DOCS) and target not in found:
                found[target] = None
                waiting += [target] if target.suffix == ".md" else []
    return sorted(found)


@functools.cache
def public() -> dict[str, list[str]]:
    """Module -> its public names, in the order of docs/api.md."""
    found: dict[str, list[str]] = {}
    for name, modules in _NAME.findall((DOCS / "api.md").read_text()):
        for module in re.findall(r"`([\w.]+)`", modules):
            found.setdefault(module, []).append(name)
    return found


def reference(module: str, names: list[str]) -> str:
    """The page of a module, which mkdocstrings fills. A name that several modules have is on the page of the first."""
    homes = {name: next(home for home, there in public().items() if name in there) for name in names}
    elsewhere = [f"[`{name}`][{home}.{name}]" for name, home in homes.items() if home != module]
    also = f"Also from here: {', '.join(elsewhere)}.\n\n" if elsewhere else ""
    return f"# `{module}`\n\n{also}" + "".join(f"::: {module}.{n}\n\n" for n in names if homes[n] == module)


def _reference(module: str) -> str:
    return f"reference/{module}.md"


def _reference_link(found: re.Match[str]) -> str:
    module = re.findall(r"`([\w.]+)`", found[2])[0]
    return found[0].replace(f"`{found[1]}`", f"[`{found[1]}`][{module}.{found[1]}]", 1)


def _resolved(path: str, place: str) -> Path:
    """The file of the repository that a link on the page at `place` means."""
    origin = ROOT / place.removeprefix("repository/") if place.startswith("repository/") else DOCS / place
    return Path(os.path.normpath(origin.parent / path))


def _pages() -> list[str]:
    return sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def _leaves(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [leaf for part in parts for leaf in _leaves(part)]
