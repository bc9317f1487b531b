"""Measuring and trying: on toys, briefly."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from examining import digests, examination, policy, task
from typer.testing import CliRunner

from proctor import InputError, Run, config_from_dict, run_evaluation
from proctor.cli import app
from proctor.runs.tune import Settings, TuneCfg, Tuning, tune, yaml_lines
from proctor.runs.tune.measuring import env_seconds
from proctor.runs.tune.tuning import apply, current_settings


def test_settings_change_no_result(tmp_path: Path, examine: Callable[..., Run]) -> None:
    cfg = config_from_dict(examination(tmp_path, agents=[policy("TwoStages")]))
    tuned = run_evaluation(apply(cfg, Settings(0, 8, 32, 0.002)))
    assert digests(tuned) == digests(examine(agents=[policy("TwoStages")]))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"workers": "inline"}, Settings(0, 4, 16)),
        ({"workers": "process"}, Settings(3, 4, 16)),
        ({"workers": 8}, Settings(4, 4, 16)),
        ({"agents": [policy("Linear", pad_to=None)]}, Settings(0, 4, 4)),
        ({"agents": [policy("Linear", max_batch=32, max_wait_s=0.5)]}, Settings(0, 4, 32, 0.5)),
    ],
)
def test_what_a_config_leaves_open_is_filled_in(keys, expected, tmp_path: Path) -> None:
    assert current_settings(config_from_dict(examination(tmp_path, **keys)), available=3) == expected


def test_the_yaml_says_the_proposal(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path, agents=[policy("Linear"), policy("Noisy")]))
    assert yaml_lines(cfg, Settings(0, 32, 64, 0.004)) == [
        "workers: inline", "num_parallel: 32", "agents:",
        "- name: linear", "  options:", "    max_batch: 64", "    max_wait_s: 0.004",
        "- name: noisy", "  options:", "    max_batch: 64", "    max_wait_s: 0.004",
    ]  # fmt: skip


def test_a_step_costs_at_least_its_nap(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path, tasks=[task(kwargs={"nap_s": 0.01})]))
    assert env_seconds(cfg.tasks[0], 0, 0.1, worlds=4) >= 0.01


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tuning, list[str]]:
    told: list[str] = []
    made = examination(tmp_path_factory.mktemp("tuned"), agents=[policy("TwoStages"), policy("Noisy")])
    return tune(config_from_dict(made), TuneCfg(seconds=0.2, most_slots=8), told.append), told


def test_tune_measures_proposes_and_tries(tuned: tuple[Tuning, list[str]]) -> None:
    found, told = tuned
    assert set(found.env_s) == {"toy"}
    assert found.forwards["noisy"].horizon == 3
    assert set(found.forwards["twostages"].stages[1]) == {"plan", "act"}
    assert all(rated.measured > 0 and rated.predicted > 0 for rated in (found.current, *found.tried))
    assert found.proposal.settings.num_parallel <= 8
    assert told[2] == 'asking agent "noisy"'
    assert told[-3:-2] == ["a short run with inline workers and 4 slots"]
    assert found.proposal.measured == max(rated.measured for rated in found.tried)


def test_a_policy_that_breaks_is_named(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path, agents=[policy("Quitter")]))
    with pytest.raises(InputError, match="the policy gives no actions: no plan was found; see proctor check"):
        tune(cfg, TuneCfg(seconds=0.1, most_slots=2), lambda _: None)


@pytest.mark.parametrize(
    ("gain", "ends"),
    [(1.0, "the config is about as fast as the proposal; leave it as it is"), (2.0, "max_wait_s: 0.25")],
)
def test_the_verb_says_what_was_found(gain, ends, tuned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    faster = replace(tuned[0].proposal, measured=gain * tuned[0].current.measured, settings=Settings(1, 4, 16, 0.25))
    monkeypatch.setattr("proctor.runs.tune.tune", lambda *_: replace(tuned[0], tried=[faster]))
    config = tmp_path / "exam.yml"
    config.write_text(yaml.safe_dump(examination(tmp_path)))
    printed = CliRunner().invoke(app, ["tune", str(config)])
    assert printed.exit_code == 0, printed.output
    for words in ("steps/s of one worker", "until the answer", "predicted steps/s", "as it is", "tried"):
        assert words in printed.stdout
    assert printed.stdout.rstrip().endswith(ends)
    found = json.loads(CliRunner().invoke(app, ["tune", str(config), "--json"]).stdout)
    assert (found["gain"], found["worth_it"]) == (pytest.approx(gain), gain > 1)
    assert {"env_s", "forwards", "costs", "current", "tried", "proposal"} <= set(found)
    assert yaml.safe_load("\n".join(found["yaml"]))["agents"] == [
        {"name": "linear", "options": {"max_batch": 16, "max_wait_s": 0.25}}
    ]
