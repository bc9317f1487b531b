"""The parts of the room for text-to-goal models."""

from __future__ import annotations

PARTS = {
    "proctor.loaders": {"goal": "proctor.suites.goals.conditioned:GoalLoader"},
    "proctor.runtimes": {"steve1": "proctor.suites.goals.runtime:Steve1Runtime"},
    "proctor.forms": {"goals": "proctor.suites.goals.forms:GoalsSection"},
}
