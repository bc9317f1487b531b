"""Recipes that ship, built from the registry that pip is configured with, and examinations in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from proctor import config_from_dict, run_evaluation
from proctor.config.models import RuntimeCfg
from proctor.errors import RunError
from proctor.runtimes import locate, specify
from proctor.runtimes.install import Hear, Wishes, install
from proctor.runtimes.verify import problems_of

UNREACHABLE = ("No matching distribution", "Temporary failure", "Connection", "offline", "dns error", "timed out")


@pytest.mark.timeout(900)
def test_crafter_is_built_and_its_lock_builds_the_same(tmp_path, monkeypatch):
    from proctor.runtimes.store import read_lock

    monkeypatch.setenv("PROCTOR_RUNTIMES", str(tmp_path))
    said: list[str] = []
    hear = Hear(said.append, said.append)
    try:
        installed, built = install(specify("crafter"), Wishes(), hear)
    except RunError as error:
        if any(word in "\n".join([str(error), *said]) for word in UNREACHABLE):
            pytest.skip(f"the registry cannot be reached: {error}")
        raise
    assert built
    assert locate(RuntimeCfg(name="crafter")).identity["hash"] == installed.hash
    assert problems_of("crafter", thorough=True) == (installed, [])
    again, _ = install(specify("crafter"), Wishes(lock=read_lock(installed.folder / "lock.txt"), again=True), hear)
    assert again.hash == installed.hash
    assert again.environment != installed.environment


OLD_AND_NEW = {
    "old": {"suite": "soccer", "name": "kick", "options": {"task": "goalie_penalty_kick"}},
    "new": {"suite": "gymnasium", "name": "pendulum", "options": {"id": "InvertedPendulum-v5"}},
    "pole": {"suite": "gymnasium", "name": "pole", "options": {"id": "CartPole-v1"}},
}
RUNTIMES = {"old": "soccer", "new": "gymnasium@1.4.0", "pole": "gymnasium@1.4.0"}


@pytest.mark.timeout(900)
def test_an_old_and_a_new_simulator_in_one_examination(tmp_path, monkeypatch):
    """Soccer with its MuJoCo 3.3, a pendulum with MuJoCo 4, the engine beside them: records are those of one
    interpreter where that has the same simulator, and the same every time where it does not. The runtimes stay beside
    this interpreter's packages: they are built once."""
    monkeypatch.setenv("PROCTOR_RUNTIMES", str(Path(sys.prefix) / "runtimes"))
    said: list[str] = []
    try:
        for name in sorted(set(RUNTIMES.values())):
            install(specify(name), Wishes(), Hear(said.append, said.append))
    except RunError as error:
        if any(word in "\n".join([str(error), *said]) for word in UNREACHABLE):
            pytest.skip(f"the registry cannot be reached: {error}")
        raise
    versions = {name: locate(RuntimeCfg(name=name)).identity["packages"]["mujoco"] for name in set(RUNTIMES.values())}
    assert versions["soccer"].startswith("3.3.")
    assert int(versions["gymnasium@1.4.0"].split(".")[0]) >= 4

    def records(tasks: list[dict[str, Any]], workers: int = 1) -> dict[str, Any]:
        cfg = {
            "agents": [{"name": "random", "policy": "random"}, {"name": "zero", "policy": "zero"}],
            "tasks": tasks,
            "n_trials": 2,
            "num_parallel": 4,
            "workers": workers,
            "max_episode_steps": 40,
            "output_root": str(tmp_path / "runs"),
        }
        run = run_evaluation(config_from_dict(cfg))
        assert all(result.outcome.scored for result in run.results())
        return {result.trial.key: (result.digest, result.metrics) for result in run.results()}

    there = [{**task, "runtime": RUNTIMES[name]} for name, task in OLD_AND_NEW.items()]
    together = records(there)
    assert records(there, workers=2) == together
    alone = records([OLD_AND_NEW["old"], OLD_AND_NEW["pole"]])
    assert {key: together[key] for key in alone} == alone
