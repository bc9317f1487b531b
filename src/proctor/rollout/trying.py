"""An engine in a folder that is gone afterwards: to try things out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.config.models import EvalConfig
from proctor.plan.plan import Plan
from proctor.record.ledger import Ledger
from proctor.rollout.engine import Engine


@contextmanager
def temporary_engine(cfg: EvalConfig) -> Iterator[Engine]:
    """An engine that is ready to `run`; its ledger can be read until the end."""
    with tempfile.TemporaryDirectory(prefix="proctor-try-") as temporary:
        folder = Path(temporary)
        (folder / "trials").mkdir()
        with Ledger.create(folder / "ledger.sqlite") as ledger:
            plan = Plan(cfg)
            ledger.add(plan.placed())
            yield Engine(cfg, plan, folder, ledger)
