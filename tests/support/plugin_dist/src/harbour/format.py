"""An output format: one line for each agent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from proctor import Format, Report, Trials


class HarbourLog(Format):
    """A plain list of agents and success rates."""

    name: ClassVar[str] = "harbour_log"
    always: ClassVar[bool] = False

    def write(self, folder: Path, report: Report, trials: Trials) -> list[str]:
        lines = [f"{agent.agent}: {agent.overall.success.rate}" for agent in report.agents]
        temporary = folder / ".harbour.log.tmp"
        temporary.write_text("\n".join(["Harbour log", *lines]) + "\n", encoding="utf-8")
        os.replace(temporary, folder / "harbour.log")
        return ["harbour.log"]
