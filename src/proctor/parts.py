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
        "remote": "proctor.policies.from_remote:RemoteLoader",
    },
    "proctor.metrics": {
        "action_rate_mean": "proctor.metrics.motion:ActionRateMean",
        "action_abs_max": "proctor.metrics.motion:ActionAbsMax",
    },
    "proctor.scorings": {
        "success": "proctor.scoring.plain:SuccessScoring",
        "return": "proctor.scoring.plain:ReturnScoring",
    },
    "proctor.loggers": {
        "csv": "proctor.runs.loggers.csv_file:CsvLogger",
        "tensorboard": "proctor.runs.loggers.tensorboard_file:TensorboardLogger",
        "wandb": "proctor.runs.loggers.wandb_run:WandbLogger",
        "mlflow": "proctor.runs.loggers.mlflow_run:MlflowLogger",
    },
}
