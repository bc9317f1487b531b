"""The configuration: frozen models, and the way from YAML to them."""

from proctor.config.load import config_from_dict, load_config, load_sections, scoring_from_dict
from proctor.config.models import (
    AgentCfg,
    EvalConfig,
    LimitsCfg,
    RecordCfg,
    ScoringCfg,
    TaskCfg,
    VideoCfg,
    WorkersCfg,
)
from proctor.config.overrides import apply_overrides
from proctor.config.problems import ConfigError, Problem

__all__ = [
    "AgentCfg",
    "ConfigError",
    "EvalConfig",
    "LimitsCfg",
    "Problem",
    "RecordCfg",
    "ScoringCfg",
    "TaskCfg",
    "VideoCfg",
    "WorkersCfg",
    "apply_overrides",
    "config_from_dict",
    "load_config",
    "load_sections",
    "scoring_from_dict",
]
