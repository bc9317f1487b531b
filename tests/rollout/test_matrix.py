"""The law that covers the engine: the same trials give the same arrays, to the byte, dtype included, in every kind of
environment, on every kind of worker, wherever the policy is asked, whether it has a memory, filmed or not, alone or in
company."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from crossing import paired
from examining import by_key

from proctor import Run

SUPPORT = Path(__file__).parents[1] / "support"
SUITE = f"{SUPPORT / 'many_worlds.py'}:ManyWorlds"
KINDS = ("env", "rows", "batch", "columns", "vector", "device")
WORKERS: dict[str, Any] = {"inline": "inline", "1": 1, "2": 2, "host": {"python": sys.executable}}
N = 5
POLICIES = """
import numpy as np
from proctor import Actions, Policy

WEIGHTS = np.random.default_rng(1).normal(size=(4, 2)).astype(np.float32)

class Plain(Policy):
    def act(self, batch):
        return np.tanh(batch.observation["state"] @ WEIGHTS + 0.1 * batch.normal((2,), np.float32))

class Stateful(Policy):
    def reset(self, trials):
        return np.zeros((len(trials), 2), np.float32)

    def act(self, batch):
        h = 0.5 * batch.state + batch.observation["state"] @ WEIGHTS
        chunk = np.tanh(h)[:, None] * np.array([1.0, -0.5], np.float32)[:, None]
        return Actions(chunk, h)
"""


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("policies") / "policies.py"
    file.write_text(POLICIES)
    return file


def run(examine: Callable[..., Run], policies: Path, kind: str, placement: str, **keys: Any) -> Run:
    names = ("Plain", "Stateful")
    agents = [{"name": n, "policy": f"{policies}:{n}", "options": {"placement": placement}} for n in names]
    filmed = keys.pop("filmed", False)
    video = {"trials": "first", "first": 2, "every": 3}
    record = {"level": "video" if filmed else "series", "observations": True, **({"video": video} if filmed else {})}
    task = {"suite": SUITE, "name": "world", "wait_steps": 1, "options": {"kind": kind}}
    if isinstance(keys.get("workers"), dict):
        task["runtime"] = keys.pop("workers")
    return examine(agents=agents, tasks=[task], n_trials=N, record=record, **keys)


def contents(found: Run) -> dict[str, dict[str, tuple[str, tuple[int, ...], bytes]]]:
    """Every array of every trial: dtype, shape and bytes."""
    return {key: packed(found.episode(result).arrays) for key, result in by_key(found).items()}


def packed(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (a.dtype.str, a.shape, np.ascontiguousarray(a).tobytes()) for name, a in arrays.items()}


@pytest.fixture(scope="module")
def expected(policies: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One environment, one slot, in this process, asked by the engine, not filmed."""
    from examining import examination

    from proctor import config_from_dict, run_evaluation

    def examine(**keys: Any) -> Run:
        return run_evaluation(config_from_dict(examination(tmp_path_factory.mktemp("expected"), **keys)))

    found = run(examine, policies, "env", "engine", num_parallel=1, workers="inline")
    episodes = {key: found.episode(result).arrays for key, result in by_key(found).items()}
    assert len(episodes) == 2 * N
    assert all(np.abs(arrays["actions"]).max() <= 1 for arrays in episodes.values()), "as the policy gave them"
    assert {next(iter(episodes.values()))[name].dtype.str for name in ("energy", "force", "count")} == {
        "<f4",
        "<f8",
        "<i8",
    }
    plain = {key: packed(arrays) for key, arrays in episodes.items()}
    # The suite of Gymnasium's environments records single numbers as float64, by contract.
    wide = {
        key: packed({**arrays, **{name: arrays[name].astype(np.float64) for name in ("energy", "count")}})
        for key, arrays in episodes.items()
    }
    return {kind: wide if kind == "vector" else plain for kind in KINDS}


def crossings() -> list[Any]:
    """In this process every crossing. In others every kind of environment meets every kind of worker, and each of these
    either placement, film or none, and both numbers of slots."""
    ways = (("engine", "worker"), (False, True), (1, 5))
    here = [(kind, "inline", *way) for kind, *way in product(KINDS, *ways)]
    elsewhere = paired(KINDS, ("1", "2", "host"), *ways)
    return [cell(*each) for each in here] + [cell(*each, marks=[pytest.mark.slow]) for each in elsewhere]


def cell(kind: str, workers: str, placement: str, filmed: bool, slots: int, **marks: Any) -> Any:
    words = f"{kind}-{workers}-{placement}-{'filmed' if filmed else 'unfilmed'}-{slots}"
    return pytest.param(kind, WORKERS[workers], placement, filmed, slots, id=words, **marks)


@pytest.mark.parametrize(("kind", "workers", "placement", "filmed", "slots"), crossings())
def test_records_are_equal_to_the_byte(
    examine: Callable[..., Run],
    policies: Path,
    expected: Any,
    kind: str,
    workers: Any,
    placement: str,
    filmed: bool,
    slots: int,
) -> None:
    found = run(examine, policies, kind, placement, workers=workers, num_parallel=slots, filmed=filmed)
    assert contents(found) == expected[kind]
    films = {result.trial.index for result in found.results() if result.video is not None}
    assert films == ({0, 1} if filmed else set())
