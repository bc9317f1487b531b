"""What the runtime of this suite is made of: vla-eval alone. A benchmark needs its own simulator beside it."""

from __future__ import annotations

NAME = "vla_eval"
PACKAGES = ("vla-eval==0.8.*",)
PYTHON = ">=3.8"
IMPORTS = ("vla_eval",)

SIMULATORS = {"vla_eval.benchmarks.kinetix.benchmark:KinetixBenchmark": ("kinetix-env==3.0.*",)}
"""Benchmark -> what it needs besides, where packages alone are enough: no assets to download, no container."""
