"""Environments that are served elsewhere: the same bytes, and what goes wrong on the way."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from examining import by_key, digests, examination, policy, task
from hosts import TOKEN, WORLDS, Host, Serve, world
from processes import alive, wait_for, workers

from proctor import InputError, Run, RunError, config_from_dict
from proctor.rollout.backends import address
from proctor.rollout.backends.address import AddressWorker, Connection, Place
from proctor.rollout.progress import Progress
from proctor.runs.check import check
from proctor.runs.resume import resume
from proctor.runs.session import Hooks
from proctor.runs.start import start
from proctor_host import handshake, serving
from proctor_host.cfg import WorkerCfg
from proctor_host.codec import PROTOCOL
from proctor_host.episode import Outcome
from proctor_host.handshake import HEADER, Lapse, Refusal, introduce, new_token, read_token
from proctor_host.messages import Asks, Fault

RANDOM = {"name": "random", "policy": "random"}
BAD = 123 + 2


def test_a_served_environment_gives_the_same_bytes(examine: Callable[..., Run], serve: Serve) -> None:
    agents = [policy("Noisy"), policy("Linear")]
    here = examine(agents=agents, tasks=[task("Pictures"), task("Toy")], workers=1)
    host = serve("--workers", "2")
    there = examine(agents=agents, tasks=[task("Pictures", runtime=host.runtime), task("Toy", runtime=host.runtime)])
    assert digests(there) == digests(here)
    for result in there.results():
        assert result.npz is not None
        assert (there.path / result.npz).stat().st_size == result.npz_size
    assert [r.metrics for r in there.results()] == [r.metrics for r in here.results()]


def test_a_check_makes_nothing_here_that_is_served_elsewhere(serve: Serve, tmp_path: Path) -> None:
    found = check(config_from_dict(examination(tmp_path, agents=[RANDOM], tasks=[world(serve(entry=WORLDS))])))
    assert found.ok, found.problems


def test_films_come_with_their_trials(examine: Callable[..., Run], serve: Serve) -> None:
    pytest.importorskip("av")
    run = examine(agents=[RANDOM], tasks=[world(serve(entry=WORLDS))], n_trials=2, record="video")
    films = [result.video for result in run.results() if result.video is not None]
    assert films
    assert all((run.path / film).stat().st_size > 0 for film in films)


# What the environment does ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trouble", "fault"),
    [("die", "worker_lost: a worker of the host at"), ("hang", "timeout: the environment did not return from step")],
)
def test_an_environment_that_dies_or_hangs_costs_its_trial_an_attempt(
    examine: Callable[..., Run], serve: Serve, tmp_path: Path, trouble: str, fault: str
) -> None:
    host = serve(entry=WORLDS)
    mark = tmp_path / "mark"
    run = examine(
        agents=[RANDOM], tasks=[world(host, trouble=trouble, seeds=[BAD], mark=str(mark))], limits={"step_s": 1.0}
    )
    results = {result.trial.seed: result for result in run.results()}
    assert {seed: result.attempts for seed, result in results.items()} == {s: 1 + (s == BAD) for s in results}
    assert all(result.outcome.scored for result in results.values())
    assert f"{BAD - 123:04d} (seed {BAD}), attempt 1: {fault}" in (run.path / "run.log").read_text()


def test_an_entry_that_cannot_be_made_is_said(examine: Callable[..., Run], serve: Serve) -> None:
    with pytest.raises(InputError, match='there is no module "nowhere"'):
        examine(agents=[RANDOM], tasks=[world(serve(entry="nowhere:make"))])


# What happens to the host -----------------------------------------------------------------------------------------


def test_a_host_that_dies_and_comes_back_costs_no_attempt(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "RECONNECT_S", 60.0)
    host = serve(entry=WORLDS)
    again: list[threading.Thread] = []

    def disturb(progress: Progress) -> None:
        if progress.done >= 4 and not again:
            again.append(threading.Thread(target=lambda: (host.kill(), serve(entry=WORLDS, port=host.port))))
            again[0].start()

    keys = examination(tmp_path, agents=[RANDOM], tasks=[world(host, nap_s=0.02)], n_trials=16, num_parallel=2)
    end = start(config_from_dict(keys), hooks=Hooks(disturb))
    again[0].join()
    assert end.complete
    found = by_key(end.run)
    assert {result.attempts for result in found.values()} == {1}
    assert "was lost" in (end.run.path / "run.log").read_text()
    quiet = start(config_from_dict({**keys, "tasks": [world(host)]}))
    assert {key: result.digest for key, result in found.items()} == digests(quiet.run)


def test_a_host_that_stays_away_ends_the_run_which_can_be_resumed(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "RECONNECT_S", 0.5)
    host = serve(entry=WORLDS)

    def kill(progress: Progress) -> None:
        if progress.done >= 4 and host.process.poll() is None:
            host.kill()

    keys = examination(tmp_path, agents=[RANDOM], tasks=[world(host, nap_s=0.02)], n_trials=12, num_parallel=2)
    with pytest.raises(RunError, match=rf"127\.0\.0\.1:{host.port} cannot be had.*\n.*proctor resume"):
        start(config_from_dict(keys), hooks=Hooks(kill))
    (run,) = [path.parent for path in tmp_path.rglob("ledger.sqlite")]
    done = {result.trial.key for result in Run(run).results()}
    assert len(done) >= 4
    moved = serve(entry=WORLDS)
    end = resume(run, [f"tasks.world.runtime.address=127.0.0.1:{moved.port}"])
    assert end.complete
    assert end.progress.done_before == len(done)


def test_a_host_that_is_not_there_is_named(examine: Callable[..., Run], monkeypatch: Any, serve: Serve) -> None:
    monkeypatch.setattr(address, "FIRST_S", 0.2)
    host = serve(entry=WORLDS)
    host.stop()
    with pytest.raises(InputError, match=rf"127\.0\.0\.1:{host.port} cannot be had: Connection refused"):
        examine(agents=[RANDOM], tasks=[world(host)])


@pytest.mark.parametrize(
    "nonsense",
    [b"\0\1\2", [{"pulse": [99, 0, 1]}], [{"pulse": "x"}], [Fault(7, Outcome.ENV_ERROR, "")], [Asks(["x"], [1])]],  # type: ignore[list-item]
)
def test_a_host_that_talks_nonsense_is_left(nonsense: Any) -> None:
    ours, theirs = socket.socketpair()
    cfg = WorkerCfg(None, {})
    place = Place.__new__(Place)
    place.address = "nowhere"
    worker = AddressWorker(cfg, 2, place, Connection(ours, 1))
    _say(theirs, nonsense if isinstance(nonsense, bytes) else serving.Codec(False, {}).pack(nonsense))
    with theirs:
        assert worker.events() == []
        lost = worker.lost()
    assert lost is not None
    assert (lost.slot, lost.hung) == (None, False)
    worker.kill()


# Who may call -----------------------------------------------------------------------------------------------------


def test_another_token_is_refused(examine: Callable[..., Run], serve: Serve, tmp_path: Path) -> None:
    host = serve(entry=WORLDS)
    (tmp_path / "other").write_text(TOKEN[::-1])
    runtime = {**host.runtime, "token_file": str(tmp_path / "other")}
    with pytest.raises(InputError, match="refuses this engine: the token is not that of this host"):
        examine(agents=[RANDOM], tasks=[{**world(host), "runtime": runtime}])


def test_a_token_is_wanted(examine: Callable[..., Run], serve: Serve) -> None:
    host = serve(entry=WORLDS)
    with pytest.raises(InputError, match="wants a token"):
        examine(agents=[RANDOM], tasks=[{**world(host), "runtime": {"address": host.runtime["address"]}}])


def test_another_protocol_is_refused_by_either_side(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    host = serve(entry=WORLDS)
    monkeypatch.setattr(handshake, "PROTOCOL", PROTOCOL + 1)
    with pytest.raises(Refusal) as refused, _called(host) as sock:
        introduce(sock, TOKEN.encode(), "9")
    assert (refused.value.protocol, refused.value.version) == (PROTOCOL, "0.1.0")
    with _called(host) as sock:
        assert _said(sock)["protocol"] == PROTOCOL
        _say(sock, json.dumps({"engine": "9", "protocol": PROTOCOL + 1}).encode())
        says = f"proctor-host 0.1.0 speaks protocol {PROTOCOL}, proctor 9 speaks {PROTOCOL + 1}"
        assert _said(sock)["refused"] == says


def test_a_host_that_does_not_know_the_token_is_not_believed(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    door = handshake.Doorkeeper(theirs, b"another token, which is long")
    door.ask = lambda: "0"  # type: ignore[method-assign]
    said = {"proctor": "host", "protocol": PROTOCOL, "host": "0", "nonce": "00" * 32}
    _say(theirs, json.dumps(said).encode())
    door.welcome(1)
    with ours, theirs, pytest.raises(Refusal, match="does not know the token"):
        introduce(ours, TOKEN.encode(), "0")


def test_more_callers_than_workers_are_told_to_wait(serve: Serve) -> None:
    host = serve(entry=WORLDS)
    with _called(host) as first, _called(host) as second:
        assert introduce(first, TOKEN.encode(), "0")["workers"] == 1
        with pytest.raises(Refusal, match="are taken") as refused:
            introduce(second, TOKEN.encode(), "0")
        assert refused.value.busy


HOSTILE = [
    b"",
    bytes(range(256)) * 40,
    HEADER.pack(0xFFFFFFFF) + b"x",
    HEADER.pack(2) + b"{}",
    HEADER.pack(4) + b"[[[[",
    HEADER.pack(3000) + b"[" * 3000,
    *(
        HEADER.pack(len(text)) + text
        for said in ({"nonce": "zz"}, {"nonce": "00" * 32, "proof": None}, {"nonce": "00" * 32, "proof": "é" * 64})
        for text in [json.dumps({"engine": "0", "protocol": PROTOCOL, **said}).encode()]
    ),
]


def test_nonsense_leaves_a_host_serving(examine: Callable[..., Run], serve: Serve) -> None:
    host = serve(entry=WORLDS)
    for nonsense in HOSTILE:
        with _called(host) as sock:
            _babble(sock, nonsense)
    for nonsense in (b"\0\0", HEADER.pack(serving.MOST_HELLO + 1), HEADER.pack(9) + b"\0\4\0\0\0[{}]", b"\5\0\0\0\1"):
        with _called(host) as sock:
            introduce(sock, TOKEN.encode(), "0")
            _babble(sock, nonsense)
    assert examine(agents=[RANDOM], tasks=[world(host)], n_trials=2)
    assert "Traceback" not in host.log.read_text()


def test_a_server_makes_what_it_was_started_for_and_nothing_else() -> None:
    task = {"name": "t", "suite": "s", "options": {}, "environment": "os:system"}
    cfg = {"folder": "/", "tasks": {"t": task}, "record": {}, "limits": {}, "metrics": ["a:b"], "brought": {}}
    said = {"protocol": 1, "engine": "0", "slots": 2, "cfg": cfg, "extras": "os:system", "root": "/", "paths": ["/"]}
    kept, threads = serving.kept_of(said, "mine:make")
    assert kept["cfg"]["tasks"]["t"]["environment"] == "mine:make"
    assert (kept["cfg"]["folder"], kept["cfg"]["metrics"]) == (None, [])
    assert (kept["extras"], kept["root"], kept["paths"], kept["shared"], threads) == (None, None, [], False, 1)
    with pytest.raises(ValueError, match="slots"):
        serving.kept_of({**said, "slots": 10**9}, "mine:make")


# The program ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["engine", "server"])
def test_a_worker_ends_with_its_engine_and_with_its_server(serve: Serve, first: str) -> None:
    host, wire = serve(entry=WORLDS), serving.Codec(False, {})
    with _called(host) as sock:
        introduce(sock, TOKEN.encode(), "0")
        cfg = {"tasks": {}, "record": {}, "limits": {}, "brought": {}}
        _say(sock, wire.pack([{"protocol": PROTOCOL, "engine": "0", "slots": 1, "cfg": cfg}]))
        while "pid" not in (said := wire.unpack(memoryview(_frame(sock)))[0]):
            assert set(said) == {"pulse"}
        assert workers(host.process.pid) == [said["pid"]]
        if first == "server":
            assert host.stop() == 0
    wait_for(lambda: not alive(said["pid"]))
    assert host.stop() == 0


def test_a_token_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "token")
    new_token(path)
    assert len(read_token(path)) == 64
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="already"):
        new_token(path)
    (tmp_path / "short").write_text("secret\n")
    with pytest.raises(InputError, match="has 6 characters; expected 16 or more"):
        read_token(str(tmp_path / "short"))


def test_a_wrong_command_line_is_said(tell: Any, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    token = ("--token-file", tmp_path / "token")
    for entry, address_, says in (
        ("make", "127.0.0.1:0", "expected package.module:make"),
        (f"{tmp_path}/none.py:make", "127.0.0.1:0", "there is no Python file"),
        ("a:make", "7000", "expected HOST:PORT"),
        ("a:make", "203.0.113.1:7000", "cannot listen at"),
    ):
        said = tell("host", "serve", entry, "--address", address_, *token)
        assert said.code == 2
        assert says in said.err


def test_a_caller_that_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "PATIENCE_S", 0.05)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(Lapse, match="does not answer"):
        handshake.Doorkeeper(theirs, TOKEN.encode()).ask()


def _called(host: Host) -> socket.socket:
    return socket.create_connection(("127.0.0.1", host.port), timeout=60)


def _say(sock: socket.socket, text: bytes) -> None:
    sock.sendall(HEADER.pack(len(text)) + text)


def _frame(sock: socket.socket) -> bytes:
    (length,) = HEADER.unpack(sock.recv(HEADER.size, socket.MSG_WAITALL))
    return sock.recv(length, socket.MSG_WAITALL)


def _said(sock: socket.socket) -> Any:
    return json.loads(_frame(sock))


def _babble(sock: socket.socket, nonsense: bytes) -> None:
    """Say it, and listen until the host has hung up, which it may do at once."""
    with contextlib.suppress(OSError):
        sock.sendall(nonsense)
        sock.shutdown(socket.SHUT_WR)
    with contextlib.suppress(ConnectionError):
        while sock.recv(1 << 16):
            pass
