"""A config form: a voyage, as the harbour's own tools write it."""

from __future__ import annotations

from typing import Any, ClassVar

from proctor import ConfigForm, Problems


class Voyage(ConfigForm):
    """`voyage: {pilots: {name: gain}, width_m: 2, times: 3}`."""

    name: ClassVar[str] = "harbour_voyage"

    def recognises(self, data: dict[str, Any]) -> bool:
        return isinstance(data.get("voyage"), dict)

    def translate(self, data: dict[str, Any], problems: Problems) -> dict[str, Any]:
        voyage, rest = data["voyage"], {key: value for key, value in data.items() if key != "voyage"}
        agents = [
            {"name": name, "policy": "harbour_pilot", "options": {"gain": gain}}
            for name, gain in voyage.get("pilots", {}).items()
        ]
        task = {"suite": "harbour", "options": {"width_m": voyage.get("width_m", 2.0)}}
        return {**rest, "agents": agents, "tasks": [task], "n_trials": voyage.get("times", 1)}
