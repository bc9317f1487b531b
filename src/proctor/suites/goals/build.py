"""From records to a report: every number, and what is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from proctor.suites.goals import dimensions
from proctor.suites.goals.ablation import NO_ABLATION, Ablation, shared_seeds
from proctor.suites.goals.config import VISUAL
from proctor.suites.goals.evidence import Answers, Gallery
from proctor.suites.goals.metrics.retrieval import Nearest
from proctor.suites.goals.records import Records
from proctor.suites.goals.report.model import (
    DIMENSIONS,
    Dimension,
    GoalsReport,
    Neighbour,
    PriorReport,
    VisualMap,
    absent,
)

SHOWN_NEIGHBOURS, SHOWN_TASKS, ON_MAP, SAMPLED = 5, 60, 800, 2000


def build_report(records: Records, ablation: Ablation | None) -> GoalsReport:
    """Everything that the files show."""
    visuals, cfg = records.visuals, records.goals
    gallery = None if visuals is None else Gallery.of(visuals, records.tasks, cfg.unit)
    pictures = _Pictures(gallery)
    plane = None if gallery is None else _Plane.of(gallery, records.answers)
    priors = tuple(_prior(answers, records, (gallery, pictures, plane), ablation) for answers in records.answers)
    return GoalsReport(
        name=records.name,
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        tasks=records.tasks,
        instructions={task: words.wordings for task, words in records.instructions.items()},
        priors=priors,
        visuals=_visuals(records),
        settings=cfg.model_dump(mode="json"),
        level=cfg.level,
        pictures=pictures.kept,
        map=None if plane is None or gallery is None else plane.shown(gallery, cfg.seed),
        visual_rates={} if ablation is None else ablation.rates[VISUAL],
        cautions=tuple(_cautions(records, gallery)),
    )


def _prior(
    answers: Answers,
    records: Records,
    around: tuple[Gallery | None, _Pictures, _Plane | None],
    ablation: Ablation | None,
) -> PriorReport:
    cfg, (gallery, pictures, plane) = records.goals, around
    found = None
    if gallery is not None and cfg.k <= len(gallery.embeddings):
        found = dimensions.neighbours(answers, gallery, cfg.k)
    own, other = _cosines(answers, gallery, cfg.seed)
    made = [
        dimensions.accuracy(answers, gallery, cfg),
        dimensions.retrieval(answers, gallery, found, cfg),
        *(compute(answers, cfg) for compute in dimensions.ALONE),
        Dimension("quality_gap", absent(NO_ABLATION), "pairs", "") if ablation is None else ablation.gaps[answers.name],
    ]
    every = {dimension.name: dimension for dimension in made}
    return PriorReport(
        name=answers.name,
        target=answers.target,
        space=answers.space,
        dim=answers.goals.shape[-1],
        tasks=answers.tasks,
        dimensions={name: every[name] for name in DIMENSIONS},
        references={
            "gain_cross_space": dimensions.gain_cross_space(answers, gallery, cfg),
            "preservation_cross_space": dimensions.preservation_cross_space(answers, cfg),
        },
        degenerate=dimensions.degenerate(every, cfg),
        similarity=answers.means[:SHOWN_TASKS] @ answers.means[:SHOWN_TASKS].T,
        own=own,
        other=other,
        nearest={} if found is None or gallery is None else pictures.nearest(answers, found),
        places=np.empty((0, 2)) if plane is None else plane.places(answers.means),
        rates={} if ablation is None else ablation.rates[answers.name],
        missing=answers.missing,
    )


def _cosines(answers: Answers, gallery: Gallery | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Raw cosines of goals with visuals of their own task and of others, at most SAMPLED visuals."""
    if gallery is None:
        return np.empty(0), np.empty(0)
    rows = _sample(len(gallery.embeddings), SAMPLED, seed)
    units = gallery.embeddings.units[rows]
    table = answers.means.astype(units.dtype) @ units.T
    owner = np.array([gallery.tasks.index(task) for task in answers.tasks])
    same = owner[:, None] == gallery.task_of_row[rows][None]
    return table[same].astype(np.float64), table[~same].astype(np.float64)


def _sample(count: int, most: int, seed: int) -> np.ndarray:
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


class _Pictures:
    """Small pictures that the report needs, each once."""

    def __init__(self, gallery: Gallery | None):
        self.kept: list[np.ndarray] = []
        self._gallery, self._number = gallery, dict[int, int]()

    def nearest(self, answers: Answers, found: Nearest) -> dict[str, list[Neighbour]]:
        """The nearest visuals of each task's first draw."""
        draws = answers.goals.shape[1]
        return {
            task: [
                self._neighbour(int(row), float(cosine))
                for row, cosine in zip(found.index[at * draws], found.cosine[at * draws], strict=True)
            ][:SHOWN_NEIGHBOURS]
            for at, task in enumerate(answers.tasks[:SHOWN_TASKS])
        }

    def _neighbour(self, row: int, cosine: float) -> Neighbour:
        assert self._gallery is not None
        if row not in self._number:
            picture = self._gallery.picture(row)
            self._number[row] = -1 if picture is None else len(self.kept)
            self.kept += [] if picture is None else [picture]
        return Neighbour(self._number[row], self._gallery.tasks[int(self._gallery.task_of_row[row])], cosine)


class _Plane:
    """The plane in which success visuals and goals are spread most (PCA of both)."""

    def __init__(self, centre: np.ndarray, axes: np.ndarray, explained: tuple[float, float]):
        self._centre, self._axes, self._explained = centre, axes, explained

    @classmethod
    def of(cls, gallery: Gallery, answers: Sequence[Answers]) -> _Plane:
        rows = _sample(len(gallery.embeddings), SAMPLED, 0)
        points = [gallery.embeddings.units[rows], *(own.means for own in answers)]
        every = np.concatenate(points).astype(np.float64)
        centre = every.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov((every - centre).T, bias=True).reshape(every.shape[1], -1))
        axes = np.zeros((every.shape[1], 2))
        chosen = vectors[:, ::-1][:, :2]
        axes[:, : chosen.shape[1]] = chosen * np.where(
            chosen[np.abs(chosen).argmax(axis=0), range(chosen.shape[1])] < 0, -1, 1
        )
        shares = np.maximum(np.concatenate([values[::-1], [0.0]])[:2], 0) / max(float(values.sum()), 1e-30)
        return cls(centre, axes, (float(shares[0]), float(shares[1])))

    def places(self, points: np.ndarray) -> np.ndarray:
        return (points - self._centre) @ self._axes

    def shown(self, gallery: Gallery, seed: int) -> VisualMap:
        rows = _sample(len(gallery.embeddings), ON_MAP, seed)
        return VisualMap(self.places(gallery.embeddings.units[rows]), gallery.task_of_row[rows], self._explained)


def _visuals(records: Records) -> Mapping[str, Any]:
    visuals = records.visuals
    if visuals is None:
        return {"space": None, "reason": records.no_visuals, "tasks": {}}
    tasks = {}
    for task in records.tasks:
        own = visuals.tasks.get(task)
        rows = None if own is None or not len(own.trial) else own.by_trial
        tasks[task] = {
            "n_trials": 0 if own is None else own.n_trials,
            "n_success": 0 if rows is None else len(rows.trial),
            "n_windows": 0 if own is None else len(own.trial),
            "seeds": [] if rows is None else rows.seed.tolist(),
        }
    return {
        "space": visuals.space,
        "encoder": dict(visuals.encoder),
        "selection": dict(visuals.selection),
        "tasks": tasks,
    }


def _cautions(records: Records, gallery: Gallery | None) -> list[str]:
    """What is to be known before the numbers are used."""
    cfg, said = records.goals, []
    if records.visuals is None or gallery is None:
        return [records.no_visuals or "No task has a success visual: what needs pictures of success is not available."]
    sizes = dict(zip(gallery.tasks, np.diff(gallery.offsets).tolist(), strict=True))
    empty = [task for task, size in sizes.items() if not size]
    if empty:
        said.append(f"No success visual of {', '.join(empty)}: these tasks are left out of accuracy and retrieval.")
    few = [task for task, size in sizes.items() if 0 < size < cfg.k]
    if few:
        said.append(
            f"Fewer than k = {cfg.k} success embeddings of {', '.join(few)}: retrieval cannot reach 1 there. Collect "
            "more, or lower goals.k."
        )
    if cfg.ablation is not None and (shared := shared_seeds(records.visuals, cfg.ablation)):
        said.append(
            f"{shared} success visuals come from seeds that the ablation runs again: the visual goal has seen its own "
            "test. Set goals.ablation.base_seed to seeds that were not collected from."
        )
    return said
