"""The laws of a worker backend."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar, cast

from proctor.config import config_from_dict
from proctor.registry import BACKENDS
from proctor.rollout.backends.base import BackendOptions
from proctor.runs.start import run_evaluation
from proctor.testing.common import check_options_class, without_error
from proctor.testing.worlds import SUITE, TROUBLED
from proctor_host.cfg import WorkerCfg
from proctor_host.result import TrialResult

Results = dict[tuple[str, int], TrialResult]
"""The results of an examination by agent and index."""
TRIALS = 4


class BackendConformance:
    """Subclass, name it `Test...`, and set `kind` to the registered name or an import string."""

    kind: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    """As a config has them under `workers.options`."""
    count: ClassVar[int] = 2
    """How many workers are asked for."""
    isolates: ClassVar[bool] = True
    """False: a world that kills or blocks its process takes the run along; those laws are left out. They always are
    for a backend that says `in_this_process`."""

    def test_declares_itself(self) -> None:
        backend = BACKENDS.find(self.kind)
        assert backend.name, "name is empty"
        check_options_class(backend.Options, BackendOptions, self.options)

    def test_every_slot_has_a_worker(self) -> None:
        kind = BACKENDS.find(self.kind)
        backend = kind(cast(WorkerCfg, None), kind.Options.model_validate(self.options))
        for slots in (1, 2, 5, 16):
            for count in (None, 1, 3, 99):
                shares = backend.shares(slots, count)
                where = f"shares({slots}, {count}) gave {shares}"
                assert sum(shares) == slots, f"{where}; expected {slots} slots in all"
                assert all(share >= 1 for share in shares), f"{where}; a worker without slots has nothing to do"

    def test_records_are_equal_to_those_of_the_caller_s_process(self) -> None:
        """To the byte, for policies that the engine asks and for those in the worker."""
        self._compare(self._examined(self.kind), self._examined("inline"))

    def test_a_world_that_raises_costs_its_own_trial(self) -> None:
        found = self._examined(self.kind, trouble="raise")
        for (agent, index), result in found.items():
            if index == TROUBLED:
                ended = result.outcome
                assert ended == "env_error", (
                    f"{agent}: a world that raised ended its trial as {ended}; expected env_error"
                )
        self._compare(_others(found), _others(self._examined("inline")))

    def test_a_world_that_kills_its_worker_costs_one_attempt(self) -> None:
        if self._outlives_its_worlds():
            with tempfile.TemporaryDirectory() as folder:
                found = self._examined(self.kind, trouble="die", marker=f"{folder}/died", retries=1)
                assert Path(folder, "died").exists(), "the world was never asked to die"
            self._compare(found, self._examined("inline"))
            attempts = sum(result.attempts - 1 for result in found.values())
            assert attempts >= 1, "the worker died, and no attempt was counted"

    def test_a_world_that_hangs_costs_its_own_trial(self) -> None:
        if self._outlives_its_worlds():
            found = self._examined(self.kind, trouble="hang", step_s=2.0, agents=("zero",))
            ended = found["zero", TROUBLED].outcome
            assert ended == "timeout", f"a world that hung ended its trial as {ended}; expected timeout"
            self._compare(
                _others(found), {key: r for key, r in _others(self._examined("inline")).items() if key in found}
            )

    def _outlives_its_worlds(self) -> bool:
        return self.isolates and not BACKENDS.find(self.kind).in_this_process

    def _compare(self, found: Results, expected: Results) -> None:
        assert set(found) == set(expected), f"{len(found)} trials came to an end; expected {len(expected)}"
        for (agent, index), result in found.items():
            other, who = expected[agent, index], f"{agent}, trial {index}"
            reason = f": {result.error.splitlines()[0]}" if result.error else ""
            assert result.outcome == other.outcome, f"{who} ended as {result.outcome}{reason}; expected {other.outcome}"
            assert result.digest == other.digest, f"{who} has another record than in the caller's process"

    def _examined(
        self,
        kind: str,
        *,
        agents: tuple[str, ...] = ("zero", "random"),
        retries: int = 0,
        step_s: float = 60.0,
        **task: Any,
    ) -> Results:
        """The results of a small examination on a backend."""
        own = kind == self.kind
        workers = {"kind": kind, "count": self.count, "options": self.options} if own else {"kind": kind}
        with tempfile.TemporaryDirectory() as folder:
            cfg = config_from_dict(
                {
                    "agents": [
                        {"name": name, "policy": name, "options": {"placement": place}}
                        for name, place in zip(agents, ("worker", "engine"), strict=False)
                    ],
                    "tasks": [{"suite": SUITE, "options": task}],
                    "n_trials": TRIALS,
                    "num_parallel": 3,
                    "workers": workers,
                    "scoring": "return",
                    "limits": {"retries": retries, "step_s": step_s},
                    "output_root": folder,
                }
            )
            with without_error(f'an examination with workers of kind "{kind}"'):
                run = run_evaluation(cfg)
            return {(result.trial.agent, result.trial.index): result for result in run.results()}


def _others(found: Results) -> Results:
    """The trials that had no trouble."""
    return {key: result for key, result in found.items() if key[1] != TROUBLED}
