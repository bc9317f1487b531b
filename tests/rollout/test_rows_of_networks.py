"""Rows of real networks: what a run says of them, and what a script with a batch of one gets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor import Batch, Policy, Run
from proctor.threads import pinned

pytest.importorskip("torch")
FILE = Path(__file__).parents[1] / "support" / "threaded.py"
WATCHED = {"level": "series", "observations": True}

Examine = Callable[..., Run]


def agent(name: str, **options: Any) -> dict[str, Any]:
    return {"name": "net", "policy": f"{FILE}:{name}", "options": options}


def made(name: str) -> Policy:
    import threaded

    return getattr(threaded, name)()


def episodes(run: Run) -> list[tuple[np.ndarray, np.ndarray]]:
    """What was seen and done at every step of every trial."""
    arrays = [run.episode(result).arrays for result in run.results()]
    return [(one["observations"][:-1], one["actions"]) for one in arrays]


def answer(policy: Policy, rows: np.ndarray) -> np.ndarray:
    return np.asarray(policy.act(Batch(rows, None, [], [])))


@pytest.mark.parametrize("name", ["Attentive", "OddWidth"])
def test_rows_as_if_alone_are_those_of_a_script_with_batch_one(examine: Examine, name: str) -> None:
    run = examine(agents=[agent(name, pad_to=1)], num_parallel=4, n_trials=4, record=WATCHED)
    net = made(name)
    with pinned():
        for seen, done in episodes(run):
            alone = np.concatenate([answer(net, row[None]) for row in seen])
            assert alone.astype(done.dtype).tobytes() == done.tobytes()


@pytest.mark.parametrize("name", ["Attentive", "OddWidth"])
def test_a_run_says_what_this_processor_does_to_rows(examine: Examine, name: str) -> None:
    run = examine(agents=[agent(name)], num_parallel=4, n_trials=4, record=WATCHED)
    found = run.report()["environment"]["rows"]["net"]["act"]
    net = made(name)
    first = episodes(run)[0][0][:1]
    with pinned():
        repeated = answer(net, np.repeat(first, 16, axis=0))
        alone = answer(net, first)
    assert found["tried"] == 2
    if (repeated != repeated[:1]).any():
        assert found["place"] > 0
    if (repeated[:1] != alone).any():
        assert found["alone"] > 0
    assert found["again"] == found["company"] == 0
