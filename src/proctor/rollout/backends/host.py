"""Workers in another interpreter, with a simulator's own packages: the process that a worker is anyway, started by that
interpreter.

Nothing of Proctor's is installed there. The interpreter is told where `proctor_host` lies, which needs the standard
library and numpy; the modules of a suite's environment are read from the engine's own tree (`proctor_host.child`).
"""

from __future__ import annotations

import functools
import os
from typing import ClassVar

import proctor_host
from proctor.interpreters import ROOT, at_hand
from proctor.rollout.backends.address import AddressBackend
from proctor.rollout.backends.base import Backend, BackendOptions, Worker
from proctor.rollout.backends.process import Interpreter, ProcessWorker
from proctor.runtimes import Located, RuntimeCfg, locate
from proctor_host.cfg import WorkerCfg

FOLDER = os.path.dirname(os.path.abspath(proctor_host.__file__))
_FIRST = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import importlib.util
spec = importlib.util.spec_from_file_location("proctor_host", {file!r}, submodule_search_locations=[{folder!r}])
sys.modules["proctor_host"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)"""


class HostBackend(Backend):
    """Workers in a runtime."""

    name: ClassVar[str] = "host"

    def __init__(self, cfg: WorkerCfg, interpreter: Interpreter):
        super().__init__(cfg, BackendOptions())
        self._interpreter = interpreter

    @classmethod
    def of(cls, runtime: RuntimeCfg, cfg: WorkerCfg) -> Backend:
        """For the tasks of `cfg`, which name this runtime. Raises InputError where it cannot be had."""
        if runtime.address is not None:
            return AddressBackend(cfg, runtime)
        return cls(cfg, interpreter_of(locate(runtime)))

    def hire(self, slots: int) -> Worker:
        return ProcessWorker(self.cfg, slots, self._interpreter)


def command_of(python: str, code: str, *arguments: str) -> list[str]:
    """The command line of another interpreter that runs this code, in which `proctor_host` can be imported. The working
    directory, which Python puts on the path by itself, is not searched."""
    first = _FIRST.format(file=os.path.join(FOLDER, "__init__.py"), folder=FOLDER)
    return [python, "-c", f"{first}\n{code}", *arguments]


def interpreter_of(found: Located) -> Interpreter:
    """How workers are started in a runtime."""
    return Interpreter(
        command=functools.partial(command_of, str(found.python)),
        environment=found.environment(),
        extras=None,
        root=ROOT,
        paths=tuple(at_hand()),
        name=found.label,
    )
