"""The goal example tells five priors apart, and in the right order."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("crafter")
pytest.importorskip("safetensors")

from proctor.stats import Interval
from proctor.suites.goals.collect import collect
from proctor.suites.goals.config import load_goals
from proctor.suites.goals.evaluate import evaluate
from proctor.suites.goals.report.model import GoalsReport, PriorReport

EXAMPLE = Path(__file__).parent.parent / "examples" / "goals.yml"
BAD = ("untrained", "constant", "shuffled")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> GoalsReport:
    """The example with fewer and shorter trials."""
    folder = tmp_path_factory.mktemp("goals")
    shorter = ["n_trials=4", "max_episode_steps=40", "goals.ablation.n_trials=2", "goals.draws=2", "workers=inline"]
    here = [f"output_root={folder / 'runs'}", f"goals.visuals_folder={folder / 'visuals'}"]
    cfg, goals = load_goals(EXAMPLE, [*here, *shorter])
    collect(cfg, goals)
    found = evaluate(cfg, goals).report
    assert found is not None
    return found


@pytest.fixture
def priors(report: GoalsReport) -> dict[str, PriorReport]:
    return {prior.name: prior for prior in report.priors}


def accuracy(prior: PriorReport) -> tuple[float, Interval]:
    reading = prior.dimensions["accuracy"].overall
    assert reading.value is not None
    assert reading.interval is not None
    return reading.value, reading.interval


def success(prior: PriorReport) -> tuple[float, Interval]:
    rate = prior.rates[""]
    assert rate.rate is not None
    assert rate.interval is not None
    return rate.rate, rate.interval


@pytest.mark.parametrize("of", [accuracy, success])
def test_the_ground_truth_is_best_then_the_trained_and_the_others_are_apart(of, priors) -> None:
    assert set(priors) == {"ground truth", "trained", *BAD}
    assert of(priors["ground truth"])[0] >= of(priors["trained"])[0]
    for name in BAD:
        assert of(priors["trained"])[1].low > of(priors[name])[1].high, name


def test_the_constant_alone_is_degenerate(priors) -> None:
    assert [name for name, prior in priors.items() if prior.degenerate] == ["constant"]


def test_the_shuffled_keeps_the_trained_discriminability(priors) -> None:
    trained, shuffled = (priors[name].dimensions["discriminability"].overall.value for name in ("trained", "shuffled"))
    assert shuffled == pytest.approx(trained, rel=1e-6)


def test_the_ground_truth_costs_nothing(report, priors) -> None:
    assert priors["ground truth"].rates[""].successes == report.visual_rates[""].successes
    assert priors["ground truth"].dimensions["quality_gap"].overall.value == 0.0


def test_every_success_of_the_trained_prior_depends_on_its_goal(priors) -> None:
    """With one goal for all tasks, that of wood, wood is all that the policy gets."""
    by_task = {task: rate.successes for task, rate in priors["constant"].rates.items() if task}
    assert by_task.pop("collect_wood") == 2
    assert sum(by_task.values()) == 0
