"""Other interpreters of this machine, for simulators that cannot live in this one.

    cfg = needed_for(task, suite)            # RuntimeCfg, or None: this interpreter
    if cfg is not None and cfg.address is None:
        there = locate(cfg)                  # InputError: one sentence, one command
        subprocess.Popen([there.python, ...], env=there.environment())
        there.identity                       # for the record: python, implementation, packages, hash

- `recipes`: what a runtime is made of, as data; `RuntimeRecipe` is the contract of a part.
- `store`: the folder that all projects share; `runtime.json`, locks, the hash.
- `interpreters`, `install`: finding a Python of the wanted version, and building a runtime of it.
- `asking`, `inside`: an interpreter looks at itself, in a process of its own.
- `verify`: what is wrong with a runtime, with the command that mends it; `locating`: from a config to an interpreter.

Nothing here starts a worker or imports a simulator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.exports import lazily

if TYPE_CHECKING:
    from proctor.config.models import RuntimeCfg
    from proctor.runtimes.locating import Located, chosen, locate, needed_for
    from proctor.runtimes.recipes import RuntimeRecipe, RuntimeSpecification, described, specify
    from proctor.runtimes.verify import Problem, problems_of

__getattr__ = lazily(__name__, __file__)

__all__ = [
    "Located", "Problem", "RuntimeCfg", "RuntimeRecipe", "RuntimeSpecification", "chosen", "described", "locate",
    "needed_for", "problems_of", "specify",
]  # fmt: skip
