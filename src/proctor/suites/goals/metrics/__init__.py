"""Kernels of goal-embedding metrics."""
