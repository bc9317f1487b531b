"""The errors that a worker tells apart, and how what another's code raised is said."""

from __future__ import annotations

import traceback

BREAKS = (Exception, SystemExit, GeneratorExit)
"""What code of a user's (a policy, an environment, a metric, a logger) may raise without ending whoever called it.
`KeyboardInterrupt` is not among them: on the main thread it is the user who interrupts."""


class ProctorError(Exception):
    """Something the user can act on. The message says what was found, what was expected and what to do."""


class InputError(ProctorError):
    """Bad input: a config, a checkpoint, a run folder, an option."""


class Explained(Exception):
    """What was raised in another process; its text is what that process has made of it."""


def explain(problem: BaseException) -> str:
    """First line: what it is. Then the traceback."""
    if isinstance(problem, Explained):
        return str(problem)
    lines = traceback.format_exception(type(problem), problem, problem.__traceback__)
    return f"{type(problem).__name__}: {problem}\n{''.join(lines)}"


class TaskCodeError(ProctorError):
    """What code that a config gives to a task, such as an evaluation function, raised in a trial. Neither the simulator
    nor the agent has failed. The message names the file and the line."""
