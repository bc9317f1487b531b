"""A report section: the nearest approach of each agent."""

from __future__ import annotations

from html import escape
from typing import Any, ClassVar

from proctor import Report, Section

METRIC = "harbour_clearance_min_m"


class Quay(Section):
    """How near each agent came to the quay."""

    key, title, place = "harbour_quay", "At the quay", 55
    suites: ClassVar[tuple[str, ...]] = ("harbour",)

    def html(self, report: Report, data: Any) -> str:
        lines = []
        for agent in report.agents:
            found = agent.overall.metrics.get(METRIC)
            if found is not None and found.value is not None:
                lines.append(f"<li>{escape(agent.agent)}: {found.value:.3f} m from the quay</li>")
        return f"<ul>{''.join(lines)}</ul>" if lines else ""
