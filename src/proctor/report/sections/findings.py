"""What a reader must know before using the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.report.draw.svg import esc
from proctor.report.model import Finding, Report
from proctor.report.section import Section

SHOWN = 10


class Findings(Section):
    """Every finding; beyond the first ones behind a fold."""

    key, title, place = "findings", "Findings", 30

    def html(self, report: Report, data: Any) -> str:
        return finding_list(report.findings)


def finding_list(found: Sequence[Finding]) -> str:
    """Findings as a list; "" without any."""
    items = [
        f'<li class="{f.level}"><span class="tag">{"Caution" if f.level == "caution" else "Note"}</span>'
        f"<span>{esc(f.text)}</span></li>"
        for f in found
    ]
    if not items:
        return ""
    shown, folded = items[:SHOWN], items[SHOWN:]
    rest = f'<details><summary>{len(folded)} more</summary><ul class="findings">{"".join(folded)}</ul></details>'
    return f'<ul class="findings">{"".join(shown)}</ul>' + (rest if folded else "")
