"""What a record says of its episode: copies of each other share a trace, whatever they were reset with."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from proctor_host.cfg import RecordCfg, WorkerCfg
from proctor_host.episode import Episode, Outcome
from proctor_host.extras import Extras
from proctor_host.result import TrialResult
from proctor_host.trial import EndedTrial, Recorder
from proctor_host.trials import Trial


def recorded(folder: Path, ends: tuple[bytes, bytes] = (b"first", b"last"), **constants: np.ndarray) -> TrialResult:
    arrays = {
        "rewards": np.ones(3), "actions": np.zeros((3, 1)), "success": np.zeros(3, bool),
        "terminals": np.zeros(3, bool), "truncations": np.zeros(3, bool), "action_dt_s": np.array(np.nan), **constants,
    }  # fmt: skip
    episode = Episode(arrays, Outcome.FAILURE, 3, "t")
    cfg = WorkerCfg(str(folder), {}, RecordCfg(series=False))
    ended = EndedTrial(Trial("a", "t", 0, 1), "0", episode, False, None, 0.1, ends)
    return Recorder(cfg, Extras(cfg)).record(ended).result


def test_the_seed_of_a_reset_is_no_part_of_what_happened(tmp_path: Path) -> None:
    one, two = (recorded(tmp_path, reset_seed=np.uint64(seed)) for seed in (1, 2))
    assert one.trace == two.trace
    assert one.digest != two.digest, "the record itself keeps it"


def test_everything_else_is(tmp_path: Path) -> None:
    traces = [
        recorded(tmp_path).trace,
        recorded(tmp_path, ends=(b"first", b"other")).trace,
        recorded(tmp_path, target_pos_m=np.zeros(3)).trace,
        recorded(tmp_path, target_pos_m=np.ones(3)).trace,
    ]
    assert len(set(traces)) == 4
