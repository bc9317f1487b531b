"""Proctor examines embodied agents.

    import proctor

    run = proctor.evaluate(policy, "CartPole-v1", n=100)
    print(run)

Here, and in `proctor.suites`, `.policies`, `.metrics`, `.scoring` and `.testing`, is everything that a user implements
or calls; docs/api.md lists it. Names are imported when first used, so `import proctor` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from proctor.config import ConfigError, EvalConfig, config_from_dict, load_config
    from proctor.config.forms import ConfigForm
    from proctor.config.models import AgentCfg, ScoringCfg
    from proctor.config.problems import Problems
    from proctor.errors import InputError, MissingExtra, ProctorError, RunError
    from proctor.metrics.protocol import GroupMetric, Metric, MetricFamily
    from proctor.policies.loader import Loader
    from proctor.policies.options import PolicyOptions
    from proctor.policies.padding import LeftPad
    from proctor.policies.protocol import (
        Actions,
        Batch,
        Execute,
        Fail,
        Goto,
        Idle,
        Policy,
        SpaceInfo,
        Stage,
        StagedPolicy,
        StageOutput,
        Unavailable,
    )
    from proctor.record.columns import Trials
    from proctor.registry import import_object
    from proctor.report.draw.alone import Drawing
    from proctor.report.formats.base import Format
    from proctor.report.model import Finding, Report
    from proctor.report.section import CaseLayout, Column, Grid, Section
    from proctor.rollout.backends.base import Backend, BackendOptions, Lost, Worker
    from proctor.rollout.progress import CancelToken, Progress
    from proctor.rollout.worker import EngineExtras
    from proctor.runs.evaluate import evaluate
    from proctor.runs.loggers.base import DictLogger, Logger, LoggerOptions, Loggers
    from proctor.runs.loggers.csv_file import CsvLogger
    from proctor.runs.loggers.mlflow_run import MlflowLogger
    from proctor.runs.loggers.tensorboard_file import TensorboardLogger
    from proctor.runs.loggers.trackio_run import TrackioLogger
    from proctor.runs.loggers.wandb_run import WandbLogger
    from proctor.runs.plots import Plots
    from proctor.runs.run import ArrowTable, Run, RunComparison
    from proctor.runs.start import run_evaluation
    from proctor.runtimes.recipes import RuntimeRecipe, RuntimeSpecification
    from proctor.scoring.protocol import Remark, Score, Scoring
    from proctor.stats import (
        Discordance,
        always_valid,
        always_valid_rates,
        centre_sequence,
        conditional_power,
        equivalent_means,
        equivalent_paired_rates,
        equivalent_rates,
        equivalent_task_means,
        expected_discordance,
        mean_sequence,
        posterior,
        probability_better,
        simultaneous_intervals,
        trials_paired,
        trials_sequential,
        trials_unpaired,
    )
    from proctor.suites.protocol import (
        BatchEnv,
        ColumnEnv,
        Columns,
        DeviceEnv,
        Env,
        Moment,
        Portrayer,
        SheetEnv,
        Step,
        Suite,
        SuiteOptions,
    )
    from proctor.training.callback import EvaluationCallback, Practice
    from proctor.training.curriculum import Curriculum, CurriculumCfg
    from proctor.training.humanoidverse import HumanoidVerseBuffer, HumanoidVerseEnvironment, HumanoidVerseMotions
    from proctor.training.lent import LentEnvironment
    from proctor.training.options import TrackingEvaluationCfg
    from proctor.training.reward import RewardEvaluation, RewardEvaluationCfg
    from proctor.training.tracking import TrackingEvaluation
    from proctor_host.board import Board
    from proctor_host.cfg import WorkerCfg
    from proctor_host.episode import Episode, Outcome
    from proctor_host.host import Host
    from proctor_host.limits import Watch
    from proctor_host.result import TrialResult
    from proctor_host.sheet import Sheet
    from proctor_host.trials import Trial

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "Actions", "AgentCfg", "ArrowTable", "Backend", "BackendOptions", "Batch", "BatchEnv", "Board", "CancelToken",
    "CaseLayout", "Column", "ColumnEnv", "Columns", "ConfigError", "ConfigForm", "CsvLogger", "Curriculum",
    "CurriculumCfg", "DeviceEnv", "DictLogger", "Discordance", "Drawing", "EngineExtras", "Env", "Episode",
    "EvalConfig", "EvaluationCallback", "Execute", "Fail", "Finding", "Format", "Goto", "Grid", "GroupMetric", "Host",
    "HumanoidVerseBuffer", "HumanoidVerseEnvironment", "HumanoidVerseMotions", "Idle", "InputError", "LeftPad",
    "LentEnvironment", "Loader", "Logger", "LoggerOptions", "Loggers", "Lost", "Metric", "MetricFamily", "MissingExtra",
    "MlflowLogger", "Moment", "Outcome", "Plots", "Policy", "PolicyOptions", "Portrayer", "Practice", "Problems",
    "ProctorError", "Progress", "Remark", "Report", "RewardEvaluation", "RewardEvaluationCfg", "Run", "RunComparison",
    "RunError", "RuntimeRecipe", "RuntimeSpecification", "Score", "Scoring", "ScoringCfg", "Section", "Sheet",
    "SheetEnv", "SpaceInfo", "Stage", "StageOutput", "StagedPolicy", "Step", "Suite", "SuiteOptions",
    "TensorboardLogger", "TrackingEvaluation", "TrackingEvaluationCfg", "TrackioLogger", "Trial", "TrialResult",
    "Trials", "Unavailable", "WandbLogger", "Watch", "Worker", "WorkerCfg", "__version__", "always_valid",
    "always_valid_rates", "centre_sequence", "conditional_power", "config_from_dict", "equivalent_means",
    "equivalent_paired_rates", "equivalent_rates", "equivalent_task_means", "evaluate", "expected_discordance",
    "import_object", "load_config", "mean_sequence", "posterior", "probability_better", "run_evaluation",
    "simultaneous_intervals", "trials_paired", "trials_sequential", "trials_unpaired",
]  # fmt: skip


def __dir__() -> list[str]:
    return list(__all__)
