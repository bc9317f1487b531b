"""Several run folders at once: what each of them is called, and how their agents are told apart by name."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.errors import InputError
from proctor.record.rundir import RunDir
from proctor.verdict.comparison.protocol import Examined


def examine(runs: Sequence[RunDir]) -> list[Examined]:
    """The runs as far as comparing them goes, each under a short name of its own."""
    return [_examined(run, label) for run, label in zip(runs, _labels(runs), strict=True)]


def names_apart(names: Sequence[Sequence[str]], labels: Sequence[str]) -> list[list[str]]:
    """Names of agents, run by run: `run:agent` where several runs have one of that name."""
    every = [name for of_run in names for name in of_run]
    return [
        [name if every.count(name) == 1 else f"{label}:{name}" for name in of_run]
        for of_run, label in zip(names, labels, strict=True)
    ]


def about_stopping(runs: Sequence[Examined]) -> list[str]:
    """What is to be said of runs that could stop early."""
    stopped = [run.label for run in runs if run.cfg.stop_when is not None]
    if not stopped:
        return []
    return [
        f"{', '.join(stopped)} could stop early: tests and intervals here are for a number of trials that was fixed "
        "before, and are too sure of themselves; the report of the run has the test and the interval that hold."
    ]


def _examined(run: RunDir, label: str) -> Examined:
    environment = run.read_json("environment.json", {}) or {}
    return Examined(label, run.config(), environment.get("current", {}).get("versions", {}))


def _labels(runs: Sequence[RunDir]) -> list[str]:
    """A short name for each run: its folder's, or the path where folders are named alike."""
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise InputError("a run folder is named twice; name each once")
    names = [run.path.resolve().name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.path) for run in runs]
