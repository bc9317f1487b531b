"""A run of very many tasks holds no more than its slots do."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from examining import TOYS, examination

from proctor import Progress, config_from_dict, run_evaluation

TASKS = 200
HOARDERS = TOYS.with_name("hoarders.py")
PAGE = os.sysconf("SC_PAGE_SIZE")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Held(NamedTuple):
    processes: int
    files: int
    megabytes: float


def held() -> Held:
    """By this process and those it has started."""
    mine = Path("/proc/self")
    children = [int(pid) for task in (mine / "task").iterdir() for pid in (task / "children").read_text().split()]
    folders = [mine, *(Path(f"/proc/{pid}") for pid in children)]
    files = sum(len(os.listdir(folder / "fd")) for folder in folders)
    pages = sum(int((folder / "statm").read_text().split()[1]) for folder in folders)
    return Held(len(folders), files, pages * PAGE / 1e6)


@pytest.mark.parametrize(("workers", "slots"), [("inline", 3), (2, 4)])
def test_finished_tasks_close_their_environments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: Any, slots: int
) -> None:
    for name in ("WATCH_S", "OBSERVE_S"):
        monkeypatch.setattr(f"proctor.rollout.engine.{name}", 0.0)
    seen: dict[int, Held] = {}

    def watch(progress: Progress) -> None:
        if progress.phase == "running" and progress.done // 10 not in seen:
            seen[progress.done // 10] = held()

    tasks = [
        {"suite": "gymnasium", "name": f"t{i}", "options": {"id": f"{HOARDERS}:Hoarder-v0", "kwargs": {"number": i}}}
        for i in range(TASKS)
    ]
    keys = {"agents": [{"name": "random", "policy": "random"}], "n_trials": 1, "record": "summary"}
    raw = examination(tmp_path, tasks=tasks, num_parallel=slots, workers=workers, **keys)
    run = run_evaluation(config_from_dict(raw), progress=watch)
    assert sum(1 for _ in run.results()) == TASKS
    first, second = ([now for done, now in seen.items() if (10 * done < TASKS / 2) == half] for half in (True, False))
    assert first, "nothing was seen of the first half"
    assert second, "nothing was seen of the second half"
    early = Held(*(max(column) for column in zip(*first, strict=True)))
    for late in second:
        assert late.processes <= early.processes
        assert late.files <= early.files + slots
        assert late.megabytes < early.megabytes + 60.0, "a leak of half the environments would be 400 MB"
