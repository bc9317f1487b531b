"""Checkpoints on a hub are pinned when a run begins: the commit or version that was found takes the place of a branch,
tag or alias. The run's config has what was found; its ledger remembers what was asked for."""

from __future__ import annotations

from typing import Any

from proctor.config import EvalConfig
from proctor.config.models import AgentCfg
from proctor.policies import loader_for
from proctor.policies.files import fetched, newest
from proctor.record.ledger import Ledger
from proctor.references import is_reference, parse

KEY = "asked"
"""Of the ledger: pinned reference -> as the config had it."""


def pinned(cfg: EvalConfig) -> tuple[EvalConfig, dict[str, str]]:
    """The config with every reference pinned, its file fetched, and each pinned reference with what was asked for.
    Raises InputError where one cannot be fetched."""
    asked: dict[str, str] = {}
    return cfg.model_copy(update={"agents": tuple(_agent(agent, asked) for agent in cfg.agents)}), asked


def moved(ledger: Ledger) -> tuple[str, ...]:
    """A sentence for each reference that leads elsewhere by now; none where that cannot be found out."""
    said = []
    known = ledger.get_meta(KEY, {})
    for text, asked in known.items() if isinstance(known, dict) else ():
        if not (is_reference(text) and is_reference(asked)):
            continue
        before, now = parse(text).revision, None if parse(asked).pinned else newest(asked)
        if now not in (None, before):
            said.append(f"{asked} has moved to {now} since this run began, which goes on with {before}")
    return tuple(said)


def _agent(agent: AgentCfg, asked: dict[str, str]) -> AgentCfg:
    where = f'agent "{agent.name}"'
    options = _options(agent.options, f"{where}, options", asked)
    if not is_reference(agent.checkpoint):
        return agent.model_copy(update={"options": options})
    folders = loader_for(agent.policy).folders
    checkpoint = _pinned(str(agent.checkpoint), f"{where}, checkpoint", asked, folders=folders)
    return agent.model_copy(update={"options": options, "checkpoint": checkpoint})


def _options(value: Any, where: str, asked: dict[str, str]) -> Any:
    """Options with references pinned. What is in `kwargs` belongs to somebody else's function."""
    if isinstance(value, dict):
        return {k: v if k == "kwargs" else _options(v, f"{where}.{k}", asked) for k, v in value.items()}
    return _pinned(value, where, asked, folders=False) if is_reference(value) else value


def _pinned(text: str, where: str, asked: dict[str, str], *, folders: bool) -> str:
    _, reference = fetched(text, where, folders=folders)
    asked[str(reference)] = text
    return str(reference)
