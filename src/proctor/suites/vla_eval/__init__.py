"""The benchmarks that vla-eval wraps, each through its one `Benchmark` class."""
