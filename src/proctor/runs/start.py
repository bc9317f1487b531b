"""Running an examination in a new folder. Its scoring and metrics are loaded before the first trial: a run of hours
must not end with a typing error in the file that was to score it."""

from __future__ import annotations

import contextlib
import shutil
from datetime import datetime

from proctor.config import EvalConfig
from proctor.config.code import code_of, module_folders
from proctor.errors import BREAKS, InputError
from proctor.interpreters import search_last
from proctor.metrics.registry import find_metrics
from proctor.plan.plan import Plan, Shard
from proctor.policies import fingerprint
from proctor.record.disk import beginning
from proctor.record.rundir import RunDir
from proctor.record.trust import remember
from proctor.record.video import require_video
from proctor.rollout.attending import Operator
from proctor.rollout.progress import CancelToken, Observer
from proctor.runs import pinning, places
from proctor.runs.noting import note_beginnings, note_protocol
from proctor.runs.run import Run
from proctor.runs.session import Hooks, RunEnd, work
from proctor.scoring import make_scoring


def run_evaluation(
    cfg: EvalConfig,
    *,
    progress: Observer | None = None,
    cancel: CancelToken | None = None,
    shard: str | None = None,
    operator: Operator | None = None,
) -> Run:
    """Run an examination in a new folder and write its reports. May be called from any thread. `operator` is asked
    where trials need a person."""
    end = start(cfg, Hooks(progress, cancel, operator), None if shard is None else Shard.parse(shard))
    return Run.of(end.run)


def start(
    cfg: EvalConfig,
    hooks: Hooks = Hooks(),  # noqa: B008 - frozen
    shard: Shard | None = None,
    *,
    config: str | None = None,
) -> RunEnd:
    """As `run_evaluation`, saying more of how it ended. The code that the config names is trusted from now on.
    `config`: the file that it was read from, for sentences."""
    if cfg.record.level == "video":
        require_video()
    if shard is not None and shard.count > 1 and cfg.stop_when is not None:
        raise InputError(
            "a shard cannot follow stop_when: its test reads the trials of all shards in their order. Run without "
            "--shard, or without stop_when"
        )
    search_last(module_folders(cfg))
    require_judging(cfg)
    places.find(cfg, config)
    cfg, asked = pinning.pinned(cfg)
    prints = {agent.name: fingerprint(agent) for agent in cfg.agents}
    remember(code_of(cfg))
    run = RunDir.create(cfg, datetime.now(), "" if shard is None else shard.suffix)
    with beginning(run.path), contextlib.ExitStack() as held:
        held.enter_context(run.locked())
        with run.ledger() as ledger:
            ledger.set_meta("shard", str(shard or Shard()))
            ledger.set_meta("fingerprints", prints)
            ledger.set_meta(pinning.KEY, asked)
            note_protocol(ledger, cfg)
            note_beginnings(ledger, cfg)
            ledger.add(Plan(cfg, shard).placed())
        lock = held.pop_all()
    with lock:
        try:
            return work(run, cfg, hooks)
        except InputError:
            if next(run.results(), None) is None:
                shutil.rmtree(run.path)
            raise


def judging_problems(cfg: EvalConfig) -> list[str]:
    """What is wrong with the scoring and with the metrics that the config brings; empty where all can be loaded."""
    problems = []
    for what, load in (
        ("scoring", lambda: make_scoring(cfg.scoring)),
        ("scoring.metrics", lambda: find_metrics(cfg.scoring.metrics)),
    ):
        try:
            load()
        except BREAKS as error:
            text = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            problems.append(f"{what}: {text}")
    return problems


def require_judging(cfg: EvalConfig) -> None:
    """Raises InputError with every problem found."""
    if problems := judging_problems(cfg):
        raise InputError("\n".join(problems))
