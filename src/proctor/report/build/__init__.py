"""From results to a `Report`: estimates, ranks, findings, and the comparison of its agents."""
