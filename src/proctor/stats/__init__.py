"""Statistics: intervals for rates and means, from numbers alone."""

from proctor.stats.bootstrap import BootstrapMean, bootstrap_mean, percentile_interval, replicates
from proctor.stats.intervals import Interval, rate_bounds, student_t, wilson

__all__ = [
    "BootstrapMean",
    "Interval",
    "bootstrap_mean",
    "percentile_interval",
    "rate_bounds",
    "replicates",
    "student_t",
    "wilson",
]
