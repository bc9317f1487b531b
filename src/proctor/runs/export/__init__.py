"""Recorded episodes in the formats of other tools: rows of a CSV file, a recording of Rerun, a data set of LeRobot."""

from proctor.runs.export.chosen import Choice, chosen
from proctor.runs.export.csv_file import write_csv
from proctor.runs.export.lerobot_set import write_lerobot
from proctor.runs.export.rerun_file import write_rerun

__all__ = ["Choice", "chosen", "write_csv", "write_lerobot", "write_rerun"]
