"""The configuration: frozen models, and the way from YAML to them."""

from proctor.config.load import config_from_dict, load_config, load_sections, load_sections_or_alone, scoring_from_dict
from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.config.overrides import apply_overrides
from proctor.config.problems import ConfigError

__all__ = [
    "AgentCfg", "ConfigError", "EvalConfig", "TaskCfg", "apply_overrides", "config_from_dict", "load_config",
    "load_sections", "load_sections_or_alone", "scoring_from_dict",
]  # fmt: skip
