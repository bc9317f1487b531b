"""The errors a user can meet, each with a way out in its text.

`ProctorError` is the base: the command line prints its text without a traceback. What the subclasses mean
for the exit code is written in `proctor.cli`.
"""

from __future__ import annotations

import importlib
from typing import Any

from proctor_host.errors import BREAKS, InputError, ProctorError, TaskCodeError

__all__ = ["BREAKS", "InputError", "MissingExtra", "ProctorError", "RunError", "TaskCodeError", "optional"]


class MissingExtra(InputError):
    """An optional package is absent. The text is one sentence with the install command."""

    def __init__(self, what: str, package: str, extra: str):
        super().__init__(f'{what} needs the package "{package}"; install it with: pip install "proctor[{extra}]"')


def optional(module: str, what: str, extra: str) -> Any:
    """A module of an optional package. Raises MissingExtra, with `what` needs it, where the package is absent."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtra(what, package, extra) from None


class RunError(ProctorError):
    """A run cannot go on (disk full, folder in use). What is finished stays finished."""
