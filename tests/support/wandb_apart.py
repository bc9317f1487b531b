"""The package wandb reads its settings once for a process: a test that has other settings lets it begin anew."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def settings_of_its_own() -> Iterator[None]:
    """What wandb has read of the environment is forgotten here, and once more at the end."""
    _forget()
    try:
        yield
    finally:
        _forget()


def _forget() -> None:
    wandb = sys.modules.get("wandb")
    if wandb is not None:
        wandb.teardown()
