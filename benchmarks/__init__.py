"""Speed, measured: `python -m benchmarks [name ...]`. Both sides of a comparison are measured in one run."""
