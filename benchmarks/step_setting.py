"""Power and stopping times in the settings of STEP (Snyder and others 2025, "Is Your Imitation Learning Policy Better
Than Mine? Policy Comparison with Near-Optimal Stopping").

The settings are the success rates of the paper's five comparisons, as the authors' repository draws them for its table
IV. The numbers of STEP are the stopping times that the tests of that repository, TRI-ML/sequentialized_barnard_tests,
expect on the recorded outcomes. Their alpha is that of one side: ours is twice as large for the same. The recorded
outcomes are theirs (CC BY-NC 4.0) and not part of Proctor; with a folder of them (`tests/eval_data` there) our test is
run on the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from proctor.stats.betting import log_wealth_rates
from proctor.stats.spending import Spend, simulate_spending


@dataclass(frozen=True)
class Setting:
    """`rates` of the worse and the better policy, the largest number of trials of each, STEP's alpha of one side, the
    file of recorded outcomes, and after how many of them STEP stops."""

    name: str
    rates: tuple[float, float]
    max_trials: int
    alpha: float
    file: str
    step: int


SETTINGS = (
    Setting("FoldRedTowel", (0.56, 0.92), 50, 0.05, "TRI_FOLD_RED_TOWEL.npy", 19),
    Setting("FoldRedTowel", (0.56, 0.92), 200, 0.05, "TRI_FOLD_RED_TOWEL.npy", 21),
    Setting("CleanUpSpill", (0.28, 0.80), 50, 0.05, "TRI_CLEAN_SPILL_v4.npy", 8),
    Setting("CleanUpSpill", (0.28, 0.80), 200, 0.05, "TRI_CLEAN_SPILL_v4.npy", 9),
    Setting("SpoonOnTowel", (0.084, 0.386), 500, 0.01, "TRI_SIM_SPOON_ON_TOWEL.npy", 36),
    Setting("EggplantInBasket", (0.40, 0.564), 500, 0.01, "TRI_SIM_EGGPLANT_IN_BASKET.npy", 131),
    Setting("StackCube", (0.0, 0.03), 500, 0.01, "TRI_SIM_STACK_CUBE.npy", 225),
)


def simulated(setting: Setting, spend: Spend, draws: int) -> tuple[float, float]:
    """The share of streams that settle the difference, and the mean number of trials of each agent."""
    rng = np.random.default_rng([setting.max_trials, int(1000 * setting.rates[1])])
    worse, better = (rng.random((draws, setting.max_trials)) < rate for rate in setting.rates)
    stops = simulate_spending(better.astype(int) - worse, setting.max_trials, 2 * setting.alpha, spend)
    return float(np.mean(stops > 0)), float(np.where(stops == 0, setting.max_trials, np.abs(stops)).mean())


def betting(setting: Setting, draws: int) -> tuple[float, float]:
    """The same of bets on two rates, at the same alpha of both sides; they know no maximum and are cut at this one."""
    rng = np.random.default_rng([setting.max_trials, int(1000 * setting.rates[1]), 1])
    worse, better = (rng.random((draws, setting.max_trials)) < rate for rate in setting.rates)
    crossed = log_wealth_rates(better, worse) >= -np.log(2 * setting.alpha)
    found = crossed.any(axis=1)
    return float(found.mean()), float(np.where(found, crossed.argmax(axis=1) + 1, setting.max_trials).mean())


def recorded(setting: Setting, folder: Path, spend: Spend) -> int | None:
    """After how many recorded trials of each policy our test stops; None where it does not."""
    outcomes = np.load(folder / setting.file, allow_pickle=False)[: setting.max_trials].astype(np.int64)
    steps = np.zeros((1, setting.max_trials), np.int64)
    steps[0, : len(outcomes)] = outcomes[:, 0] - outcomes[:, 1]
    return abs(int(simulate_spending(steps, setting.max_trials, 2 * setting.alpha, spend)[0])) or None


def simulated_table(draws: int) -> str:
    lines = [
        "| setting | rates | maximum | alpha, one side | late: power, mean n | even: power, mean n | bets |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for own in SETTINGS:
        found = [simulated(own, "late", draws), simulated(own, "even", draws), betting(own, draws)]
        cells = " | ".join(f"{100 * power:.1f} %, {n:.1f}" for power, n in found)
        low, high = own.rates
        lines.append(f"| {own.name} | {low:g}, {high:g} | {own.max_trials} | {own.alpha:g} | {cells} |")
    return "\n".join(lines)


def recorded_table(folder: Path) -> str:
    lines = ["| outcomes | maximum | STEP, published | late | even |", "|---|---:|---:|---:|---:|"]
    for own in SETTINGS:
        ours = [recorded(own, folder, spend) for spend in ("late", "even")]
        cells = " | ".join("not settled" if n is None else str(n) for n in ours)
        lines.append(f"| {own.name} | {own.max_trials} | {own.step} | {cells} |")
    return "\n".join(lines)
