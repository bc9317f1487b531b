"""`report` of a config: which sections and formats there are."""

from __future__ import annotations

import pytest

from proctor import config_from_dict
from proctor.config.models import ReportCfg
from proctor.config.problems import ConfigError
from proctor.registry import FORMATS

GOOD = {"agents": [{"policy": "random"}], "tasks": [{"suite": "gymnasium", "options": {"id": "CartPole-v1"}}]}


def test_nothing_is_chosen_by_default() -> None:
    assert config_from_dict(GOOD).report == ReportCfg(sections=None, formats=None)


def test_sections_and_formats_are_chosen_by_name() -> None:
    cfg = config_from_dict({**GOOD, "report": {"sections": ["ranking", "how"], "formats": ["md"]}})
    assert cfg.report == ReportCfg(sections=("ranking", "how"), formats=("md",))
    assert config_from_dict(cfg.model_dump(mode="json")).report == cfg.report


def test_unknown_names_are_problems_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError) as error:
        config_from_dict({**GOOD, "report": {"sections": ["ranking", "vesels"], "formats": ["htm"]}})
    section, form = map(str, error.value.problems)
    assert section.startswith('config: report.sections[1]: no report section is named "vesels"; expected some of ')
    assert section.endswith('; did you mean "vessels"?')
    assert form == (
        'config: report.formats[0]: no report format is named "htm"; expected some of '
        f'{", ".join(FORMATS.names())}; did you mean "html"?'
    )


def test_they_are_named_beside_every_other_problem() -> None:
    with pytest.raises(ConfigError) as error:
        config_from_dict({**GOOD, "report": {"formats": ["htm"]}, "loggers": ["cvs"]})
    assert len(error.value.problems) == 2
