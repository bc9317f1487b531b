"""The configuration: frozen models, and the way from YAML to them. Names are imported when they are first used: a
worker needs a few of the models, and nothing that reads YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily

if TYPE_CHECKING:
    from proctor.config.load import (
        config_from_dict,
        load_config,
        load_sections,
        load_sections_or_alone,
        scoring_from_dict,
    )
    from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
    from proctor.config.overrides import apply_overrides
    from proctor.config.problems import ConfigError

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "AgentCfg", "ConfigError", "EvalConfig", "TaskCfg", "apply_overrides", "config_from_dict", "load_config",
    "load_sections", "load_sections_or_alone", "scoring_from_dict",
]  # fmt: skip
