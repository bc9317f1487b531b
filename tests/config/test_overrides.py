"""`--set key=value`."""

# ruff: noqa: E501 - error texts are kept as they read

from __future__ import annotations

import pytest

from proctor.config import ConfigError, apply_overrides, config_from_dict

RAW = {
    "agents": [{"name": "ppo", "policy": "random"}, {"name": "v1.5", "policy": "zero"}],
    "tasks": ["CartPole-v1"],
    "scoring": "success",
}


def test_no_override_changes_nothing_and_the_last_one_wins():
    assert apply_overrides(RAW, []) == RAW
    assert apply_overrides(RAW, ["n_trials=3", "n_trials=4"])["n_trials"] == 4


@pytest.mark.parametrize("key", ["agents.0.device", "agents.ppo.device"])
def test_an_entry_is_named_by_position_or_name(key):
    config = config_from_dict(RAW, overrides=[f"{key}=cuda"])
    assert [a.device for a in config.agents] == ["cuda", "cpu"]


def test_a_name_may_contain_dots_and_a_star_means_all():
    assert config_from_dict(RAW, overrides=["agents.v1.5.device=cuda"]).agents[1].device == "cuda"
    assert {a.device for a in config_from_dict(RAW, overrides=["agents.*.device=cuda"]).agents} == {"cuda"}


def test_an_entry_without_a_name_has_the_one_that_it_would_get():
    raw = {
        "agents": [{"policy": "random"}, {"policy": "pkg.mod:PD"}, {"checkpoint": "nets/walk.v2.onnx"}],
        "tasks": ["CartPole-v1", "CartPole-v1", {"suite": "crafter", "options": {"task": "collect_wood"}}],
    }
    sets = ["tasks.CartPole-v1.n_trials=1", "tasks.CartPole-v1-2.n_trials=2", "tasks.collect_wood.n_trials=3"]
    data = apply_overrides(raw, [*sets, "agents.random.device=a", "agents.PD.device=b", "agents.walk.v2.device=c"])
    assert [task["n_trials"] for task in data["tasks"]] == [1, 2, 3]
    assert [agent["device"] for agent in data["agents"]] == ["a", "b", "c"]


def test_a_part_in_quotes_is_taken_as_it_is():
    raw = {
        **RAW,
        "agents": [
            {"name": "a", "policy": "zero"},
            {"name": "0", "policy": "zero"},
            {"name": "x=1.*", "policy": "zero"},
        ],
    }
    sets = ['agents."0".device=b', "agents.0.device=a", "agents.'x=1.*'.device=c", 'limits."step_s"=3']
    data = apply_overrides(raw, sets)
    assert [agent["device"] for agent in data["agents"]] == ["a", "b", "c"]
    assert data["limits"] == {"step_s": 3}
    with pytest.raises(ConfigError, match=r'no entry "ppo\.device"'):
        apply_overrides(RAW, ['agents."ppo.device"=x'])


def test_values_are_typed_like_yaml_and_missing_parents_are_made():
    data = apply_overrides(RAW, ["record.video.first=2", "record.observations=true", "limits.trial_s=1e2", "name=a=b"])
    assert data["record"] == {"video": {"first": 2}, "observations": True}
    assert data["limits"] == {"trial_s": 100.0}
    assert data["name"] == "a=b"


def test_short_forms_are_written_out_before_something_is_set_in_them():
    config = config_from_dict(RAW, overrides=["scoring.floor=-1", "tasks.0.options.kwargs={sutton_barto_reward: true}"])
    assert (config.scoring.mode, config.scoring.floor) == ("success", -1)
    assert config.tasks[0].options["kwargs"] == {"sutton_barto_reward": True}


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("n_trials", "--set n_trials: expected key=value with a dotted key, such as agents.0.device=cuda"),
        ("agents..x=1", "--set agents..x=1: expected key=value with a dotted key, such as agents.0.device=cuda"),
        ("name=[", "--set name=[: \"[\" is not a YAML value"),
        ("agents.2.device=x", '--set agents.2.device=x: no entry "2"; expected a position from 0 to 1 or one of ppo, v1.5'),
        ("agents.pop.device=x",
         '--set agents.pop.device=x: no entry "pop"; expected a position from 0 to 1 or one of ppo, v1.5; '
         'did you mean "ppo"?'),
        ("tasks.CartPol-v1.n_trials=3",
         '--set tasks.CartPol-v1.n_trials=3: no entry "CartPol-v1"; expected a position from 0 to 0 or one of CartPole-v1; '
         'did you mean "CartPole-v1"?'),
        ('agents."ppo=1', '--set agents."ppo=1: expected key=value with a dotted key, such as agents.0.device=cuda'),
        ("agents.0.name.x=1", '--set agents.0.name.x=1: nothing is under "agents.0.name", which is "ppo"'),
    ],
)  # fmt: skip
def test_an_override_that_leads_nowhere_is_named(override, text):
    with pytest.raises(ConfigError) as caught:
        apply_overrides(RAW, [override])
    assert [str(p) for p in caught.value.problems] == [text]


def test_a_problem_with_an_overridden_value_names_the_override():
    with pytest.raises(ConfigError) as caught:
        config_from_dict(RAW, overrides=["agents.ppo.devise=cuda", "n_trials=many"])
    assert [str(p) for p in caught.value.problems] == [
        "--set agents.ppo.devise=cuda: agents[0].devise: unknown key; expected one of checkpoint, device, group, name, "
        'options, policy, runtime, task_options; did you mean "device"?',
        '--set n_trials=many: n_trials: found "many"; expected an integer',
    ]
