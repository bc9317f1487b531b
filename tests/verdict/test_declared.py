"""A declaration: its hash, and every deviation by itself."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from made_up_runs import config

from proctor.config.models import DeclareCfg, EvalConfig
from proctor.verdict.declared import Declared, Facts, Noted, canonical, hash_of, held_against, noted

DECLARED = {"primary": "success", "n": 20, "alpha": 0.05, "margin": 0.02}


def cfg(**keys: Any) -> EvalConfig:
    return config(Path("runs"), ("a",), **{"declare": DECLARED, **keys})


def facts(**keys: Any) -> Facts:
    cells = [("a", "reach", 20, 0)]
    return Facts(**{"level": 0.95, "by": "score", "cells": cells, "missing": False, "measured": True, **keys})


def deviations(own: EvalConfig, held: Facts, history: list[Noted] | None = None) -> tuple[str, ...]:
    found = held_against(own, held, [noted(own, 0)] if history is None else history)
    assert isinstance(found, Declared)
    return found.deviations


def test_the_hash_is_that_of_canonical_json() -> None:
    declare = DeclareCfg(primary="success", n=20, margin=0.02)
    text = '{"alpha":0.05,"margin":0.02,"n":20,"primary":"success"}'
    assert canonical(declare) == text
    assert hash_of(declare) == hashlib.sha256(text.encode()).hexdigest()


def test_the_order_of_keys_does_not_matter_and_every_value_does() -> None:
    assert hash_of(DECLARED) == hash_of(dict(reversed(DECLARED.items())))
    others = [{**DECLARED, key: value} for key, value in
              {"primary": "score", "n": 21, "alpha": 0.01, "margin": None}.items()]  # fmt: skip
    assert len({hash_of(each) for each in (DECLARED, *others)}) == 5


def test_a_run_as_declared_has_no_deviation() -> None:
    assert deviations(cfg(), facts()) == ()
    assert held_against(cfg(declare=None), facts(), []) is None


@pytest.mark.parametrize(
    ("keys", "held", "said"),
    [
        ({"n_trials": 25}, {"cells": [("a", "reach", 25, 0)]},
         ["25 trials of each agent are planned on reach, and n was declared as 20"]),
        ({}, {"cells": [("a", "reach", 18, 0)], "missing": True},
         ["only 18 of 20 trials of a on reach are finished"]),
        ({}, {"cells": [("a", "reach", 18, 0)]}, []),
        ({}, {"cells": [("a", "reach", 20, 1)]}, ["1 trial of a on reach is unscored"]),
        ({}, {"level": 0.9}, ["tests have the error rate 0.1, and alpha was declared as 0.05"]),
        ({"stop_when": {"interval_width": 0.1, "alpha": 0.1, "max_trials": 20}}, {},
         ["stop_when has alpha 0.1, and alpha was declared as 0.05"]),
        ({"scoring": {"mode": "return"}}, {},
         ["agents are ranked by score (return), and success was declared as what decides"]),
        ({"scoring": {"mode": "return"}}, {"by": "success"}, []),
        ({"declare": {**DECLARED, "primary": "score"}}, {"by": "success"},
         ["agents are ranked by success, and score was declared as what decides"]),
        ({}, {"measured": False}, ["no agent has a number for success, which was declared as what decides"]),
        ({"declare": {**DECLARED, "primary": "force"}}, {"measured": False},
         ["agents are ranked by score (success), and force was declared as what decides",
          "no agent has a number for force, which was declared as what decides"]),
    ],
)  # fmt: skip
def test_each_deviation(keys: dict[str, Any], held: dict[str, Any], said: list[str]) -> None:
    assert deviations(cfg(**keys), facts(**held)) == tuple(said)


def test_a_changed_declaration_names_both_hashes() -> None:
    old, new = cfg(declare={**DECLARED, "margin": 0.1}), cfg()
    first, second = (hash_of(each.declare)[:16] for each in (old, new) if each.declare)
    history = [noted(old, 0), noted(new, 7)]
    said = (f"the declaration was changed after 7 trials had finished, from {first} to {second}",)
    assert deviations(new, facts(), history) == said


def test_a_declaration_that_was_changed_back_is_still_seen() -> None:
    own, other = cfg(), cfg(declare={**DECLARED, "n": 30})
    history = [noted(own, 0), noted(other, 5), noted(own, 9)]
    assert [said.split(",")[0] for said in deviations(own, facts(), history)] == [
        "the declaration was changed after 5 trials had finished",
        "the declaration was changed after 9 trials had finished",
    ]


def test_a_config_that_was_edited_by_hand_is_seen() -> None:
    (said,) = deviations(cfg(), facts(), [noted(cfg(declare={**DECLARED, "margin": 0.5}), 0)])
    assert said.startswith("the declaration was changed after 0 trials had finished, from ")


def test_what_is_declared_late_or_was_never_noted_is_said() -> None:
    bare = noted(cfg(declare=None), 0)
    assert deviations(cfg(), facts(), [bare, noted(cfg(), 20)]) == ("it was declared after 20 trials had finished",)
    assert deviations(cfg(), facts(), [bare]) == ("the run has no note that anything was declared when it began",)
    assert deviations(cfg(), facts(), []) == ("the run has no note that anything was declared when it began",)
    found = held_against(cfg(), facts(), None)
    assert found is not None
    assert found.deviations == ()


def test_another_scoring_more_trials_and_other_groups_are_seen() -> None:
    start, then = noted(cfg(), 0), noted(cfg(), 20)
    changed = {**then, "scoring": {**then["scoring"], "floor": -1.0}, "n_trials": {"reach": 40}, "groups": {"a": "m"}}
    said = deviations(cfg(), facts(), [start, changed])[:3]  # type: ignore[list-item]
    assert said == (
        "the scoring was changed after 20 trials had finished: floor from None to -1.0",
        "the number of trials on reach was changed after 20 trials had finished, from 20 to 40",
        "the groups of agents were changed after 20 trials had finished",
    )
