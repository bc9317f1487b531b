"""Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDE, NARROW = {"width": 1360, "height": 900}, {"width": 390, "height": 844}


class Window:
    """A page of the browser that notes whatever goes wrong in it."""

    def __init__(self, browser: Any, url: str, size: dict[str, int], scheme: str = "light"):
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page, self.url = self.context.new_page(), url
        self.wrong: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"a dialog: {dialog.message}"))
        self.page.on("console", self._said)

    def _said(self, said: Any) -> None:
        if said.type == "error":
            self.wrong.append(f"{said.text} ({said.location.get('url')})")

    def open(self, path: str) -> Any:
        self.page.goto(self.url + path)
        self.page.wait_for_selector("#main[data-ready]")
        return self.page

    def here(self) -> str:
        return self.page.evaluate("() => location.pathname + location.search")
