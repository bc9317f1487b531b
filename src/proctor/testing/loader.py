"""The laws of a loader, and of the policy that it loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from proctor.config.models import AgentCfg
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy, Policy, SpaceInfo, StagedPolicy
from proctor.testing.common import check_needs, check_options_class, check_part
from proctor.testing.policy import PolicyConformance


class LoaderConformance(PolicyConformance):
    """Subclass, name it `Test...`, set the two spaces and write `make_loader`; `checkpoint` and `options` are those of
    an agent to try. The laws of `PolicyConformance` hold for the policy that is loaded."""

    checkpoint: ClassVar[str | None] = None
    options: ClassVar[dict[str, Any]] = {}
    """As a config has them under `options`."""
    base: ClassVar[Path | None] = None
    """The folder that a relative `checkpoint` starts from."""

    def make_loader(self) -> Loader:
        """The loader."""
        raise NotImplementedError(f"{type(self).__name__} must say how its loader is made: write make_loader()")

    def make(self) -> AnyPolicy:
        return self._loaded(self.make_loader())

    def test_declares_itself(self) -> None:
        loader = self.make_loader()
        check_part(loader, Loader, "name")
        assert ":" not in loader.name, f'name is {loader.name!r}; a name with ":" is read as an import string'
        wrong = [ending for ending in loader.suffixes if not ending.startswith(".") or ending != ending.lower()]
        assert not wrong, f"suffixes has {wrong}; expected endings in small letters, such as .onnx"
        check_needs(loader.needs)

    def test_options_are_frozen_data(self) -> None:
        check_options_class(self.make_loader().Options, PolicyOptions, self.options)

    def test_loads_a_policy_and_keeps_nothing(self) -> None:
        loader = self.make_loader()
        policy = self._loaded(loader)
        kind = type(policy).__name__
        assert isinstance(policy, Policy | StagedPolicy), f"load gave a {kind}; expected a Policy or a StagedPolicy"
        policy.close()
        assert not vars(loader), f"the loader keeps {', '.join(vars(loader))} on itself; a second load would find it"

    def test_the_files_that_decide_are_named(self) -> None:
        loader = self.make_loader()
        files = loader.files(self._agent(loader), self._options(loader), self.base)
        missing = [str(path) for path in files.values() if not Path(path).is_file()]
        assert not missing, f"files() names {', '.join(missing)}, where there is no file"
        if self.checkpoint is not None:
            assert files, "files() is empty although there is a checkpoint; a changed one would go unnoticed"

    def _agent(self, loader: Loader) -> AgentCfg:
        return AgentCfg(name="agent", policy=loader.name, checkpoint=self.checkpoint, options=self.options)

    def _options(self, loader: Loader) -> Any:
        return loader.Options.model_validate(self.options)

    def _loaded(self, loader: Loader) -> AnyPolicy:
        spaces = SpaceInfo({self.task: self.observation_space}, {self.task: self.action_space})
        return loader.load(self._agent(loader), self._options(loader), spaces, self.base)
