"""A run asks some forwards again, to see what their rows depend on; that changes nothing, and what it finds is said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crooked import ByCall, ByCompany, ByPlace, BySize, OnlySixteen, Straight, remembers
from examining import digests, examination, policy
from gymnasium.spaces import Box
from telling import Tell

from proctor import Outcome, Policy, Run, config_from_dict
from proctor.policies.plain import as_policy
from proctor.policies.rows import sample_batch
from proctor.rollout.ask import runner
from proctor.rollout.ask.rows import RowFindings, examine
from proctor.runs.conditions import added, cautions
from proctor.runs.merge import merge
from proctor.runs.replay import replay
from proctor.runs.start import run_evaluation
from proctor_host.trials import Trial

FILE = Path(__file__).parents[1] / "support" / "crooked.py"
PLACES = [("inline", "engine"), ("inline", "worker"), (2, "engine"), (2, "worker")]
UNEQUAL = ": trials may not come out the same to the byte"
CURE = "options: {pad_to: 1} asks for every row alone."
Examine = Callable[..., Run]


def agent(name: str, **options: Any) -> dict[str, Any]:
    return {"name": name.lower(), "policy": f"{FILE}:{name}", "options": options}


def found(run: Run, level: str) -> list[str]:
    """Findings about rows."""
    said = [finding["text"] for finding in run.report()["findings"] if finding["level"] == level]
    return [text for text in said if re.search(r"\b(rows?|pad_to|bytes?)\b", text)]


@pytest.mark.parametrize(
    ("crooked", "expected"),
    [
        (Straight, RowFindings(tried=1)),
        (ByPlace, RowFindings(tried=1, place=1)),
        (ByCompany, RowFindings(tried=1, company=1, alone=1)),
        (BySize, RowFindings(tried=1, alone=1)),
        (ByCall, RowFindings(tried=1, again=1)),
        (OnlySixteen, RowFindings(tried=1, alone_unknown=1)),
        (lambda: as_policy(lambda obs: obs[:2]), RowFindings(tried=1)),
        (lambda: as_policy(remembers), RowFindings(tried=1, memory=1)),
    ],
)
def test_what_matters_is_told_apart(crooked: Callable[[], Policy], expected: RowFindings) -> None:
    made, trials = crooked(), [Trial("a", "t", i, i) for i in range(16)]
    batch = sample_batch(made, Box(-1.0, 1.0, (6,), np.float32), trials)
    begun: list[int] = []
    assert examine(made, batch, "act", lambda: begun.append(1)) == expected
    assert batch.rngs[3].standard_normal() == trials[3].policy_rng().standard_normal(), "no generator has advanced"
    assert len(begun) == (2 if expected.again or expected.memory else 4 if made.row_by_row else 5)


def test_a_policy_that_raises_when_it_is_asked_again_has_shown_nothing() -> None:
    class Once(Policy):
        def act(self, batch: Any) -> Any:
            raise RuntimeError

    batch = sample_batch(Once(), Box(-1.0, 1.0, (6,), np.float32), [Trial("a", "t", 0, 0)] * 2)
    assert examine(Once(), batch, "act", lambda: None) == RowFindings()


@pytest.mark.parametrize("name", ["Noisy", "TwoStages", "Recurrent"])
@pytest.mark.parametrize("placement", ["engine", "worker"])
def test_asking_again_changes_no_trial(
    examine: Examine, monkeypatch: pytest.MonkeyPatch, name: str, placement: str
) -> None:
    examined = examine(agents=[policy(name, placement=placement)])
    monkeypatch.setattr(runner, "DUE", ())
    left_alone = examine(agents=[policy(name, placement=placement)])
    assert digests(examined) == digests(left_alone)
    asked, not_asked = (sum(s["tried"] for s in rows_of(run)[name.lower()].values()) for run in (examined, left_alone))
    assert asked > 0
    assert not_asked == 0


def rows_of(run: Run) -> dict[str, Any]:
    return run.report()["environment"]["rows"]


@pytest.mark.parametrize(("workers", "placement"), PLACES)
def test_a_run_says_that_a_row_s_place_matters(examine: Examine, workers: Any, placement: str) -> None:
    run = examine(agents=[agent("ByPlace", placement=placement)], workers=workers)
    assert found(run, "caution") == [
        f"byplace gave a row another answer in another place of the batch{UNEQUAL}; {CURE}"
    ]
    assert rows_of(run)["byplace"]["act"]["place"] > 0
    assert list(replay(run.path, "byplace/toy/0000").conditions) == found(run, "caution")
    assert found(examine(agents=[agent("ByPlace", placement=placement, pad_to=1)], workers=workers), "caution") == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ByCompany", f"gave a row another answer when the rows beside it were others{UNEQUAL}; {CURE}"),
        ("ByCall", f"gave other answers when the same rows were asked for again, with the same generators{UNEQUAL}."),
        (
            "remembers",
            "gave other answers to the same observations, so what is asked for many trials at once remembers"
            f"{UNEQUAL}; give a class, or a function without arguments that makes one, then every trial has its own.",
        ),
        ("SecondStage", f"gave a row another answer in another place of the batch{UNEQUAL}; {CURE}"),
    ],
)
def test_a_run_says_what_else_matters(examine: Examine, name: str, said: str) -> None:
    assert found(examine(agents=[agent(name)]), "caution") == [f"{name.lower()} {said}"]


def test_a_straight_policy_is_not_spoken_of(examine: Examine) -> None:
    run = examine(agents=[agent("Straight"), {"name": "random", "policy": "random"}])
    assert found(run, "caution") == found(run, "note") == []
    assert {name: stages["act"]["pad_to"] for name, stages in rows_of(run).items()} == {"straight": 16, "random": 16}


@pytest.mark.parametrize(("name", "verb"), [("BySize", "are"), ("OnlySixteen", "may be")])
def test_a_run_says_that_one_row_alone_is_rounded_otherwise(tell: Tell, tmp_path: Path, name: str, verb: str) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(examination(tmp_path / "runs", agents=[agent(name)])))
    said = tell("run", config).out
    (run,) = (tmp_path / "runs").iterdir()
    sentence = (
        f"{name.lower()}: rows are computed 16 at a time and {verb} rounded otherwise than one alone, so a script that "
        f"asks for one row may get other last bits; {CURE}"
    )
    assert found(Run.open(run), "note") == [sentence]
    assert f"note: {sentence}" in " ".join(said.split())


def test_a_run_says_that_pad_to_is_null(tell: Tell, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    agents = [agent("Straight", pad_to=None), agent("BySize", pad_to=1)]
    config.write_text(json.dumps(examination(tmp_path / "runs", agents=agents)))
    said = tell("run", config).out
    sentence = (
        "pad_to is null for straight: a trial's bytes may depend on which trials share its forwards, and another run "
        "may give others."
    )
    (run,) = (tmp_path / "runs").iterdir()
    assert found(Run.open(run), "caution") == [sentence]
    assert f"caution: {sentence}" in " ".join(said.split())


@pytest.mark.parametrize("placement", ["engine", "worker"])
def test_the_limit_holds_for_each_forward_that_is_asked_again(examine: Examine, placement: str) -> None:
    """All five of them together would take longer."""
    limits = {"act_s": 0.4, "trial_s": None}
    slow = [agent("Slow", placement=placement)]
    run = examine(agents=slow, n_trials=1, num_parallel=1, max_episode_steps=2, limits=limits, workers=1)
    assert [result.outcome for result in run.results()] != [Outcome.POLICY_ERROR]
    assert rows_of(run)["slow"]["act"]["tried"] == 1


def test_what_shards_found_stays_when_they_are_merged(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path, agents=[agent("ByPlace")]))
    shards = [run_evaluation(cfg, shard=f"{i}/2") for i in (1, 2)]
    merged = merge([run.path for run in shards])
    assert found(merged, "caution") == found(shards[0], "caution") != []
    tried = [rows_of(run)["byplace"]["act"]["tried"] for run in (merged, *shards)]
    assert tried[0] == tried[1] + tried[2]


def test_what_one_part_has_found_is_not_lost_by_another_that_has_not() -> None:
    place = {"a": {"act": {"pad_to": 16, "tried": 1, "place": 1}}}
    nothing = {"a": {"act": {"pad_to": 16, "tried": 2, "place": 0}}, "b": {"act": {"pad_to": None, "tried": 0}}}
    both = {"a": {"act": {"pad_to": 16, "tried": 3, "place": 1}}, "b": nothing["b"]}
    assert added(place, nothing) == added(nothing, place) == both


def test_parts_of_a_run_with_other_threads_are_cautioned_about() -> None:
    sessions = [{"numeric_threads": 2}, {}, {"numeric_threads": 1}, {"numeric_threads": 2}]
    assert list(cautions({}, sessions)) == [
        "Parts of this run computed with 1 and 2 numeric threads, which may round differently."
    ]
    assert list(cautions({}, sessions[:2])) == []
