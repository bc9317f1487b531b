"""The example runs three tasks for three agents, with the competition's scores; its model file is the script's."""

from __future__ import annotations

from pathlib import Path

import pytest
from official_soccer import official

from proctor import load_config, run_evaluation
from proctor.registry import import_file
from proctor.suites.soccer.scoring.terminal import TerminalScoring
from proctor.suites.soccer.tasks import TASKS, match_seed

pytest.importorskip("sai_mujoco", reason="the extra `soccer` is not installed")

EXAMPLES = Path(__file__).parents[3] / "examples"
STEPS = 20


def test_the_example_scores_as_the_competition_does_to_the_last_bit(tmp_path: Path) -> None:
    overrides = [f"output_root={tmp_path}", "n_trials=1", f"max_episode_steps={STEPS}", "workers=inline"]
    run = run_evaluation(load_config(EXAMPLES / "soccer.yml", [*overrides, "num_parallel=3"]))
    scoring, tried = TerminalScoring(run.config().scoring), set()
    for result in run.results():
        task, actions = TASKS[result.trial.task], list(run.episode(result).arrays["actions"])
        played = official(task, match_seed(42, result.trial.index), actions, STEPS)
        assert scoring.rate(result).total == played.score
        tried.add((result.trial.agent, result.trial.task))
    assert len(tried) == 9


def test_the_model_file_is_what_the_script_writes() -> None:
    pytest.importorskip("onnx", reason="the extra `onnx` is not installed")
    written = import_file(EXAMPLES / "write_soccer_model.py").model().SerializeToString()
    assert (EXAMPLES / "checkpoints" / "lunge.onnx").read_bytes() == written
