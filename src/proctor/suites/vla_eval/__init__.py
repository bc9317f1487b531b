"""Benchmarks that vla-eval wraps."""
