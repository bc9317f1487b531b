"""What a ledger remembers of a run's protocol: what was declared, planned and scored by when it began, and every change
since."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.config import EvalConfig
from proctor.record.ledger import Ledger
from proctor.record.rundir import RunDir
from proctor.verdict.declared import Noted, noted

KEY = "protocols"


def note_protocol(ledger: Ledger, cfg: EvalConfig) -> None:
    """Note the protocol of this config where it differs from the last one noted."""
    known: list[Noted] = ledger.get_meta(KEY, [])
    _, done = ledger.counts()
    new = noted(cfg, done)
    if not known or {**known[-1], "done": done} != new:
        ledger.set_meta(KEY, [*known, new])


def note_beginnings(ledger: Ledger, cfg: EvalConfig) -> None:
    """Note which tasks begin by their seed alone: their trials can be paired wherever a seed stands in a list."""
    from proctor.suites import suite_for

    found = [(task, suite_for(task)) for task in cfg.tasks]
    by_seed = [task.name for task, suite in found if suite.begins_by_seed(suite.Options.model_validate(task.options))]
    ledger.set_meta("by_seed", by_seed)


def join_protocols(ledger: Ledger, runs: Sequence[RunDir]) -> None:
    """Note the protocols of several folders that become one, each once."""
    found: list[Noted] = []
    for run in runs:
        with run.ledger() as own:
            found += [each for each in own.get_meta(KEY, []) if each not in found]
    ledger.set_meta(KEY, found)


def protocols(ledger: Ledger) -> tuple[Noted, ...]:
    """Everything noted, in the order of time."""
    return tuple(ledger.get_meta(KEY, []))
