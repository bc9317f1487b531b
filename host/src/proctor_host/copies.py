"""Copies of a process that another's code has made.

An environment, or a policy, may fork: to run a simulator, or by mistake. A child that comes back from the call is a
copy of the whole worker, or of the whole engine: it would go on with the same trials, and talk to the others in the
same name. So whoever calls such code looks afterwards whether it is still the process that made the call.
"""

from __future__ import annotations

import contextlib
import os

_forks = 0


def _count() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count)


def forks() -> int:
    """How many forks lie between the first process and this one."""
    return _forks


def end_if_copied(before: int) -> None:
    """End this process if it was made by a fork since `forks` gave `before`."""
    if _forks != before:
        with contextlib.suppress(OSError):
            os.write(2, b"a call into an environment or a policy forked, and the copy came back: it is ended here\n")
        os._exit(0)
