"""How many workers and slots, and how large a batch: measured, modelled, proposed, and measured again.

costs (environment, forward, transfer) -> model -> proposal -> short runs with the old and the new settings
"""

from proctor.runs.tune.model import Costs, Settings, predict
from proctor.runs.tune.tuning import TuneCfg, Tuning, tune, yaml_lines

__all__ = ["Costs", "Settings", "TuneCfg", "Tuning", "predict", "tune", "yaml_lines"]
