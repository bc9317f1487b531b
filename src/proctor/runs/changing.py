"""`--set` for a run that exists: which keys a verb may change, and the config with them changed."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from proctor.config import EvalConfig, apply_overrides
from proctor.config.checks import check_report
from proctor.config.problems import Problems
from proctor.config.validate import validate
from proctor.errors import InputError
from proctor.plan.resume import differences


def changed(cfg: EvalConfig, overrides: Sequence[str], may: Sequence[str], verb: str) -> EvalConfig:
    """The config with overrides of keys that `may` change: patterns of dotted keys, which stand for all that is under
    them. The files of agents and tasks need not be there any more. Raises InputError for another key, and ConfigError
    for a value that does not fit."""
    if not overrides:
        return cfg
    before = cfg.model_dump(mode="json")
    after = apply_overrides(before, overrides)
    refused = [key for key, _, _ in differences(before, after) if not any(_under(key, pattern) for pattern in may)]
    if refused:
        raise InputError(f"{verb} cannot change {', '.join(refused)}; it changes {', '.join(may)} only")
    problems = Problems("--set")
    found = validate(EvalConfig, after, (), problems)
    if found is not None:
        check_report(found, problems)
    problems.raise_any()
    assert found is not None
    return found


def _under(key: str, pattern: str) -> bool:
    return fnmatchcase(key, pattern) or fnmatchcase(key, f"{pattern}.*")
