"""What may change when a run goes on, and what would alter trials that are finished."""

from __future__ import annotations

import re
from typing import Any

from proctor.config.models import EvalConfig
from proctor.errors import InputError

FREE = frozenset({"num_parallel", "workers", "limits", "output_root", "loggers", "report", "declare"})
"""Keys that change how trials run and what is said of them, never what they are."""
_FREE = re.compile(r"agents\.\d+\.group|tasks\.\d+\.runtime(\..*)?")


def is_free(path: str) -> bool:
    """Whether a dotted key changes no trial: what is under the free keys, the group of an agent, and the runtime of a
    task: what is in it may change trials, which its hash tells, and not where it lies or what it is called."""
    return path.split(".", 1)[0] in FREE or _FREE.fullmatch(path) is not None


def check_resumable(old: EvalConfig, new: EvalConfig) -> None:
    """Raise InputError, naming every key, if the new config would alter finished trials."""
    refused = [
        f"{path}: {_short(before)} -> {_short(after)}"
        for path, before, after in differences(old.model_dump(mode="json"), new.model_dump(mode="json"))
        if not is_free(path) and (old.stop_when is not None or not _grows(path, before, after))
    ]
    declared = " With stop_when, n_trials may not grow: the test was declared for that many." if old.stop_when else ""
    if refused:
        raise InputError(
            "a resumed run must leave its finished trials as they are; these changes would alter them:\n  "
            + "\n  ".join(refused)
            + "\nn_trials may grow; num_parallel, workers, limits, loggers, report and tasks.N.runtime may change. "
            "For another scoring: proctor score RUN --set scoring.…; for anything else start a new run." + declared
        )


def _grows(path: str, before: Any, after: Any) -> bool:
    """Whether a change only adds trials. A task that had the run's number may not leave it: one of them could be
    smaller."""
    counts = path == "n_trials" or re.fullmatch(r"tasks\.\d+\.n_trials", path) is not None
    return counts and before is not None and after is not None and after >= before


def differences(old: Any, new: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """(dotted key, before, after) of every leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in [*old, *(k for k in new if k not in old)]:
            found += differences(old.get(key), new.get(key), f"{path}.{key}" if path else str(key))
        return found
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [d for i, (a, b) in enumerate(zip(old, new, strict=True)) for d in differences(a, b, f"{path}.{i}")]
    return [] if old == new else [(path, old, new)]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
