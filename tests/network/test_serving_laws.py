"""A served agent is the agent: the same bytes, whoever else is served, and nothing lost when the server is."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from examining import by_key, digests, examination, policy, task
from planners import agent as planner
from served import served
from worded import WORDED

from proctor import EvalConfig, Outcome, Progress, config_from_dict
from proctor.rollout.trying import temporary_engine

pytest.importorskip("msgpack", reason="the extra `remote` is not installed")
pytest.importorskip("websockets", reason="the extra `remote` is not installed")

Examine = Callable[..., Any]


def through(url: str, **options: Any) -> dict[str, Any]:
    return {"name": "far", "policy": "remote", "options": {"url": url, **options}}


def bare(run: Any) -> dict[str, Any]:
    """Digests by (task, index): agents are named differently here and there."""
    return {key.partition("/")[2]: digest for key, digest in digests(run).items()}


@pytest.mark.parametrize(
    ("agent", "connections"),
    [(policy("Noisy"), 16), (policy("Recurrent"), 1), (policy("TwoStages"), 2), (planner("Flowing"), 16)],
    ids=["noisy", "recurrent", "two stages", "planner and expert"],
)
def test_a_served_agent_has_the_bytes_that_it_has_at_home(agent, connections, tmp_path: Path, examine: Examine) -> None:
    """Stochastic in chunks, recurrent, of two stages, with tokens and denoising in torch."""
    home = bare(examine(agents=[agent]))
    with served(examination(tmp_path, agents=[agent])) as url:
        far = bare(examine(agents=[through(url, connections=connections)], num_parallel=5))
    assert far == home


def test_tasks_of_different_shapes_are_served_at_once(tmp_path: Path, examine: Examine) -> None:
    tasks = [task(), task("Pictures")]
    home = bare(examine(agents=[policy("Noisy")], tasks=tasks, n_trials=3))
    with served(examination(tmp_path, agents=[policy("Noisy")], tasks=tasks)) as url:
        assert bare(examine(agents=[through(url)], tasks=tasks, n_trials=3)) == home


def test_text_in_an_observation_arrives_as_text(tmp_path: Path, examine: Examine) -> None:
    reader = {"name": "reader", "policy": f"{WORDED}:Reader"}
    tasks = [{"suite": "gymnasium", "name": "worded", "options": {"id": f"{WORDED}:Worded-v0"}}]
    home = bare(examine(agents=[reader], tasks=tasks))
    with served(examination(tmp_path, agents=[reader], tasks=tasks)) as url:
        assert bare(examine(agents=[through(url)], tasks=tasks)) == home


def test_clients_of_the_same_trials_do_not_disturb_each_other(tmp_path: Path, examine: Examine) -> None:
    home = bare(examine(agents=[policy("TwoStages")]))
    with served(examination(tmp_path, agents=[policy("TwoStages")])) as url:
        both = [Running(examination(tmp_path, agents=[through(url)], num_parallel=n)) for n in (2, 3)]
        results = [running.join() for running in both]
    assert [{r.trial.key.partition("/")[2]: r.digest for r in found} for found in results] == [home, home]


def test_padding_on_this_side_changes_nothing(tmp_path: Path, examine: Examine) -> None:
    home = bare(examine(agents=[policy("Noisy")]))
    with served(examination(tmp_path, agents=[policy("Noisy")])) as url:
        assert bare(examine(agents=[through(url, pad_to=8)])) == home


@pytest.mark.parametrize("trouble", ["raise", "nan", "reset"])
def test_what_the_policy_breaks_is_the_policys_there_and_here(trouble, tmp_path: Path, examine: Examine) -> None:
    agent = policy("Troubled", kwargs={"trouble": trouble, "seeds": [124, 126]})
    home = examine(agents=[agent])
    with served(examination(tmp_path, agents=[agent])) as url:
        far = examine(agents=[through(url, connections=2)])
    assert bare(far) == bare(home)
    outcomes = [[(r.outcome, r.attempts) for r in by_key(run).values()] for run in (home, far)]
    assert outcomes[0] == outcomes[1]
    broken = [r for r in by_key(far).values() if r.outcome.broken_by_policy]
    assert [r.trial.seed for r in broken] == [124, 126]


def test_a_server_with_room_for_one_trial_serves_one_after_the_other(tmp_path: Path, examine: Examine) -> None:
    """Trials that have ended make room, though nobody says that they have."""
    agent = policy("Recurrent")
    home = bare(examine(agents=[agent]))
    with served(examination(tmp_path, agents=[agent]), most_trials=1) as url:
        far = examine(agents=[through(url)], num_parallel=1)
    assert bare(far) == home
    assert {r.attempts for r in by_key(far).values()} == {1}


# A real server, killed ------------------------------------------------------------------------------------------------


class Server:
    """`proctor serve` as a process."""

    def __init__(self, config: Path, port: int):
        self.command = [sys.executable, "-m", "proctor", "serve", str(config), "--port", str(port)]
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith('serving "recurrent" at ws://127.0.0.1:')

    def stop(self, number: signal.Signals) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(30)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


class Running:
    """An examination on a thread of its own."""

    def __init__(self, made: dict[str, Any]):
        self._enough, self._wanted = threading.Event(), 10**9
        self._results: list[Any] = []
        self._thread = threading.Thread(target=self._run, args=(config_from_dict(made),))
        self._thread.start()

    def _run(self, cfg: EvalConfig) -> None:
        with temporary_engine(cfg) as engine:
            engine.observer = self._look
            engine.run()
            self._results = list(engine.ledger.results())

    def _look(self, progress: Progress) -> None:
        if progress.steps >= self._wanted:
            self._enough.set()

    def wait_for_steps(self, wanted: int) -> None:
        self._wanted = wanted
        assert self._enough.wait(60)

    def join(self) -> list[Any]:
        self._thread.join(120)
        return self._results


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_killing_the_server_and_starting_it_again_loses_no_trial(tmp_path: Path, examine: Examine) -> None:
    tasks, agent = [task(kwargs={"nap_s": 0.02})], policy("Recurrent")
    config, port = tmp_path / "serve.yml", free_port()
    config.write_text(yaml.safe_dump(examination(tmp_path, agents=[agent], tasks=tasks)))
    server = Server(config, port)
    server.start()
    far = Running(examination(tmp_path, agents=[through(f"ws://127.0.0.1:{port}")], tasks=tasks, n_trials=8))
    far.wait_for_steps(20)
    server.stop(signal.SIGKILL)
    server.start()
    results = far.join()
    assert server.stop(signal.SIGINT) == 0
    home = bare(examine(agents=[agent], tasks=tasks, n_trials=8))
    assert {r.trial.key.partition("/")[2]: r.digest for r in results} == home
    assert all(r.outcome in (Outcome.SUCCESS, Outcome.FAILURE, Outcome.TRUNCATED) for r in results)
    assert max(r.attempts for r in results) > 1
