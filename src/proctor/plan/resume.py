"""What may change when a run goes on, and what would alter trials that are finished."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from proctor.config.models import EvalConfig
from proctor.errors import InputError

FREE = frozenset({"num_parallel", "workers", "limits", "output_root", "python_path", "loggers", "report", "declare"})
"""Keys that change how trials run and what is said of them, never what they are."""
_PLANNED = re.compile(r"(tasks\.\d+\.)?(n_trials|seeds)(\.\d+)?|base_seed")
"""Keys that say which trials there are."""
_ONE_SEED = re.compile(r"(?<=seeds)\.\d+$")
"""Of a list of seeds, the first that is another is enough."""
_FREE = re.compile(r"agents\.\d+\.group|(agents|tasks)\.\d+\.runtime(\..*)?")


def is_free(path: str) -> bool:
    """Whether a dotted key changes no trial: what is under the free keys, the group of an agent, and the runtime of a
    task or an agent: what is in it may change trials, which its hash tells, and not where it lies or its name."""
    return path.split(".", 1)[0] in FREE or _FREE.fullmatch(path) is not None


def check_resumable(old: EvalConfig, new: EvalConfig) -> None:
    """Raise InputError, naming every key, if the new config would alter finished trials."""
    grows = old.stop_when is None and _grows(old, new)
    found = [
        (path, f"{path}: {_short(before)} -> {_short(after)}")
        for path, before, after in differences(old.model_dump(mode="json"), new.model_dump(mode="json"))
        if not is_free(path) and not (grows and _PLANNED.fullmatch(path))
    ]
    refused = list({_ONE_SEED.sub("", path): said for path, said in reversed(found)}.values())[::-1]
    declared = " With stop_when, n_trials may not grow: the test was declared for that many." if old.stop_when else ""
    if refused:
        raise InputError(
            "a resumed run must leave its finished trials as they are; these changes would alter them:\n  "
            + "\n  ".join(refused)
            + "\nn_trials may grow, and seeds by further ones at the end of their list; num_parallel, workers, limits, "
            "loggers, report and runtimes may change. For another scoring: proctor score RUN --set scoring.…; "
            "for anything else start a new run." + declared
        )


def _grows(old: EvalConfig, new: EvalConfig) -> bool:
    """Whether every trial of the old plan is in the new one, with its index and seed."""
    if [task.name for task in old.tasks] != [task.name for task in new.tasks]:
        return False
    seeds = [(old.seeds_of(a), new.seeds_of(b)) for a, b in zip(old.tasks, new.tasks, strict=True)]
    return all(len(before) <= len(after) and _begins(before, after) for before, after in seeds)


def _begins(before: Sequence[int], after: Sequence[int]) -> bool:
    return all(a == b for a, b in zip(before, after, strict=False))


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
