"""Statistics: intervals, comparisons, sequential tests and sample sizes, from numbers alone."""

from proctor.stats.aggregates import IQM, MEAN, MEDIAN, TRIAL_MEDIAN, Aggregate, optimality_gap
from proctor.stats.betting import always_valid, always_valid_rates, centre_sequence, mean_sequence, rate_sequence
from proctor.stats.bootstrap import Estimate, NoInterval, bootstrap, bootstrap_difference, bootstrap_mean
from proctor.stats.differences import (
    cliffs_delta,
    cohens_h,
    in_step,
    odds_ratio,
    paired_d,
    paired_odds_ratio,
    paired_test,
    skewed_interval,
    unpaired_test,
    welch_interval,
)
from proctor.stats.equivalence import (
    Equivalence,
    equivalent_means,
    equivalent_paired_rates,
    equivalent_rates,
    equivalent_task_means,
)
from proctor.stats.intervals import Discordance, Interval, flat, newcombe, rate_bounds, student_t, tango, wilson
from proctor.stats.posterior import Posterior, posterior, probability_best, probability_better
from proctor.stats.power import (
    SampleSize,
    expected_discordance,
    sequential_power,
    trials_after_a_look,
    trials_paired,
    trials_sequential,
    trials_unpaired,
)
from proctor.stats.profiles import Profile, performance_profile, probability_of_improvement
from proctor.stats.resampling import Resampling
from proctor.stats.significance import TestResult, compare_rates, discordance, mcnemar, sign_flip
from proctor.stats.simultaneous import Simultaneous, holm, letters, simultaneous_intervals
from proctor.stats.spending import SpendingTest, Verdict, conditional_power
from proctor.stats.units import LARGE, Units, combined, mean_estimate, opened, rate_interval, within

__all__ = [
    "IQM", "LARGE", "MEAN", "MEDIAN", "TRIAL_MEDIAN", "Aggregate", "Discordance", "Equivalence",
    "Estimate", "Interval", "NoInterval", "Posterior", "Profile", "Resampling", "SampleSize", "Simultaneous",
    "SpendingTest", "TestResult", "Units", "Verdict", "always_valid", "always_valid_rates", "bootstrap",
    "bootstrap_difference", "bootstrap_mean", "centre_sequence", "cliffs_delta", "cohens_h", "combined",
    "compare_rates", "conditional_power", "discordance", "equivalent_means", "equivalent_paired_rates",
    "equivalent_rates", "equivalent_task_means", "expected_discordance", "flat", "holm", "in_step", "letters",
    "mcnemar", "mean_estimate", "mean_sequence", "newcombe", "odds_ratio", "opened", "optimality_gap", "paired_d",
    "paired_odds_ratio", "paired_test", "performance_profile", "posterior", "probability_best",
    "probability_better", "probability_of_improvement", "rate_bounds", "rate_interval", "rate_sequence",
    "sequential_power", "sign_flip", "simultaneous_intervals", "skewed_interval", "student_t", "tango",
    "trials_after_a_look", "trials_paired", "trials_sequential", "trials_unpaired", "unpaired_test",
    "welch_interval", "wilson", "within",
]  # fmt: skip
