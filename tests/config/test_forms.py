"""A form is a part like any other: a plug-in's is asked beside the built-in ones."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.config import ConfigError, config_from_dict
from proctor.config.forms import ConfigForm
from proctor.registry import FORMS, Registry


class Short(ConfigForm):
    """`who` and `where`, and nothing else."""

    name = "short"

    def recognises(self, data: dict[str, Any]) -> bool:
        return "who" in data

    def translate(self, data: dict[str, Any], problems: Any) -> dict[str, Any]:
        problems.moved["agents", 0, "policy"] = ("who",)
        return {"agents": [{"policy": data["who"]}], "tasks": [data["where"]]}

    def defaults(self, n_tasks: int) -> dict[str, Any]:
        return {"num_parallel": 10 * n_tasks}


@pytest.fixture
def registered(monkeypatch) -> None:
    forms = Registry("config form", "proctor.forms", FORMS.contract, {"short": f"{__name__}:Short"})
    monkeypatch.setattr("proctor.registry.FORMS", forms)


def test_a_form_is_written_out(registered) -> None:
    config = config_from_dict({"who": "zero", "where": "CartPole-v1"})
    assert (config.agents[0].policy, config.tasks[0].name, config.num_parallel) == ("zero", "CartPole-v1", 10)


def test_a_problem_is_reported_where_it_was_written(registered) -> None:
    with pytest.raises(ConfigError, match=r'config: who: unknown policy loader "zro"'):
        config_from_dict({"who": "zro", "where": "CartPole-v1"})


@pytest.mark.parametrize("name", FORMS.names())
def test_no_form_takes_a_plain_config_for_its_own(name: str) -> None:
    form = FORMS.load(name)()
    assert form.name == name
    assert not form.recognises({"agents": [{"policy": "zero"}], "tasks": ["CartPole-v1"]})
