"""The parts of the room for text-to-goal models."""

from __future__ import annotations

PARTS = {
    "proctor.loaders": {"goal": "proctor.suites.goals.conditioned:GoalLoader"},
    "proctor.forms": {"goals": "proctor.suites.goals.forms:GoalsSection"},
}
