"""Where a policy is asked changes no byte: every place computes with the run's number of threads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossing import paired
from examining import digests, examination

from proctor import Run, config_from_dict, run_evaluation, threads
from proctor.network.offer import ServeCfg, serve_agent
from proctor.runs.check import check
from proctor.runs.replay import replay
from proctor.runs.resume import resume
from proctor.runs.tune import TuneCfg, tune
from proctor.training.keeping import undisturbed

torch = pytest.importorskip("torch")
FILE = Path(__file__).parents[1] / "support" / "threaded.py"

Examine = Callable[..., Run]
PLACES = paired(["inline", 2], ["engine", "worker"], [1, 5])
"""Workers, placement, slots."""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in threads.VARIABLES:
        monkeypatch.delenv(name, raising=False)


def agent(name: str, placement: str = "engine", **kwargs: Any) -> dict[str, Any]:
    return {"name": "a", "policy": f"{FILE}:{name}", "options": {"placement": placement, "kwargs": kwargs}}


@pytest.mark.parametrize(("name", "number"), [("Attentive", None), ("Counting", 2)])
def test_placement_workers_and_slots_change_no_byte(
    examine: Examine, monkeypatch: pytest.MonkeyPatch, name: str, number: int | None
) -> None:
    if number is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", str(number))
    found = {
        (workers, placement, slots): digests(
            examine(agents=[agent(name, placement)], workers=workers, num_parallel=slots, n_trials=5)
        )
        for workers, placement, slots in PLACES
    }
    first = next(iter(found.values()))
    assert [place for place, bytes_there in found.items() if bytes_there != first] == []


def test_a_policy_that_tells_its_threads_tells_them_apart(examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the law above would say nothing."""
    one = digests(examine(agents=[agent("Counting")], n_trials=1))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert digests(examine(agents=[agent("Counting")], n_trials=1)) != one


def test_the_run_says_how_many_and_replay_and_resume_use_as_many(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    undisturbed_run = digests(examine(agents=[agent("Counting")], n_trials=3))
    run = examine(agents=[agent("Counting")], n_trials=2)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert replay(run.path, "a/toy/0001").equal
    resume(run.path, ["n_trials=3"])
    assert digests(run) == undisturbed_run
    sessions = run.environment().sessions
    assert [session["numeric_threads"] for session in sessions] == [2, 2]
    assert "numeric threads: 2, as when this run began (1 are asked for now)" in (run.path / "run.log").read_text()
    assert run.report()["environment"]["numeric_threads"] == 2


def test_replay_says_what_is_not_as_it_was(examine: Examine) -> None:
    run = examine(n_trials=1)
    assert replay(run.path, "linear/toy/0000").conditions == ()
    known = json.loads((run.path / "environment.json").read_text())
    known["sessions"][0]["versions"]["numpy"] = "1.0"
    known["sessions"][0]["cpu"] = "an abacus"
    (run.path / "environment.json").write_text(json.dumps(known))
    numpy, cpu = replay(run.path, "linear/toy/0000").conditions
    assert numpy.startswith("numpy was 1.0 when this run began and is ")
    assert cpu.startswith("the processor was an abacus when this run began and is ")
    del known["sessions"][0]["numeric_threads"]
    (run.path / "environment.json").write_text(json.dumps(known))
    assert replay(run.path, "linear/toy/0000").conditions == (
        "the run does not say how many numeric threads it computed with; this was 1",
    )


def _served(cfg: Any) -> None:
    class Ready(Exception):
        """Enough has been seen."""

    def ready(url: str) -> None:
        raise Ready

    with pytest.raises(Ready):
        serve_agent(cfg, ServeCfg(), ready)


@pytest.mark.parametrize(
    "ask",
    [run_evaluation, check, lambda cfg: tune(cfg, TuneCfg(0.01), lambda said: None), _served],
    ids=["run", "check", "tune", "serve"],
)
def test_whoever_asks_a_policy_asks_with_the_same_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Any], Any]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    notes = tmp_path / "notes"
    ask(config_from_dict(examination(tmp_path, agents=[agent("Counting", notes=str(notes))], n_trials=2)))
    assert set(notes.read_text().split()) == {"3"}


def test_an_evaluation_inside_training_gives_the_threads_back() -> None:
    torch.set_num_threads(2)
    with undisturbed():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
