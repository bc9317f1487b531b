"""What a loader is: the part that makes a policy of an agent's config.

A loader is stateless and cheap to import; the library it needs is imported in `load`. Other packages add
loaders through the entry point group `proctor.loaders`.
"""

from __future__ import annotations

import abc
import importlib
from pathlib import Path
from typing import Any, ClassVar

from proctor.config.models import AgentCfg
from proctor.errors import InputError, MissingExtra
from proctor.policies.files import files_in, find_file, find_path
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy, SpaceInfo


class Loader(abc.ABC):
    """Makes the policy of an agent, for agents whose config names this loader."""

    name: ClassVar[str]
    Options: ClassVar[type[PolicyOptions]] = PolicyOptions
    needs: ClassVar[tuple[tuple[str, str], ...]] = ()
    """(package, extra) pairs that must be importable."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """Endings of the checkpoints it reads; empty: it reads none."""
    hosted: ClassVar[str] = "proctor.policies.hosted:load"
    """The function, by import string, that makes the policy in another interpreter (docs/runtimes.md). It is called
    with the agent and the options, whose keys are attributes, and a `SpaceInfo`; modules of Proctor's are found there,
    other packages are those of the runtime. The default calls this loader's own `load`, which takes pydantic and
    gymnasium."""
    runtime: ClassVar[str | None] = None
    """The recipe of a runtime that has what it needs. Where that cannot be imported here, its agents live in the
    runtime of this name, once it is installed."""
    folders: ClassVar[bool] = False
    """Whether a checkpoint may be a folder."""
    row_by_row: ClassVar[bool] = False
    """Whether every row is answered on its own, so that it does not matter which rows share a batch."""
    in_workers: ClassVar[bool] = False
    """Whether its policies are so small that they are asked in the workers wherever they can be."""
    here_only: ClassVar[bool] = False
    """Whether its policies live in the process that runs the config, and can be loaded in no other."""

    @abc.abstractmethod
    def load(self, agent: AgentCfg, options: Any, spaces: SpaceInfo, base: Path | None) -> AnyPolicy:
        """The policy, without the pipeline. `spaces` are those the model sees: frames stacked, values normalised.
        `base` is the folder that relative paths start from. Raises InputError for what the user can mend."""

    def files(self, agent: AgentCfg, options: Any, base: Path | None) -> dict[str, Path]:
        """What decides how the agent acts and lies outside the config: files by a name that says their role."""
        if agent.checkpoint is None:
            return {}
        path = self.checkpoint(agent, base)
        return (
            {f"checkpoint/{name}": file for name, file in files_in(path).items()}
            if path.is_dir()
            else {"checkpoint": path}
        )

    def prints(self, options: Any) -> dict[str, str]:
        """What else decides that, as hashes by role."""
        return {}

    def checkpoint(self, agent: AgentCfg, base: Path | None) -> Path:
        """The agent's checkpoint: a file, or a folder where the loader takes `folders`."""
        if agent.checkpoint is None:
            endings = f" ({', '.join(self.suffixes)})" if self.suffixes else ""
            raise InputError(f'agent "{agent.name}": the {self.name} loader needs a checkpoint{endings}')
        what = f'agent "{agent.name}", checkpoint'
        if self.folders and (path := find_path(agent.checkpoint, base, what)).is_dir():
            return path
        return find_file(agent.checkpoint, base, what)

    def require(self, package: str) -> Any:
        """Import a package this loader needs, or say how to install it."""
        try:
            return importlib.import_module(package)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            extra = dict(self.needs).get(missing)
            if extra is None:
                raise
            raise MissingExtra(f"the {self.name} loader", missing, extra) from None
