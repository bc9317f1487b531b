"""Compile every kernel that Proctor has, several at a time. A run does this by itself for the suites it needs."""

from __future__ import annotations

from proctor.kernels import compile_first
from proctor.registry import SUITES
from proctor.suites import find_suite

if __name__ == "__main__":
    targets = [target for name in SUITES.names() for target in find_suite(name).kernels]
    compile_first([*dict.fromkeys(targets), "proctor.stats.warming:warm"], lambda: None)
