"""A page of a report on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import CHROMIUM, NARROW

from proctor.report.draw.page import Block, Page, render

RECORD = "trials/stand__goalie_penalty_kick_trial0000_seed11748724028594454636.npz"


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
def test_a_long_name_of_a_record_does_not_widen_the_page(tmp_path: Path) -> None:
    from playwright.sync_api import sync_playwright

    block = Block("worst", "Worst trials", f'<p>Record: <a href="{RECORD}">{RECORD}</a></p>')
    page = tmp_path / "report.html"
    page.write_text(render(Page("Report", "soccer", "No winner.", [], [block], "Generated.", ())), encoding="utf-8")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        shown = browser.new_page(viewport=NARROW)  # pyright: ignore[reportArgumentType]
        shown.goto(page.as_uri())
        wide = shown.evaluate("() => document.documentElement.scrollWidth")
        browser.close()
    assert wide <= NARROW["width"]
