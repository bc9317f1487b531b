"""From records to a report: every number, and what is drawn."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from proctor.suites.goals.ablation import NO_ABLATION, Ablation, shared_seeds
from proctor.suites.goals.against_visuals import neighbours
from proctor.suites.goals.config import VISUAL
from proctor.suites.goals.dimensions import degenerate, dimensions_of
from proctor.suites.goals.evidence import Answers, Gallery
from proctor.suites.goals.metrics.retrieval import Nearest
from proctor.suites.goals.records import Records
from proctor.suites.goals.report.model import Dimension, GoalsReport, Neighbour, PriorReport, VisualMap, absent

SHOWN_NEIGHBOURS, SHOWN_TASKS, ON_MAP, SAMPLED = 5, 60, 800, 2000


def build_report(records: Records, ablation: Ablation | None) -> GoalsReport:
    """Everything that the files show."""
    visuals, cfg = records.visuals, records.goals
    gallery = None if visuals is None else Gallery.of(visuals, records.tasks, cfg.unit)
    shown, places = (None, [np.empty((0, 2))] * len(records.answers)) if gallery is None else _map(gallery, records)
    priors = tuple(
        _prior(answers, places[number], records, gallery, ablation) for number, answers in enumerate(records.answers)
    )
    rows = sorted({near.row for prior in priors for found in prior.nearest.values() for near in found})
    pictures = {row: None if gallery is None else gallery.picture(row) for row in rows}
    return GoalsReport(
        records=records,
        generated_at=datetime.now(UTC).isoformat(timespec="seconds"),
        priors=priors,
        pictures={row: picture for row, picture in pictures.items() if picture is not None},
        map=shown,
        visual_rates={} if ablation is None else ablation.rates[VISUAL],
        cautions=tuple(_cautions(records, gallery)),
    )


def _prior(
    answers: Answers, places: np.ndarray, records: Records, gallery: Gallery | None, ablation: Ablation | None
) -> PriorReport:
    cfg = records.goals
    found = None if gallery is None else neighbours(answers, gallery, cfg.k)
    gap = Dimension("quality_gap", absent(NO_ABLATION), "pairs") if ablation is None else ablation.gaps[answers.name]
    dimensions = dimensions_of(answers, gallery, found, gap, cfg)
    own, other = _cosines(answers, gallery, cfg.seed)
    return PriorReport(
        answers=answers,
        dimensions=dimensions,
        degenerate=degenerate(dimensions, cfg),
        own=own,
        other=other,
        nearest={} if found is None or gallery is None else _nearest(answers, gallery, found),
        places=places,
        rates={} if ablation is None else ablation.rates[answers.name],
    )


def _cosines(answers: Answers, gallery: Gallery | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Raw cosines of goals with visuals of their own task and of others, at most SAMPLED visuals."""
    if gallery is None:
        return np.empty(0), np.empty(0)
    rows = _sample(len(gallery.embeddings), SAMPLED, seed)
    units = gallery.embeddings.units[rows]
    table = answers.means.astype(units.dtype) @ units.T
    same = gallery.places(answers.tasks)[:, None] == gallery.task_of_row[rows][None]
    return table[same].astype(np.float64), table[~same].astype(np.float64)


def _sample(count: int, most: int, seed: int) -> np.ndarray:
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def _nearest(answers: Answers, gallery: Gallery, found: Nearest) -> dict[str, list[Neighbour]]:
    """The nearest visuals of each task's first draw."""
    firsts = slice(None, None, answers.goals.shape[1])
    rows, cosines = (values[firsts, :SHOWN_NEIGHBOURS].tolist() for values in (found.index, found.cosine))
    tasks = gallery.task_of_row
    return {
        task: [Neighbour(row, gallery.tasks[tasks[row]], cosine) for row, cosine in zip(*near, strict=True)]
        for task, *near in zip(answers.tasks[:SHOWN_TASKS], rows, cosines, strict=False)
    }


def _map(gallery: Gallery, records: Records) -> tuple[VisualMap, list[np.ndarray]]:
    """Success visuals, and the goals of each prior, in the plane in which both are spread most (PCA)."""
    units = gallery.embeddings.units
    points = [units[_sample(len(units), SAMPLED, 0)], *(own.means for own in records.answers)]
    every = np.concatenate(points).astype(np.float64)
    centre = every.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov((every - centre).T, bias=True).reshape(every.shape[1], -1))
    axes = np.zeros((every.shape[1], 2))
    chosen = vectors[:, ::-1][:, :2]
    largest = np.take_along_axis(chosen, np.abs(chosen).argmax(axis=0)[None], axis=0)
    axes[:, : chosen.shape[1]] = chosen * np.where(largest < 0, -1, 1)
    shares = np.maximum([*values[::-1], 0.0][:2], 0) / max(float(values.sum()), 1e-30)
    rows = _sample(len(units), ON_MAP, records.goals.seed)
    shown = VisualMap((units[rows] - centre) @ axes, gallery.task_of_row[rows], (float(shares[0]), float(shares[1])))
    return shown, [(own.means - centre) @ axes for own in records.answers]


def _cautions(records: Records, gallery: Gallery | None) -> list[str]:
    """What is to be known before the numbers are used."""
    cfg, said = records.goals, []
    if records.visuals is None or gallery is None:
        return [records.no_visuals or "No task has a success visual: what needs pictures of success is not available."]
    sizes = dict(zip(gallery.tasks, np.diff(gallery.offsets).tolist(), strict=True))
    empty = [task for task, size in sizes.items() if not size]
    if empty:
        said.append(f"No success visual of {', '.join(empty)}: these tasks are left out of accuracy and retrieval.")
    wordless = [task for task, own in records.visuals.tasks.items() if len(own.trial) and not own.instruction]
    left_out = [task for task in wordless if task not in records.tasks and cfg.task_set is None]
    if left_out:
        said.append(
            f"Success visuals of {', '.join(left_out)} are left out: nothing says in words what is asked for. Name it "
            "under goals.instructions."
        )
    few = [task for task, size in sizes.items() if 0 < size < cfg.k]
    if few:
        said.append(
            f"Fewer than k = {cfg.k} success embeddings of {', '.join(few)}: retrieval looks at as many as there are. "
            "Collect more, or lower goals.k."
        )
    if cfg.ablation is not None and (shared := shared_seeds(records.visuals, cfg.ablation)):
        said.append(
            f"{shared} success visuals come from seeds that the ablation runs again: the visual goal has seen its own "
            "test. Set goals.ablation.base_seed to seeds that were not collected from."
        )
    return said
