"""Seeds of a config: a list, a range or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor import ConfigError, EvalConfig, config_from_dict
from proctor.plan.plan import Plan

GOOD: dict[str, Any] = {"agents": [{"name": "a", "policy": "random"}], "tasks": ["CartPole-v1"]}


def loaded(base: Path | None = None, **keys: Any) -> EvalConfig:
    return config_from_dict({**GOOD, **keys}, base)


def planned(cfg: EvalConfig) -> list[int]:
    return [trial.seed for trial in Plan(cfg)]


def problems(base: Path | None = None, **keys: Any) -> list[str]:
    with pytest.raises(ConfigError) as error:
        loaded(base, **keys)
    return [str(problem).removeprefix("config: ") for problem in error.value.problems]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30, unique=True))
def test_the_plan_has_exactly_the_seeds_that_are_listed_in_their_order(seeds: list[int]) -> None:
    cfg = loaded(seeds=seeds)
    assert planned(cfg) == seeds
    assert cfg.trials_per_agent == len(seeds)
    assert config_from_dict(cfg.model_dump(mode="json")) == cfg


@pytest.mark.parametrize(
    "seeds",
    [
        [100, 101, 102, 103],
        "100..103",
        " 100 .. 103 ",
        ["100..101", 102, 103],
        {"from": 100, "to": 103},
        {"from": 100, "count": 4},
    ],
)
def test_seeds_without_a_gap_are_the_same_config_as_base_and_count(seeds: Any) -> None:
    assert loaded(seeds=seeds) == loaded(base_seed=100, n_trials=4)


@pytest.mark.parametrize(
    "text", ["7\n3\n\n# the hard one\n11 # here\n", "[7, 3, 11]", "\n [7,\n3, 11]\n", "7\r\n3\r\n11", "7\n3\n11..11"]
)
def test_a_file_lists_an_integer_a_line_or_is_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "seeds.txt").write_text(text)
    for said in ("seeds.txt", {"file": "seeds.txt"}, str(tmp_path / "seeds.txt")):
        cfg = loaded(tmp_path, seeds=said)
        assert cfg.seeds == (7, 3, 11), "the record has the seeds, not the file"
        assert planned(cfg) == [7, 3, 11]


def test_fewer_trials_are_the_first_of_the_seeds_and_a_task_may_have_its_own() -> None:
    assert planned(loaded(seeds=[9, 4, 6], n_trials=2)) == [9, 4]
    own = {"suite": "gymnasium", "name": "own", "options": {"id": "CartPole-v1"}}
    assert planned(loaded(seeds=[9, 4, 6], tasks=[{**own, "n_trials": 1}])) == [9]
    assert planned(loaded(seeds=[9, 4, 6], tasks=[{**own, "seeds": "20..21"}])) == [20, 21]
    cfg = loaded(tasks=[{**own, "seeds": [5, 1]}, "Acrobot-v1"], n_trials=1)
    assert [(trial.task, trial.seed) for trial in Plan(cfg)] == [("own", 5), ("own", 1), ("Acrobot-v1", 123)]
    assert config_from_dict(cfg.model_dump(mode="json")) == cfg


FORMS = "a list such as [3, 14, 15], a range such as 100..199, {from: 100, count: 20}, or a file"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"seeds": []}, [f"seeds: found no seed; expected {FORMS}"]),
        ({"seeds": 5}, [f"seeds: found 5; expected {FORMS}; n_trials says how many trials there are"]),
        ({"seeds": ""}, [f'seeds: found ""; expected {FORMS}']),
        (
            {"seeds": [3, 4, 3, 4]},
            [
                "seeds[2]: the seed 3 is listed twice (entry 1 and entry 3); a trial runs once",
                "seeds[3]: the seed 4 is listed twice (entry 2 and entry 4); a trial runs once",
            ],
        ),
        ({"seeds": [3, "1..3"]}, ["seeds[1]: the seed 3 is listed twice (entry 1 and entry 2); a trial runs once"]),
        (
            {"seeds": [-1, True, 2.0, "x", 2**64]},
            [
                "seeds[0]: found -1; expected at least 0",
                "seeds[1]: found true; expected an integer or a range such as 100..199",
                "seeds[2]: found 2.0; expected an integer or a range such as 100..199",
                'seeds[3]: found "x"; expected an integer or a range such as 100..199',
                "seeds[4]: found 18446744073709551616; expected at most 18,446,744,073,709,551,615",
            ],
        ),
        ({"seeds": "9..3"}, ["seeds: found 9..3, which holds no seed; expected the smaller end first"]),
        ({"seeds": "-3..3"}, ["seeds: found -3; expected at least 0"]),
        (
            {"seeds": "0..10000000"},
            ["seeds: found 0..10000000, which are 10,000,001 seeds; expected at most 10,000,000"],
        ),
        (
            {"seeds": {"from": 0, "too": 3}},
            ['seeds.too: unknown key; expected some of from, to, count, file; did you mean "to"?'],
        ),
        ({"seeds": {"from": 0}}, ["seeds: found from; expected from and to, from and count, or file"]),
        ({"seeds": {"from": 0, "count": 0}}, ["seeds.count: found 0; expected at least 1"]),
        ({"seeds": {"from": 0, "count": "many"}}, ['seeds.count: found "many"; expected an integer']),
        (
            {"seeds": [1, 5], "n_trials": 3},
            ["n_trials: found 3, but 2 seeds are listed; list more seeds, or leave n_trials out"],
        ),
        (
            {"seeds": "1..2", "tasks": [{"suite": "gymnasium", "options": {"id": "A-v0"}, "n_trials": 3}]},
            ["tasks[0].n_trials: found 3, but 2 seeds are listed; list more seeds, or leave n_trials out"],
        ),
        (
            {"seeds": [1, 5], "base_seed": 7},
            [
                "base_seed: found 7 beside seeds, which say with what trials begin; leave one of the two out",
            ],
        ),
    ],
)
def test_what_is_no_list_of_seeds_is_told_in_a_sentence(keys: dict[str, Any], expected: list[str]) -> None:
    assert problems(**keys) == expected


def test_the_lines_of_a_file_are_named(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("3\nthree\n-4\n3\n")
    assert problems(tmp_path, seeds="seeds.txt") == [
        f'seeds: {file}, line 2: found "three"; expected an integer',
        f"seeds: {file}, line 3: found -4; expected at least 0",
        f"seeds: the seed 3 is listed twice ({file}, line 1 and {file}, line 4); a trial runs once",
    ]
    file.write_text("3\n\n3\n")
    assert problems(tmp_path, seeds="seeds.txt") == [
        f"seeds: the seed 3 is listed twice ({file}, line 1 and {file}, line 3); a trial runs once"
    ]
    file.write_text("# none\n")
    assert problems(tmp_path, seeds="seeds.txt") == [
        f"seeds: {file} lists no seed; expected an integer a line, or a JSON list"
    ]
    file.write_text("[1, 2")
    assert problems(tmp_path, seeds="seeds.txt") == [
        f"seeds: {file} cannot be read as a list of seeds: Expecting ',' delimiter: line 1 column 6 (char 5)"
    ]
    assert problems(tmp_path, seeds="sede.txt") == [
        f'seeds: no such file: {tmp_path / "sede.txt"}; did you mean "seeds.txt"?'
    ]


def test_seeds_that_are_set_take_the_place_of_base_and_count() -> None:
    raw = {**GOOD, "base_seed": 7, "n_trials": 50}
    assert planned(config_from_dict(raw, overrides=["seeds=[4, 2]"])) == [4, 2]
    assert planned(config_from_dict(raw, overrides=["n_trials=1", "seeds=[4, 2]"])) == [4]
    assert planned(config_from_dict(raw, overrides=["seeds=5..6"])) == [5, 6]
    assert planned(config_from_dict({**GOOD, "seeds": [4, 2]}, overrides=["seeds=null", "n_trials=1"])) == [123]


def test_a_protocol_that_says_its_seeds_is_not_contradicted() -> None:
    tasks = [{"suite": "soccer", "options": {"task": "kick_to_target", "match_seeds": {"master": 42}}}]
    cfg = loaded(tasks=tasks, n_trials=3)
    assert cfg.tasks[0].seeds is not None
    assert planned(cfg) == list(cfg.tasks[0].seeds)
    assert config_from_dict(cfg.model_dump(mode="json")) == cfg
    longer = config_from_dict(cfg.model_dump(mode="json"), overrides=["n_trials=5"])
    assert planned(longer)[:3] == planned(cfg)
    assert len(planned(longer)) == 5
    assert problems(tasks=tasks, seeds=[1, 5]) == ["seeds: the options of tasks[0] say which seeds its trials have"]
    assert problems(tasks=[{**tasks[0], "name": "kick", "seeds": [1]}]) == [
        'tasks[0].seeds: the options of task "kick" say which seeds its trials have'
    ]
