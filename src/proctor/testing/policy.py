"""The laws of a policy, and of a loader and the policy that it loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from proctor.config.models import AgentCfg
from proctor.policies.loader import Loader
from proctor.policies.options import PolicyOptions
from proctor.policies.protocol import AnyPolicy, Batch, Execute, Policy, SpaceInfo, StagedPolicy, StageOutput
from proctor.policies.rows import answers, forward, pick_rows, row_dependence, sample_batch
from proctor.policies.tree import take_rows, tree_map
from proctor.testing.common import (
    Conformance,
    check_needs,
    check_options_class,
    check_part,
    frozen,
    global_generators,
    global_seed,
)
from proctor_host.trials import Trial


class PolicyConformance(Conformance[AnyPolicy]):
    """Subclass, name it `Test...`, set the two spaces and write `make`. A policy of several stages is examined at its
    first stage; that rows do not depend on each other, at every stage that these rows come to."""

    observation_space: ClassVar[Any]
    action_space: ClassVar[Any]
    rows: ClassVar[int] = 16
    """Rows of each forward; the agent's `pad_to`."""
    steps: ClassVar[int] = 4
    """How many steps of memory are compared."""
    task: ClassVar[str] = "task"
    """The task's name, for policies that are told the spaces by task."""

    def test_gives_one_answer_for_every_row(self) -> None:
        policy = self.make()
        found = len(answers(policy, self._batch(policy)))
        assert found == self.rows, f"{found} answers for {self.rows} rows"

    def test_actions_are_finite_and_in_the_action_space(self) -> None:
        policy = self.make()
        for row, chunk in enumerate(self._chunks(policy, self._batch(policy))):
            for action in chunk:
                numbers = np.asarray(action)
                assert np.isfinite(numbers).all(), f"row {row}: action {numbers} is not finite"
                cast = numbers.astype(self.action_space.dtype)
                assert (cast == numbers).all() or self.action_space.dtype.kind == "f", (
                    f"row {row}: {numbers} is not whole"
                )
                value = cast if cast.ndim else cast[()]
                assert self.action_space.contains(value), f"row {row}: action {numbers} is not in {self.action_space}"

    def test_rows_do_not_depend_on_each_other(self) -> None:
        policy = self.make()
        found = row_dependence(policy, self._batch(policy))
        assert found is None, found

    def test_two_instances_act_alike(self) -> None:
        first, second = self.make(), self.make()
        same = answers(first, self._batch(first)) == answers(second, self._batch(second))
        assert same, "two policies made alike give different actions: something random happens when one is made"

    def test_initial_state_is_each_trial_s_own(self) -> None:
        policy, trials = self.make(), self._trials()
        together = policy.reset(trials)
        for row, trial in enumerate(trials):
            alone = policy.reset([trial])
            same = alone is None if together is None else frozen(alone) == frozen(take_rows(together, [row]))
            assert same, f"reset gives trial {row} another state alone than among others"

    def test_a_trial_alone_equals_the_trial_in_a_batch(self) -> None:
        policy = self.make()
        together = self._episode(policy, list(range(self.rows)))
        for row in (0, self.rows // 2, self.rows - 1):
            alone = self._episode(policy, [row] * self.rows)
            for step in range(self.steps):
                same = alone[step][0] == together[step][row]
                assert same, f"trial {row} acts otherwise at step {step} when its neighbours are others"

    def test_global_generators_neither_matter_nor_change(self) -> None:
        policy = self.make()
        found = []
        for seed in (1, 2):
            with global_seed(seed):
                before = global_generators()
                found.append(answers(policy, self._batch(policy)))
                after = global_generators()
            changed = [name for name in before if before[name] != after[name]]
            assert not changed, f"acting draws from the global generator of {', '.join(changed)}: use batch.rngs"
        assert found[0] == found[1], "actions depend on a global generator: use batch.rngs"

    def test_observations_are_not_changed(self) -> None:
        policy = self.make()
        batch = self._batch(policy)
        before = _observed(batch)
        answers(policy, batch)
        assert _observed(batch) == before, "acting changed the observation arrays"

    def test_observation_buffers_may_be_overwritten_after_acting(self) -> None:
        policy = self.make()
        first = self._batch(policy)
        expected = self._second_step(policy, first, spoil=False)
        assert self._second_step(policy, first, spoil=True) == expected, (
            "actions or state refer to the observation buffer, which is valid during the call only: copy what you keep"
        )

    def _trials(self) -> list[Trial]:
        return [Trial("agent", self.task, index, 1000 + index) for index in range(self.rows)]

    def _batch(self, policy: AnyPolicy, seed: int = 0) -> Batch:
        return sample_batch(policy, self.observation_space, self._trials(), seed)

    def _chunks(self, policy: AnyPolicy, batch: Batch) -> list[Any]:
        """For each row the actions it asks for, `(horizon, *action)`."""
        result = forward(policy, batch)
        if isinstance(result, StageOutput):
            return [d.actions if isinstance(d, Execute) else [] for d in result.decisions]
        chunked = result.actions.ndim == 2 + len(self.action_space.shape or ())
        return list(result.actions) if chunked else [[action] for action in result.actions]

    def _episode(self, policy: AnyPolicy, rows: list[int]) -> list[Any]:
        """The answers of these trials (one may be there several times) over a few steps of fixed observations."""
        trace = []
        batch = pick_rows(self._batch(policy), rows)
        for step in range(self.steps):
            batch.observation = pick_rows(self._batch(policy, seed=step), rows).observation
            state_before, copies = batch.state, pick_rows(batch, list(range(len(rows))))
            trace.append(answers(policy, copies))
            batch.state = forward(policy, batch).state
            assert (batch.state is None) == (state_before is None), "state appears or vanishes between reset and act"
        return trace

    def _second_step(self, policy: AnyPolicy, first: Batch, spoil: bool) -> Any:
        batch = pick_rows(first, list(range(self.rows)))
        result = forward(policy, batch)
        if spoil and not isinstance(batch.observation, list):
            tree_map(_overwrite, batch.observation)
        if isinstance(result, StageOutput):
            kept: Any = [frozen(d.actions) if isinstance(d, Execute) else d for d in result.decisions]
        else:
            kept = frozen(result.actions)
        follow = self._batch(policy, seed=1)
        follow.state = result.state
        return kept, answers(policy, follow)


def _observed(batch: Batch) -> Any:
    return repr(batch.observation) if isinstance(batch.observation, list) else frozen(batch.observation)


def _overwrite(array: np.ndarray) -> None:
    array[...] = np.ones((), array.dtype)


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
