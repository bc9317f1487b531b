"""Running an examination in a new folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from examining import digests, examination, odd

from proctor import InputError, Run, config_from_dict, run_evaluation

Examine = Callable[..., Run]


def test_two_runs_of_one_config_get_two_folders(examine: Examine) -> None:
    runs = [examine(n_trials=1) for _ in range(2)]
    assert runs[0].path != runs[1].path
    assert digests(runs[0]) == digests(runs[1])


def test_bad_input_leaves_no_folder(tmp_path: Path) -> None:
    raw = examination(tmp_path / "out", agents=[odd("Steady", checkpoint=str(tmp_path / "push.txt"))])
    (tmp_path / "push.txt").write_text("0.5")
    cfg = config_from_dict(raw)
    (tmp_path / "push.txt").unlink()
    with pytest.raises(InputError, match=r"checkpoint: no file .*push\.txt"):
        run_evaluation(cfg)
    assert not (tmp_path / "out").exists()


def test_a_shard_runs_its_part_and_says_so(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path))
    run = run_evaluation(cfg, shard="2/2")
    assert [r.trial.index for r in run.results()] == [1, 3]
    assert "This is shard 2/2 of the run." in (run.path / "report.md").read_text()
