"""A made-up run of navigation in a vessel: records on disk, and the results that belong to them. The vessel is a Y: a
trunk from (0, 0, 0) up to 100 mm, a left branch and a right branch to 180 mm, at the end of which the target is."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.config.models import AgentCfg, EvalConfig, TaskCfg
from proctor.metrics import compute
from proctor.record.batch import batched
from proctor.report import Report, ReportContext, write_reports
from proctor_host.episode import Episode, Outcome
from proctor_host.npz import write_npz
from proctor_host.result import TrialResult
from proctor_host.trials import Trial

CONTEXT = ReportContext(generated_at="2026-01-05T12:00:00+00:00", duration_s=12.0)
FORK, TARGET, LEFT = np.array([0.0, 0.0, 100.0]), np.array([40.0, 9.0, 180.0]), np.array([-40.0, 0.0, 180.0])
DT_S = 0.1


def line(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    return a + np.linspace(0, 1, n)[:, None] * (b - a)


def vessel_arrays() -> dict[str, np.ndarray]:
    """What a suite records once per trial."""
    branches = {"trunk": line(np.zeros(3), FORK, 51), "left": line(FORK, LEFT, 46), "right": line(FORK, TARGET, 46)}
    names = np.repeat(list(branches), [len(points) for points in branches.values()])
    return {
        "vessel_pos3d": np.concatenate(list(branches.values())).astype(np.float32),
        "vessel_radius": np.where(names == "trunk", 10.0, 4.0).astype(np.float32),
        "vessel_branch": names,
        "target_pos3d": TARGET,
        "target_threshold_mm": np.array(5.0),
        "force_unit": np.array("N"),
    }


def passage_arrays(reached: bool, steps: int, force: float) -> dict[str, np.ndarray]:
    """A tip that goes up the trunk and into one branch; the wall is pressed once, at the fork, with `force`."""
    half = steps // 2
    way = np.concatenate([line(np.zeros(3), FORK, half), line(FORK, TARGET if reached else LEFT, steps - half)])
    pressed = np.zeros(steps)
    pressed[half] = force
    success = np.zeros(steps, bool)
    success[-1] = reached
    return {
        "rewards": np.zeros(steps),
        "actions": np.zeros((steps, 2), np.float32),
        "terminals": success,
        "truncations": ~success,
        "success": success,
        "action_dt_s": np.array(DT_S),
        "tip_pos3d": way,
        "inserted_length": np.linspace(1, 200, steps),
        "path_ratio": np.linspace(0, 1, steps),
        "trajectory_length": np.linspace(0, 190, steps),
        "avg_translation_speed": np.full(steps, 12.0),
        "wall_lcp_sum_abs": 2 * pressed,
        "wall_lcp_max_abs": 2 * pressed,
        "wall_wire_force_norm": pressed,
        "wall_collision_force_norm": 0.5 * pressed,
        "wall_force_pos3d": np.where(pressed[:, None] > 0, FORK + np.array([3.0, 0, 0]), np.nan),
        "wire_pos3d": np.stack([line(np.zeros(3), tip, 8) for tip in way]).astype(np.float32),
        **vessel_arrays(),
    }


@dataclass(frozen=True)
class VesselRun:
    folder: Path
    cfg: EvalConfig
    results: list[TrialResult]

    def report(self) -> Report:
        return write_reports(self.folder, self.cfg, batched(self.results), CONTEXT)

    def page(self) -> str:
        """The page as written by `report`."""
        return (self.folder / "report.html").read_text(encoding="utf-8")

    def rewrite(self, drop: Sequence[str]) -> None:
        """Take arrays out of every record."""
        for result in self.results:
            path = self.folder / str(result.npz)
            with np.load(path) as record:
                arrays = {name: record[name] for name in record.files if name not in drop}
            write_npz(path, arrays)


def make_vessel_run(folder: Path, agents: Sequence[str], n_trials: int, tasks: Sequence[str] = ("arch",)) -> VesselRun:
    """The first agent reaches the target, the others do not; each presses harder than the one before it."""
    cfg = EvalConfig(
        name="vessels",
        agents=tuple(AgentCfg(name=name, policy="random") for name in agents),
        tasks=tuple(TaskCfg(suite="endovascular", name=name) for name in tasks),
        n_trials=n_trials,
    )
    (folder / "trials").mkdir(parents=True)
    results = [
        _result(folder, Trial(agent, task, i, cfg.base_seed + i), place, t)
        for t, task in enumerate(tasks)
        for place, agent in enumerate(agents)
        for i in range(n_trials)
    ]
    return VesselRun(folder, cfg, results)


def _result(folder: Path, trial: Trial, place: int, task: int) -> TrialResult:
    steps = 40 + 2 * trial.index + 10 * place
    outcome = Outcome.TRUNCATED if place else Outcome.SUCCESS
    arrays = passage_arrays(not place, steps, 0.1 * (1 + place) + 0.01 * trial.index)
    npz = f"trials/{place}_{task}_trial{trial.index:04d}_seed{trial.seed}.npz"
    write_npz(folder / npz, arrays)
    return TrialResult(
        trial=trial,
        outcome=outcome,
        success=not place,
        steps_total=steps,
        steps_to_success=None if place else steps,
        first_success=None if place else steps,
        episode_reward=0.0,
        max_steps=200,
        metrics=compute(Episode(arrays, outcome, 200)),
        npz=npz,
        trace=f"{zlib.crc32(npz.encode()):016x}",
    )
