"""Forms: other ways to write a config, such as that of another evaluator, and the short forms of Proctor's own keys.

A form recognises a config by its keys and writes it out in Proctor's own keys before anything is validated. So
`config.json` shows the long form, and a problem is reported where the user wrote what is wrong: `translate` tells
`problems.moved` from where it took each value.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar

from proctor.config.models import RecordCfg, ScoringCfg, WorkersCfg
from proctor.config.problems import Problems


class ConfigForm(abc.ABC):
    """One form, registered in the group `proctor.forms`. Its module must be cheap to import: every config that is
    loaded is shown to every form."""

    name: ClassVar[str]

    @abc.abstractmethod
    def recognises(self, data: dict[str, Any]) -> bool:
        """Whether a config is written in this form."""

    @abc.abstractmethod
    def translate(self, data: dict[str, Any], problems: Problems) -> dict[str, Any]:
        """The same config in Proctor's own keys. What is wrong with the form itself is added to `problems`."""

    def defaults(self, n_tasks: int) -> dict[str, Any]:
        """Keys of the whole run that this form leaves out and has values for, once the tasks are counted."""
        return {}


def translated(data: dict[str, Any], problems: Problems) -> tuple[dict[str, Any], list[ConfigForm]]:
    """The config in Proctor's own keys, and the forms that it was written in."""
    from proctor.registry import FORMS

    used: list[ConfigForm] = []
    for name in FORMS.names():
        form = FORMS.load(name)()
        if form.recognises(data):
            data = form.translate(data, problems)
            used.append(form)
    return data, used


_MODELS = {"workers": WorkersCfg, "record": RecordCfg, "scoring": ScoringCfg}


def expand_shorthands(data: dict[str, Any]) -> None:
    """Write out the short forms in place: `workers: 4`, `record: series`, `scoring: success`, `loggers: [csv]`, `tasks:
    [CartPole-v1]`. What is no short form stays as it is, for validation to judge."""
    for key, model in _MODELS.items():
        if key in data:
            data[key] = model.expand(data[key])
    if isinstance(data.get("loggers"), list):
        data["loggers"] = [{"kind": entry} if isinstance(entry, str) else entry for entry in data["loggers"]]
    if isinstance(data.get("tasks"), list):
        data["tasks"] = [task_from_id(t) if isinstance(t, str) else t for t in data["tasks"]]


def task_from_id(env_id: str) -> dict[str, Any]:
    """A plain text among the tasks is the id of a Gymnasium environment."""
    return {"suite": "gymnasium", "options": {"id": env_id}}
