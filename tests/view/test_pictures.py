"""The pictures in docs/view.md are of the viewer as it is: taken here, when asked for, of the examples."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from browsing import CHROMIUM, NARROW, WIDE, Window
from viewing import viewer

from proctor import load_config, run_evaluation

pytestmark = pytest.mark.pictures
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
IMAGES, PAGE = ROOT / "docs" / "images", ROOT / "docs" / "view.md"
NAMES = ("view-run", "view-trials", "view-trial", "view-space", "view-narrow")


def test_every_picture_of_the_page_is_there_and_is_taken_here() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(images/(view-[a-z]+)\.png\)", PAGE.read_text())
    assert sorted(shown) == sorted(NAMES)
    assert all((IMAGES / f"{name}.png").stat().st_size > 10_000 for name in NAMES)


@pytest.mark.skipif(os.environ.get("PROCTOR_DOCS") != "update", reason="takes minutes; PROCTOR_DOCS=update takes them")
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
def test_the_pictures_are_taken(browser: Any, tmp_path: Path) -> None:
    runs = examined(tmp_path)
    guided = f"/run/{runs['endovascular']}/trial?trial=navigator/arch-I-rsa/0000"
    tracked = f"/run/{runs['tracking']}/trial?trial=hold/builtin motions/0002"
    table = f"/run/{runs['quickstart']}/trials?task=pendulum&sort=reward&show=action_rate_mean"
    tall = {"width": 1360, "height": 1500}
    places = {
        "view-run": (f"/run/{runs['quickstart']}", "#agents td.letters", WIDE, "light"),
        "view-trials": (table, "form select", WIDE, "light"),
        "view-trial": (guided, ".plot .u-over", tall, "light"),
        "view-space": (tracked, "#signals .plot", WIDE, "dark"),
        "view-narrow": (guided, "#signals .plot", NARROW, "light"),
    }
    with viewer(tmp_path) as served:
        for name, (path, seen, size, scheme) in places.items():
            window = Window(browser, served.url, size, scheme)
            page = window.open(path)
            page.locator(seen).first.wait_for()
            if "/trial?" in path:
                page.get_by_role("tab", name="In space").click()
                page.locator(".stage canvas[data-drawn]").wait_for()
            page.wait_for_timeout(1500)
            page.screenshot(path=IMAGES / f"{name}.png")
            window.context.close()
            assert window.wrong == []


def examined(root: Path) -> dict[str, str]:
    """Names of run folders of three examples."""
    settings = {
        "quickstart": ["n_trials=20"],
        "endovascular": ["n_trials=4", "record.level=video"],
        "tracking": ["record.states=true", "n_trials=3"],
    }
    return {
        name: run_evaluation(load_config(str(EXAMPLES / f"{name}.yml"), [*sets, f"output_root={root}"])).path.name
        for name, sets in settings.items()
    }
