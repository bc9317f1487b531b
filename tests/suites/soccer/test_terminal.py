"""`terminal`: parity with the official functions, tables and presets, and what is said of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paying import Kick, kick_task, official

from proctor import ConfigError, config_from_dict
from proctor.config.models import ScoringCfg
from proctor.errors import InputError
from proctor.scoring import Score, make_scoring
from proctor.suites.soccer.metrics import LastTerms
from proctor.suites.soccer.scoring.presets import PRESETS, preset_table
from proctor.suites.soccer.scoring.terminal import TerminalScoring
from proctor_host.episode import Episode, Outcome
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

SEED_TABLES = {
    "penalty_kick": {
        "robot_distance_ball": 0.25, "ball_vel_twd_goal": 1.5, "goal_scored": 2.50, "offside": -3.0,
        "ball_hits": -0.2, "robot_fallen": -1.5, "ball_blocked": -0.5, "steps": -1.0,
    },
    "kick_to_target": {"offside": -1.0, "success": 2.0, "distance": 0.5, "steps": -0.3},
}  # fmt: skip


def scoring(**options: Any) -> TerminalScoring:
    made = make_scoring(ScoringCfg(mode="terminal", options=options))
    assert isinstance(made, TerminalScoring)
    return made


def ended(raw: dict[str, Any], steps: int = 7, task: str = "t", outcome: Outcome = Outcome.FAILURE) -> TrialResult:
    """The result of an episode whose last step had these raw terms, by way of its record."""
    arrays = {f"term/{name}": np.array([9.0] * (steps - 1) + [float(value)]) for name, value in raw.items()}
    record = {"rewards": np.zeros(steps), "actions": np.zeros((steps, 1)), **arrays}
    metrics = LastTerms().values(Episode(record, outcome, 100, task))
    return TrialResult(Trial("a", task, 0, 1), outcome, False, steps, None, 0.0, 100, metrics=metrics)


class Terms:
    """An environment that is nothing but its terms."""

    def __init__(self, raw: dict[str, Any]):
        self.raw = raw

    def compute_reward(self) -> dict[str, Any]:
        return dict(self.raw)


values = st.one_of(
    st.booleans(),
    st.booleans().map(np.bool_),
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6).map(np.float64),
    st.floats(-1e3, 1e3, width=32).map(np.float32),
    st.integers(-50, 50),
)
END = st.sampled_from(["terminated", "truncated"])


@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=40)
@given(data=st.data())
def test_presets_pay_what_the_official_function_pays(preset: str, data: st.DataObject) -> None:
    known = [name for name in PRESETS[preset] if name != "steps"]
    raw = {name: data.draw(values, name) for name in known}
    for extra in ("ball_distance_target", "robot_distance_goal"):
        place = data.draw(st.integers(0, len(raw)), f"place of {extra}")
        items = list(raw.items())
        raw = dict([*items[:place], (extra, data.draw(values, extra)), *items[place:]])
    state = {data.draw(END): True}
    paid, _ = official(SEED_TABLES["kick_to_target" if "target" in preset else "penalty_kick"])(Terms(raw), state)
    assert scoring(preset=preset).score(ended(raw)).total == paid


@given(
    raw=st.dictionaries(st.text("abcdef", min_size=1, max_size=4), values, max_size=9),
    steps=st.one_of(st.none(), st.floats(-3, 3)),
    data=st.data(),
)
def test_own_tables_pay_what_the_official_function_pays(
    raw: dict[str, Any], steps: float | None, data: st.DataObject
) -> None:
    chosen = [name for name in raw if data.draw(st.booleans(), name)]
    weights = {name: data.draw(st.floats(-10, 10), f"weight of {name}") for name in chosen}
    weights |= {} if steps is None else {"steps": steps}
    if not weights:
        return
    paid, _ = official(weights)(Terms(raw), {"terminated": True})
    found = scoring(weights=weights).score(ended(raw))
    assert found.total == paid
    assert sum(part or 0.0 for part in found.components.values()) == pytest.approx(paid)
    assert list(found.components) == [*chosen, *(["steps"] if steps is not None else [])]


def test_presets_equal_the_official_tables() -> None:
    assert dict(PRESETS["sai/goalie_penalty_kick"]) == SEED_TABLES["penalty_kick"]
    assert dict(PRESETS["sai/obstacle_penalty_kick"]) == SEED_TABLES["penalty_kick"]
    assert dict(PRESETS["sai/kick_to_target"]) == SEED_TABLES["kick_to_target"]
    assert all(list(table)[-1] == "steps" for table in PRESETS.values())


def test_by_hand() -> None:
    raw = {"offside": True, "success": False, "distance": 0.5, "robot_distance_ball": 3.0}
    found = scoring(preset="sai/kick_to_target").score(ended(raw))
    assert found == Score(-1.0 + 0.0 + 0.25 - 0.3, {"offside": -1.0, "success": 0.0, "distance": 0.25, "steps": -0.3})


def test_steps_are_paid_once_or_counted() -> None:
    raw = {"x": 2.0}
    once, count = (scoring(weights={"steps": -0.5, "x": 1.0}, steps=how) for how in ("once", "count"))
    assert once.score(ended(raw, steps=1)).total == once.score(ended(raw, steps=40)).total == 1.5
    assert count.score(ended(raw, steps=1)).total == 1.5
    assert count.score(ended(raw, steps=40)).total == -18.0


def test_a_term_without_a_finite_value_leaves_no_score() -> None:
    found = scoring(weights={"x": 1.0, "y": 2.0}).score(ended({"x": np.nan, "y": 1.0}))
    assert found == Score(None, {"x": None, "y": 2.0})


def test_broken_trials_have_no_floor_but_the_configs() -> None:
    broken = ended({}, outcome=Outcome.INVALID_ACTION)
    assert scoring(weights={"x": 1.0}).score(broken).total is None
    floored = make_scoring(ScoringCfg(mode="terminal", floor=-4.0, options={"weights": {"x": 1.0}}))
    assert floored.score(broken).total == -4.0
    assert scoring(weights={"x": 1.0}).score(ended({"x": 1}, outcome=Outcome.TIMEOUT)).total is None


def test_what_the_evaluation_function_paid_is_the_score() -> None:
    record = {"rewards": np.zeros(3), "evaluation_reward": np.array([0.0, 0.0, 19.25])}
    metrics = LastTerms().values(Episode(record, Outcome.FAILURE, 5, "t"))
    result = TrialResult(Trial("a", "t", 0, 1), Outcome.FAILURE, False, 3, None, 0.0, 5, metrics=metrics)
    assert scoring(source="evaluation_fn").score(result) == Score(19.25, {})
    with pytest.raises(InputError, match="recorded no evaluation_reward: it ran without an evaluation function"):
        scoring(source="evaluation_fn").score(ended({"x": 1.0}))


# Tables by task -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "preset"),
    [
        ("LowerT1GoaliePenaltyKick-v0", "sai/goalie_penalty_kick"),
        ("obstacle penalty kick", "sai/obstacle_penalty_kick"),
        ("lower_t1_kick_to_target", "sai/kick_to_target"),
    ],
)
def test_a_family_goes_by_the_name_of_the_task(task: str, preset: str) -> None:
    assert preset_table("sai", task) == (preset, PRESETS[preset])
    assert scoring(preset="sai").table(task).official


def test_weights_change_a_preset_and_its_order_stays() -> None:
    made = scoring(preset="sai", weights={"steps": 0.0}, task_weights={"KickToTarget": {"success": 5.0, "new": 1.0}})
    table = made.table("KickToTarget")
    assert list(table.weights.items()) == [
        ("offside", -1.0), ("success", 5.0), ("distance", 0.5), ("new", 1.0), ("steps", 0.0),
    ]  # fmt: skip
    assert (table.preset, table.changed, table.official) == ("sai/kick_to_target", ("steps", "success", "new"), False)
    assert scoring(preset="sai", weights={"offside": -1.0}).table("KickToTarget").official, "the same number"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "sai/goalie"}, 'unknown preset "sai/goalie"; did you mean "sai/goalie_penalty_kick"?'),
        ({"presets": "sai"}, "options.presets: unknown key; expected one of preset"),
        ({"preset": {"kick": "say"}}, 'unknown preset "say"; did you mean "sai"?'),
        ({"weights": {"x": "much"}}, 'options.weights.x: found "much"; expected a number'),
        ({"weights": {"x": float("nan")}}, "options.weights.x: found nan; expected a finite number"),
        ({"preset": "sai", "steps": "twice"}, 'options.steps: found "twice"; expected one of once, count'),
        ({"preset": "sai", "source": "evaluation_fn"}, "the function decides; leave out preset and weights"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        scoring(**options)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "sai"}, 'the preset "sai" has nothing for the task "kick", whose name holds none of'),
        (
            {"preset": {"kik": "sai/kick_to_target"}},
            'there are weights for "kik", which is no task; did you mean "kick"',
        ),
        ({"task_weights": {"kick": {"far": 1.0}}}, 'has no weights for the task "still"'),
        (None, 'the preset "sai" has nothing for the task "kick", whose name holds none of goalie_penalty_kick'),
    ],
)
def test_tasks_without_a_table_are_a_problem_of_the_config(options: dict[str, Any] | None, message: str) -> None:
    keys = {"mode": "terminal"} | ({} if options is None else {"options": options})
    raw = {"agents": [{"policy": "zero"}], "tasks": [kick_task(), kick_task("still", still=True)], "scoring": keys}
    with pytest.raises(ConfigError) as refused:
        config_from_dict(raw)
    assert message in str(refused.value)
    assert "scoring.options" in str(refused.value)


def test_a_weight_without_a_recorded_term_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as refused:
        scoring(weights={"goal_score": 1.0}).score(ended({"goal_scored": True, "far": 1.0}))
    assert 'a weight for "goal_score", a term that the task "t" did not record; did you mean "goal_scored"?' in str(
        refused.value
    )
    with pytest.raises(InputError, match='the task "t" recorded no terms'):
        scoring(weights={"goal_score": 1.0}).score(ended({}))


# What is said ---------------------------------------------------------------------------------------------------------


def test_ignored_terms_and_unofficial_weights_are_said() -> None:
    recorded = {"KickToTarget": ["term/offside", "term/success", "term/distance", "term/robot_distance_ball", "emd"]}
    (ignored,) = scoring(preset="sai").remarks(recorded)
    assert ignored.level == "note"
    assert ignored.text == "Recorded terms without a weight count nothing: KickToTarget: robot_distance_ball."
    changed, _, counted = scoring(preset="sai", weights={"success": 5}, steps="count").remarks(recorded)
    assert changed.level == counted.level == "caution"
    assert changed.text.startswith("These are not the official weights, and the scores not official ones: KickToTarget")
    assert "success 5 for 2." in changed.text
    assert "the official functions pay it once" in counted.text


def test_other_weights_reach_every_task_that_has_the_term() -> None:
    made = scoring(preset="sai")
    recorded = {"goalie": ["term/goal_scored"], "target": ["term/success"]}
    options = made.reweighted({"goal_scored": 5.0, "steps": 0.0}, recorded)
    assert options["task_weights"] == {"goalie": {"goal_scored": 5.0, "steps": 0.0}, "target": {"steps": 0.0}}
    with pytest.raises(InputError, match='no task recorded a term "goal_score"; did you mean "goal_scored"'):
        made.reweighted({"goal_score": 5.0}, recorded)
    with pytest.raises(InputError, match='the run is scored by "return", which has no terms'):
        make_scoring(ScoringCfg(mode="return")).reweighted({"goal_scored": 5.0}, recorded)
    with pytest.raises(InputError, match="scored by its own evaluation function, which has no weights"):
        scoring(source="evaluation_fn").reweighted({"goal_scored": 5.0}, recorded)


# Whole runs -----------------------------------------------------------------------------------------------------------

WEIGHTS = {"distance": 0.7, "goal_scored": 2.5, "robot_fallen": -1.5, "far": 0.1, "steps": -0.3}


def test_a_run_scores_what_a_plain_loop_with_the_official_function_gives(examine) -> None:
    agents = [{"name": "random", "policy": "random"}, {"name": "zero", "policy": "zero"}]
    keys = {"mode": "terminal", "options": {"weights": WEIGHTS}}
    run = examine(agents=agents, tasks=[kick_task()], n_trials=6, scoring=keys)
    made = make_scoring(run.config().scoring)
    lengths = set()
    for result in run.results():
        env, state, paid = Kick(), {}, 0.0
        env.reset(seed=result.trial.seed)
        arrays = run.episode(result).arrays
        for action, *flags in zip(arrays["actions"], arrays["terminals"], arrays["truncations"], strict=True):
            env.step(action)
            state |= dict(zip(("terminated", "truncated"), map(bool, flags), strict=True))
            paid, state = official(WEIGHTS)(env, state)
        assert made.score(result).total == paid
        lengths.add(result.outcome)
    assert len(lengths) > 1, "truncated and terminated episodes"
