"""What can be done with runs: start, resume, score again, report, check, tune, merge, replay, import outcomes."""
