"""Worlds on a device hold trials like any other: device rounds give the bytes that the same environment gives as
columns, with as many rows to a forward, whatever the length of a block, the lag, and the company."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossing import EVERY
from device_trials import FILE, W, agent, contents, toys, ways
from examining import by_key, digests, examination

from proctor import CancelToken, Outcome, Run, config_from_dict
from proctor.runs import conditions
from proctor.runs.check import check
from proctor.runs.resume import resume
from proctor.runs.session import Hooks
from proctor.runs.start import start
from proctor_host import blocks, device_group
from proctor_host.device_group import DeviceGroup

torch = pytest.importorskip("torch")

N = 20
BAD = 123 + 4


def network(tmp_path: Path, placement: str = "auto", rows: int = W) -> dict[str, Any]:
    """A network of torch, by its weights."""
    from on_device import network as made

    torch.save(made().state_dict(), tmp_path / "weights.pt")
    options = {"placement": placement, "pad_to": rows, "module": f"{FILE}:network"}
    return {"name": "network", "policy": "torch", "checkpoint": str(tmp_path / "weights.pt"), "options": options}


@pytest.fixture
def both(examine: Callable[..., Run]) -> Callable[..., tuple[Run, Run]]:
    """The same examination by columns, asked by the engine, and in device rounds."""

    def run(agents: Callable[[str], list[dict[str, Any]]], **keys: Any) -> tuple[Run, Run]:
        keys = {"num_parallel": W, "n_trials": N, **keys}
        by_columns = examine(agents=agents("engine"), **keys)
        assert all(way != ["device"] for way in ways(by_columns).values())
        return by_columns, examine(agents=agents("auto"), **keys)

    return run


OPTIONS: list[dict[str, Any]] = [
    {},
    {"keys": True},
    {"reuses": False},
    {"wait_steps": 3},
    {"stop_on_success": True},
    {"max_episode_steps": 7},
    {"low": -0.3, "high": 0.2},
    {"low": -0.3, "high": 0.2, "out_of_range": "reject"},
    {"wait_steps": 2, "max_episode_steps": 1},
]


@pytest.mark.parametrize(
    ("options", "observations"),
    [(options, seen) for n, options in enumerate(OPTIONS) for seen in (False, True) if EVERY or seen == (n % 2 == 1)],
    ids=str,
)
def test_as_by_columns(both: Callable[..., Any], options: dict[str, Any], observations: bool) -> None:
    record = {"level": "series", "observations": observations}
    expected, found = both(lambda place: [agent(placement=place)], tasks=[toys(**options)], record=record)
    assert contents(found) == contents(expected)
    assert ways(found) == {"slope": ["device"]}
    assert found.report()["environment"]["rows"]["slope"]["act"]["pad_to"] == W


@pytest.mark.parametrize("policy", ["Slope", "Drawing"])
@pytest.mark.parametrize(("length", "lag", "worlds"), [(1, 0, 6), (3, 1, 6), (64, 5, 6), (2, 2, 1), (5, 3, 17)])
def test_blocks_lag_and_company_change_nothing(
    examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, policy: str, length: int, lag: int, worlds: int
) -> None:
    expected = examine(agents=[agent(policy, "engine")], tasks=[toys(wait_steps=1)], num_parallel=1, n_trials=N)
    monkeypatch.setattr(blocks, "BLOCK_ROUNDS", length)
    monkeypatch.setattr(device_group, "LAG", lag)
    found = examine(agents=[agent(policy, rows=worlds)], tasks=[toys(wait_steps=1)], num_parallel=worlds, n_trials=N)
    assert contents(found) == contents(expected)
    assert ways(found) == {policy.lower(): ["device"]}


def test_a_network_gives_the_bytes_that_as_many_rows_give(both: Callable[..., Any], tmp_path: Path) -> None:
    expected, found = both(lambda place: [network(tmp_path, place)], tasks=[toys(keys=False)])
    assert contents(found) == contents(expected)
    assert ways(found) == {"network": ["device"]}


def test_several_agents_share_the_worlds(both: Callable[..., Any]) -> None:
    def agents(place: str) -> list[dict[str, Any]]:
        return [agent("Slope", place), {**agent("Slope", place, scale=-0.4), "name": "down"}, agent("Drawing", place)]

    expected, found = both(agents, tasks=[toys()], n_trials=8)
    assert contents(found) == contents(expected)
    assert ways(found) == {name: ["device"] for name in ("slope", "down", "drawing")}


def test_in_a_process_of_its_own(both: Callable[..., Any]) -> None:
    expected, found = both(lambda place: [agent("Drawing", place)], tasks=[toys()], workers=1)
    assert contents(found) == contents(expected)
    assert ways(found) == {"drawing": ["device"]}


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("Leaky", "its policy has a memory of each trial, which lies on the host"),
        ("Chunky", "its policy answers in chunks of actions"),
    ],
)
def test_what_cannot_go_by_device_rounds_goes_by_columns(both: Callable[..., Any], policy: str, why: str) -> None:
    expected, found = both(lambda place: [agent(policy, place), agent("Slope", place)], tasks=[toys()], n_trials=8)
    assert contents(found) == contents(expected)
    assert ways(found)[policy.lower()][-1] == why
    assert ways(found)["slope"] == ["device"]


def test_the_log_says_which_way_and_why(examine: Callable[..., Run]) -> None:
    agents = [agent(device=None), {**agent(rows=3), "name": "three"}, {**agent(device="cuda"), "name": "far"}]
    run = examine(agents=agents, tasks=[toys()], num_parallel=W, n_trials=2)
    said = (run.path / "run.log").read_text()
    for name, why in {
        "slope": "its policy is asked by the engine",
        "three": "its policy is asked by the engine",
        "far": "its policy is asked by the engine",
    }.items():
        assert f"agent {name} on task toy: trials go by columns, since {why}" in said


@pytest.mark.parametrize("trouble", ["raise", "nan", "infinite", "range", "shape", "reset"])
@pytest.mark.parametrize("out_of_range", ["clip", "reject"])
def test_what_a_policy_breaks_costs_its_trial_alone(both: Callable[..., Any], trouble: str, out_of_range: str) -> None:
    def agents(place: str) -> list[dict[str, Any]]:
        return [agent("Wrong", place, trouble=trouble, seeds=[BAD, BAD + 5])]

    expected, found = both(agents, tasks=[toys(out_of_range=out_of_range)])
    assert contents(found) == contents(expected)
    broken = sum(result.outcome.broken_by_policy for result in found.results())
    assert broken == (0 if (trouble, out_of_range) == ("range", "clip") else 2)


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        ("nan_reward", "ValueError: the environment gave reward nan"),
        ("nan", "ValueError: the environment gave NaN in the observation"),
        ("nan_first", "ValueError: the environment gave NaN in the observation"),
    ],
)
@pytest.mark.parametrize("keys", [False, True])
def test_what_one_world_breaks_is_a_fault_and_costs_nobody_else(
    both: Callable[..., Any], trouble: str, error: str, keys: bool
) -> None:
    tasks = [toys(trouble=trouble, seeds=[BAD], keys=keys)]
    expected, found = both(lambda place: [agent(placement=place)], tasks=tasks, limits={"retries": 1})
    bad = next(result for result in found.results() if result.trial.seed == BAD)
    assert (bad.outcome, bad.attempts) == (Outcome.ENV_ERROR, 2)
    assert str(bad.error).startswith(error)
    assert contents(found) == contents(expected)
    assert all(result.attempts == 1 for result in found.results() if result is not bad and result.trial.seed != BAD)


def test_infinity_that_a_policy_repeats_is_the_environment_s(both: Callable[..., Any]) -> None:
    tasks = [toys(trouble="infinite", seeds=[BAD])]
    expected, found = both(lambda place: [agent(placement=place)], tasks=tasks, limits={"retries": 0})
    bad = next(result for result in found.results() if result.trial.seed == BAD)
    assert bad.outcome is Outcome.ENV_ERROR
    assert contents(found) == contents(expected)


def test_nan_that_a_task_allows_is_the_policy_s_to_deal_with(both: Callable[..., Any]) -> None:
    tasks = [toys(trouble="nan", seeds=[BAD], nan_observations="allow")]
    expected, found = both(lambda place: [agent(placement=place)], tasks=tasks)
    bad = next(result for result in found.results() if result.trial.seed == BAD)
    assert bad.outcome is Outcome.INVALID_ACTION
    assert contents(found) == contents(expected)


@pytest.mark.parametrize("trouble", ["raise", "reset", "flags"])
def test_an_environment_that_breaks_is_made_again(examine: Callable[..., Run], trouble: str) -> None:
    keys = {"agents": [agent()], "num_parallel": W, "n_trials": 40, "limits": {"retries": 1}}
    healthy = digests(examine(tasks=[toys()], **keys))
    results = by_key(examine(tasks=[toys(trouble=trouble, seeds=[BAD])], **keys))
    assert {result.outcome for result in results.values() if not result.outcome.scored} == {Outcome.ENV_ERROR}
    assert all(not result.outcome.scored for result in results.values() if result.trial.seed == BAD)
    scored = {key: result for key, result in results.items() if result.outcome.scored}
    assert len(scored) >= 40 - 2 * W
    assert all(result.digest == healthy[key] for key, result in scored.items())


@pytest.mark.parametrize("limits", [{"trial_s": 1e-9}, {"step_s": 1e-9}, {"reset_s": 1e-9}])
def test_limits_hold(examine: Callable[..., Run], limits: dict[str, float]) -> None:
    run = examine(agents=[agent()], tasks=[toys()], num_parallel=4, n_trials=4, limits={**limits, "retries": 0})
    assert {result.outcome for result in run.results()} == {Outcome.TIMEOUT}


def test_a_policy_that_is_slow_alone_fails(examine: Callable[..., Run]) -> None:
    run = examine(agents=[agent()], tasks=[toys()], num_parallel=4, n_trials=4, limits={"act_s": 1e-9})
    assert {result.outcome for result in run.results()} == {Outcome.POLICY_ERROR}
    assert all("took longer than" in str(result.error) for result in run.results())


def test_worlds_are_filled_again_at_once(examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """No wave waits for the longest trial, and as many rounds are made as that allows."""
    rounds: list[int] = []
    queue = DeviceGroup._queue

    def count(self: DeviceGroup) -> int:
        rounds.append(len(self._flights))
        return queue(self)

    monkeypatch.setattr(DeviceGroup, "_queue", count)
    run = examine(agents=[agent()], tasks=[toys()], num_parallel=W, n_trials=60)
    steps = sum(result.steps_total or 0 for result in run.results())
    ideal = steps / W
    assert len(rounds) < 1.6 * ideal, "lag and company cost some rounds for each trial, waves would cost more"
    assert sorted(rounds)[len(rounds) // 2] == W


def test_resumed_is_as_undisturbed(tmp_path: Path) -> None:
    def cfg(where: str) -> Any:
        keys = {"agents": [agent("Drawing")], "tasks": [toys()], "num_parallel": W, "n_trials": 40}
        return config_from_dict(examination(tmp_path / where, **keys))

    whole = start(cfg("whole"))
    token = CancelToken()

    def stop(progress: Any) -> None:
        if progress.done >= 9:
            token.cancel()

    half = start(cfg("half"), Hooks(progress=stop, cancel=token))
    assert half.cancelled or half.complete
    resume(half.run.path)
    assert contents(Run(half.run.path)) == contents(Run(whole.run.path))


def test_blocks_that_nobody_needs_are_let_go_of(examine: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept on the host does not grow with the number of trials."""
    held: list[int] = []
    forget = blocks.Blocks.forget

    def watch(self: blocks.Blocks, needed_from: Any) -> None:
        forget(self, needed_from)
        held.append(sum(block.rows.nbytes for block in self._host) // self.packing.nbytes)

    few = property(lambda group: len(group.host.recording.outstanding) <= 2)
    monkeypatch.setattr(DeviceGroup, "_has_room", few)  # however slowly this machine writes
    monkeypatch.setattr(blocks.Blocks, "forget", watch)
    monkeypatch.setattr(blocks, "BLOCK_ROUNDS", 4)
    examine(agents=[agent()], tasks=[toys()], num_parallel=W, n_trials=300)
    assert max(held[len(held) // 2 :]) <= 2 * max(held[: len(held) // 2])


def test_the_run_and_check_say_what_equality_holds(examine: Callable[..., Run], tmp_path: Path) -> None:
    tasks, agents = [toys(exact=False)], [agent(), agent("Chunky")]
    run = examine(agents=agents, tasks=tasks, num_parallel=W, n_trials=2)
    said = "Trials on toy ran in 6 worlds on cpu, which do not say that they are exact: "
    assert any(line.startswith(said) for line in cautions(run.report()["environment"]))
    checked = check(config_from_dict(examination(tmp_path, agents=agents, tasks=tasks, num_parallel=W)))
    assert any(line.startswith(said) for line in checked.warnings)
    assert 'agent "slope" on task "toy": trials go in device rounds' in checked.fine
    assert (
        'agent "chunky" on task "toy": trials go by columns, slower than device rounds, since its policy answers in '
        "chunks of actions"
    ) in checked.warnings


def cautions(environment: Any) -> list[str]:
    return list(conditions.cautions(environment["rows"], [environment]))


def test_warnings_are_not_needed(examine: Callable[..., Run], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "proctor"):
        examine(agents=[agent()], tasks=[toys()], num_parallel=W, n_trials=4)
    assert not caplog.records


WITHOUT_TORCH = """
import sys
from pathlib import Path
from examining import digests, examination
from proctor import config_from_dict, run_evaluation

def run(folder, placement):
    options = {"placement": placement, "pad_to": 3}
    agents = [{"name": "push", "policy": f"{sys.argv[2]}:Push", "options": options}]
    tasks = [{"suite": sys.argv[1], "name": "world", "wait_steps": 1, "options": {"kind": "device"}}]
    keys = {"agents": agents, "tasks": tasks, "num_parallel": 3, "n_trials": 12}
    return run_evaluation(config_from_dict(examination(Path(folder), **keys)))

by_columns, in_rounds = run("columns", "engine"), run("rounds", "auto")
assert "torch" not in sys.modules
assert "go in device rounds" in (in_rounds.path / "run.log").read_text()
assert digests(in_rounds) == digests(by_columns)
"""
PUSH = """
import numpy as np
from proctor import Policy

class Push(Policy):
    device = "cpu"

    def act(self, batch):
        assert type(batch.observation["state"]) is np.ndarray
        return batch.observation["state"][:, :2] * np.float32(0.5)
"""


def test_an_interpreter_without_torch_does_the_same_with_numpy(tmp_path: Path) -> None:
    (tmp_path / "push.py").write_text(PUSH)
    suite = f"{FILE.with_name('many_worlds.py')}:ManyWorlds"
    command = [sys.executable, "-c", WITHOUT_TORCH, suite, str(tmp_path / "push.py")]
    environment = {**os.environ, "PYTHONPATH": str(FILE.parent)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
