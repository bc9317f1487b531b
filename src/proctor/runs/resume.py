"""Going on with a run: what is missing is run, what is finished stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from proctor.config import EvalConfig, apply_overrides, config_from_dict
from proctor.config.code import code_of, module_folders
from proctor.errors import InputError
from proctor.interpreters import search_last
from proctor.plan.plan import Plan
from proctor.plan.resume import check_resumable
from proctor.policies import fingerprint
from proctor.record.disk import finishing
from proctor.record.files import remove_leftovers
from proctor.record.ledger import Ledger
from proctor.record.records import Found, damaged
from proctor.record.rundir import RunDir
from proctor.record.trust import remember
from proctor.report.text import count
from proctor.runs import pinning, places
from proctor.runs.noting import note_protocol
from proctor.runs.report import shard_of
from proctor.runs.session import Hooks, RunEnd, log, work


def resume(
    path: str | Path,
    overrides: Sequence[str] = (),
    hooks: Hooks = Hooks(),  # noqa: B008 - frozen
    *,
    retry_unscored: bool = False,
    trust: bool = False,
) -> RunEnd:
    """Run what is missing. Does nothing but rewrite the reports on a finished run. The code that the run names must be
    trusted (`proctor.record.trust`), unless `trust`; code that the overrides name is."""
    run = RunDir.open(path, trust=trust)
    old = run.plain_config()
    run.require_trust(code_of(old))
    cfg = _overridden(old, overrides)
    remember(code_of(cfg))
    check_resumable(old, cfg)
    search_last(module_folders(cfg))
    with finishing(run.path), run.locked():
        for folder in (run.path, run.path / "trials"):
            remove_leftovers(folder)
        with run.ledger() as ledger:
            _check_fingerprints(cfg, ledger)
            shard = shard_of(ledger)
            if shard.count > 1 and cfg.trials_per_agent != old.trials_per_agent:
                raise InputError(
                    f"{path} is shard {shard}; n_trials of a shard cannot change: merge the shards, then resume"
                )
            if cfg.trials_per_agent != old.trials_per_agent:
                places.find_again(run, cfg)  # where they cannot be run, they are not planned
            _note_look(run, ledger, old, cfg)
            run.write_config(cfg)
            note_protocol(ledger, cfg)
            (run.path / "trials").mkdir(exist_ok=True)
            again = (*pinning.moved(ledger), *_reopened(run, ledger))
            if retry_unscored:
                ledger.reopen_unscored()
            ledger.add(Plan(cfg, shard).placed())
        end = work(run, cfg, hooks)
        return replace(end, notes=(*again, *end.notes))


def _note_look(run: RunDir, ledger: Ledger, old: EvalConfig, cfg: EvalConfig) -> None:
    """More trials are planned after results could be seen: from now on tests must hold at every look."""
    if cfg.trials_per_agent > old.trials_per_agent and (run.path / "report.json").is_file():
        ledger.set_meta("looks", [*ledger.looks(), old.trials_per_agent])


def _reopened(run: RunDir, ledger: Ledger) -> tuple[str, ...]:
    """Make trials whose records are missing or damaged pending again, and say which."""
    found = list(damaged(run.path, ledger))
    ledger.reopen(trial for trial, _ in found)
    if not found:
        return ()
    said = f"{count(len(found), 'trial')} whose record is damaged run again: {Found(found)}"
    log.warning(said)
    return (said,)


def _overridden(cfg: EvalConfig, overrides: Sequence[str]) -> EvalConfig:
    if not overrides:
        return cfg
    return config_from_dict(apply_overrides(cfg.model_dump(mode="json"), overrides))


def _check_fingerprints(cfg: EvalConfig, ledger: Ledger) -> None:
    known = ledger.get_meta("fingerprints", {})
    try:
        changed = [a.name for a in cfg.agents if a.name in known and known[a.name] != fingerprint(a)]
    except ValidationError as error:
        raise InputError(f"config.json of the run has options that no agent can have: {error}") from None
    if changed:
        raise InputError(
            f"the files of agent {', '.join(changed)} have changed since this run began; its finished trials belong to "
            "the old ones. Put the old files back, or start a new run."
        )
