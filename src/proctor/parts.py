"""The parts of the core: group -> name -> import string. Those of a suite are in that suite's own `parts.py`."""

from __future__ import annotations

PARTS = {
    "proctor.loaders": {
        "python": "proctor.policies.from_python:PythonLoader",
        "torch": "proctor.policies.from_torch:TorchLoader",
        "onnx": "proctor.policies.from_onnx:OnnxLoader",
        "sb3": "proctor.policies.from_sb3:Sb3Loader",
        "random": "proctor.policies.baselines:RandomLoader",
        "zero": "proctor.policies.baselines:ZeroLoader",
        "latent": "proctor.policies.from_latent:LatentLoader",
        "memory": "proctor.policies.from_python:MemoryLoader",
        "remote": "proctor.policies.from_remote:RemoteLoader",
    },
    "proctor.backends": {
        "inline": "proctor.rollout.backends.inline:InlineBackend",
        "process": "proctor.rollout.backends.process:ProcessBackend",
        "ray": "proctor.rollout.cluster.backend:RayBackend",
    },
    "proctor.metrics": {
        "action_rate_mean": "proctor.metrics.series:ActionRateMean",
        "action_abs_max": "proctor.metrics.series:ActionAbsMax",
    },
    "proctor.scorings": {
        "success": "proctor.scoring.plain:SuccessScoring",
        "return": "proctor.scoring.plain:ReturnScoring",
    },
    "proctor.loggers": {
        "csv": "proctor.runs.loggers.csv_file:CsvLogger",
        "tensorboard": "proctor.runs.loggers.tensorboard_file:TensorboardLogger",
        "trackio": "proctor.runs.loggers.trackio_run:TrackioLogger",
        "wandb": "proctor.runs.loggers.wandb_run:WandbLogger",
        "mlflow": "proctor.runs.loggers.mlflow_run:MlflowLogger",
    },
    "proctor.sections": {
        "ranking": "proctor.report.sections.ranking:Ranking",
        "targets": "proctor.report.sections.cases:Targets",
        "findings": "proctor.report.sections.ranking:Findings",
        "intervals": "proctor.report.sections.results:Intervals",
        "posterior": "proctor.report.sections.posteriors:PosteriorSection",
        "declared": "proctor.report.sections.declared:DeclaredSection",
        "raters": "proctor.report.sections.raters:RatersSection",
        "methods": "proctor.report.sections.methods:MethodsSection",
        "aggregates": "proctor.report.sections.aggregates:Aggregates",
        "differences": "proctor.report.sections.differences:Differences",
        "profiles": "proctor.report.sections.rivals:Profiles",
        "curves": "proctor.report.sections.rivals:Curves",
        "tasks": "proctor.report.sections.results:Tasks",
        "cases": "proctor.report.sections.cases:Cases",
        "videos": "proctor.report.sections.films:Films",
        "moments": "proctor.report.sections.moments:Moments",
        "trials": "proctor.report.sections.evidence:Strips",
        "extremes": "proctor.report.sections.evidence:Extremes",
        "signals": "proctor.report.sections.signals:Signals",
        "components": "proctor.report.sections.results:Components",
        "failures": "proctor.report.sections.evidence:Endings",
        "metrics": "proctor.report.sections.results:Metrics",
        "how": "proctor.report.sections.evidence:How",
    },
    "proctor.formats": {
        "json": "proctor.report.formats.json_file:JsonFormat",
        "csv": "proctor.report.formats.tables:CsvFormat",
        "parquet": "proctor.report.formats.tables:ParquetFormat",
        "md": "proctor.report.formats.pages:MarkdownFormat",
        "html": "proctor.report.formats.pages:HtmlFormat",
    },
}
