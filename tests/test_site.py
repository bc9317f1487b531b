"""The documentation as a website: every link leads somewhere, comments for tests do not show, nothing is fetched."""

from __future__ import annotations

import html
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from manual import anchors, headings

pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def hooks() -> Any:
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "scripts" / "site_hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_comments_go_and_code_keeps_its_own(hooks: Any) -> None:
    page = "a\n\n<!-- not run: slow -->\n```bash\nls\n```\n<!-- setup\nx\n\ny\n-->\nb\n\n```html\n<!-- kept -->\n```\n"
    assert hooks.without_comments(page) == "a\n\n```bash\nls\n```\nb\n\n```html\n<!-- kept -->\n```\n"


@pytest.mark.parametrize(
    ("place", "written", "expected"),
    [
        ("config.md", "[e](../examples/quickstart.yml)", "[e](repository/examples/quickstart.yml.md)"),
        ("config.md", "[r](../README.md#install)", "[r](repository/README.md#install)"),
        ("config.md", "[r](runs.md#exit-codes)", "[r](runs.md#exit-codes)"),
        ("config.md", "[h](#here) [w](https://example.org/a.md)", "[h](#here) [w](https://example.org/a.md)"),
        ("config.md", "`[e](../LICENSE)`", "`[e](../LICENSE)`"),
        ("decisions/0019-hosts.md", "[e](../../LICENSE)", "[e](../repository/LICENSE.md)"),
        ("repository/README.md", "![i](docs/images/report.png)", "![i](../images/report.png)"),
        ("repository/README.md", "[l](LICENSE)", "[l](LICENSE.md)"),
        ("config.md", "[no](../no-such-file.md)", "[no](../no-such-file.md)"),
    ],
)
def test_links_lead_to_where_the_site_has_the_file(hooks: Any, place: str, written: str, expected: str) -> None:
    assert hooks.relinked(written, place) == expected


def test_anchors_are_those_of_a_clone(hooks: Any) -> None:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert {hooks.slug(title, "-") for title in headings(page)} == anchors(page), page.name


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning (a link that leads nowhere, a page outside the navigation) as an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Documentation built" in done.stderr, "a build that is quiet counts no warnings, and --strict means nothing"
    return folder


def test_make_builds_it_in_the_same_way() -> None:
    (recipe,) = re.findall(r"^\t.*mkdocs (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe == "build --strict"


@pytest.mark.slow
def test_every_page_is_there_and_can_be_searched(built: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert [page for page in pages if not (built / page).is_file()] == []
    index = json.loads((built / "search" / "search_index.json").read_text())["docs"]
    assert pages <= {entry["location"].partition("#")[0] or "index.html" for entry in index}


@pytest.mark.slow
def test_every_public_name_has_its_place_in_the_reference(built: Path, hooks: Any) -> None:
    linked = set(re.findall(r'href="(reference/[^"]+)"', (built / "api.html").read_text()))
    wanted = {name for names in hooks.public().values() for name in names}
    assert {target.rpartition(".")[2] for target in linked if "#" in target} >= wanted
    for target in linked:
        page, _, anchor = target.partition("#")
        assert not anchor or f'id="{anchor}"' in (built / page).read_text(), target


@pytest.mark.slow
def test_pages_read_as_they_were_written(built: Path) -> None:
    """No comment for the tests, no Markdown that was not understood."""
    for path in built.rglob("*.html"):
        text = re.sub(r"<pre.*?</pre>|<code.*?</code>|<script.*?</script>", "", path.read_text(), flags=re.S)
        name = path.relative_to(built)
        assert "not run:" not in html.unescape(text), name
        assert "```" not in text, name
        paragraphs = re.findall(r"<p>(.*?)</p>", text, re.S)
        assert [p for p in paragraphs if re.search(r"^(- |\* |\d+\. |\|)", p, re.M)] == [], name


@pytest.mark.slow
def test_a_reader_s_browser_fetches_nothing_from_elsewhere(built: Path) -> None:
    for path in built.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|iframe)[^>]* src=\"?([^\"\s>]+)", path.read_text())
        loaded += re.findall(r"<link[^>]* rel=\"?(?:stylesheet|preconnect|icon)\"?[^>]*>", path.read_text())
        assert [part for part in loaded if "//" in part] == [], path.relative_to(built)
