"""Our server as others see it: openpi's own client, a health check, bad requests."""

from __future__ import annotations

import http.client
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
import yaml
from examining import examination, policy, task
from served import served

from proctor import InputError, config_from_dict
from proctor.network.offer import Offer, ServeCfg
from proctor.network.wire import decode, encode

pytest.importorskip("msgpack", reason="the extra `remote` is not installed")
pytest.importorskip("websockets", reason="the extra `remote` is not installed")

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

OPENPI = pytest.mark.filterwarnings("ignore:.*must be used as a context manager:DeprecationWarning")
"""Newer versions of websockets warn of what openpi's client does."""
STATE = np.linspace(-1, 1, 6).astype(np.float32)


def openpi_client(url: str, key: str | None = None) -> Any:
    module = pytest.importorskip("openpi_client.websocket_client_policy", reason="openpi-client is not installed")
    return module.WebsocketClientPolicy(host=url, api_key=key)


def hang_up(client: Any) -> None:
    client._ws.close()


@OPENPI
def test_openpis_client_hears_what_is_offered(tmp_path: Path) -> None:
    with served(examination(tmp_path, agents=[policy("Noisy")])) as url:
        client = openpi_client(url)
        metadata = client.get_server_metadata()
        hang_up(client)
    assert metadata["proctor"] == 1
    assert (metadata["agent"], metadata["stages"], metadata["chunk"]) == ("noisy", ["act"], 3)
    assert metadata["tasks"] == {"toy": {"observation": {"observation": ["<f4", [6]]}, "action": ["<f4", [2]]}}


@OPENPI
def test_openpis_client_gets_chunks_of_an_episode_per_connection(tmp_path: Path) -> None:
    """Its requests have a generator of their own, so noise differs from request to request and by connection."""
    with served(examination(tmp_path, agents=[policy("Noisy")]), front={"api_key": "open sesame"}) as url:
        clients = [openpi_client(url, "open sesame") for _ in range(2)]
        answers = [client.infer({"observation": STATE, "prompt": "not read"}) for client in clients * 2]
        for client in clients:
            hang_up(client)
    assert [a["actions"].shape for a in answers] == [(3, 2)] * 4
    assert len({a["actions"].tobytes() for a in answers}) == 4
    assert all(a["server_timing"]["infer_ms"] > 0 for a in answers)


@OPENPI
def test_a_plain_client_keeps_its_memory_and_walks_through_stages(tmp_path: Path) -> None:
    """Two plans of two calls of the expert: the connection remembers the stage it is at."""
    with served(examination(tmp_path, agents=[policy("TwoStages")])) as url:
        client = openpi_client(url)
        actions = [client.infer({"observation": STATE})["actions"] for _ in range(4)]
        hang_up(client)
    means = [chunk.mean(0) for chunk in actions]
    assert np.allclose(means[0], means[1], atol=0.5)
    assert {a.shape for a in actions} == {(2, 2)}


@OPENPI
def test_openpis_client_sees_an_error_as_its_own_server_would_send_it(tmp_path: Path) -> None:
    with served(examination(tmp_path, tasks=[task("Pictures")])) as url:
        client = openpi_client(url)
        with pytest.raises(RuntimeError, match='the observation has no "observation/state"; found observation/picture'):
            client.infer({"observation/picture": np.zeros((8, 8, 3), np.uint8)})
        with pytest.raises(ConnectionClosed) as closed:
            client.infer({"observation/state": STATE})
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1011
        hang_up(client)


def test_health_is_told_without_a_key(tmp_path: Path) -> None:
    with served(examination(tmp_path), front={"api_key": "secret"}) as url:
        address = urlsplit(url)
        caller = http.client.HTTPConnection(address.hostname or "", address.port or 0, timeout=10)
        caller.request("GET", "/healthz")
        answer = caller.getresponse()
        assert (answer.status, answer.read()) == (200, b"OK\n")
        caller.close()


TRIAL = {"session": "s", "agent": "a", "task": "toy", "index": 0, "asked": 0}
ASKED = {"observation": STATE, "proctor/trial": TRIAL, "proctor/seed": 3, "proctor/step": 0, "proctor/stage": "act"}


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("hello", "found a text frame; expected a binary one with an observation in msgpack"),
        (b"\xc1", "found 1 bytes that are no msgpack message"),
        (encode([1, 2]), "found a list; expected a map with an observation"),
        ({"observation": STATE[:3]}, "observation has shape (3,); expected (6,)"),
        ({"observation": np.zeros(6, "U3")}, "observation has dtype <U3; expected float32"),
        ({"observation": [[1], [2, 3]]}, "observation: "),
        ({}, 'the observation has no "observation"; found nothing'),
        ({**ASKED, "proctor/trial": 7}, "found proctor/trial 7; expected a map with session, agent, task, index"),
        ({**ASKED, "proctor/trial": {**TRIAL, "index": "0"}}, "expected a map with session, agent, task, index, asked"),
        ({**ASKED, "proctor/seed": -1}, "found proctor/seed -1"),
        ({**ASKED, "proctor/seed": None}, "found proctor/seed None"),
        ({**ASKED, "proctor/stage": "plan"}, "unknown stage 'plan'; the policy's stages are act"),
        ({**ASKED, "proctor/trial": {**TRIAL, "task": "walk"}}, 'unknown task "walk"; this server knows toy'),
    ],
)  # fmt: skip
def test_bad_requests_get_a_text_and_1011(message, text, tmp_path: Path, toy_server: str) -> None:
    with connect(toy_server, max_size=None) as connection:
        connection.recv()
        connection.send(encode(message) if isinstance(message, dict) else message)
        answer = connection.recv()
        assert isinstance(answer, str)
        assert text in answer
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011


@pytest.fixture(scope="module")
def toy_server(tmp_path_factory):
    made = examination(tmp_path_factory.mktemp("server"), agents=[policy("Recurrent")])
    with served(made, front={"max_frame_bytes": 1 << 16}) as url:
        yield url


def test_a_trial_that_the_server_does_not_know_must_begin_again(toy_server: str) -> None:
    with connect(toy_server) as connection:
        connection.recv()
        for asked, known in ((1, False), (0, True), (2, False), (1, True), (0, True), (2, False)):
            connection.send(encode({**ASKED, "proctor/trial": {**TRIAL, "asked": asked}}))
            frame = connection.recv()
            assert isinstance(frame, bytes)
            assert (set(decode(frame)) == {"actions", "proctor/then"}) is known, asked


def test_a_frame_that_is_too_large_ends_the_connection(toy_server: str) -> None:
    with connect(toy_server, max_size=None) as connection:
        connection.recv()
        connection.send(encode({"observation": np.zeros(1 << 20)}))
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


def test_a_forward_that_hangs_does_not_keep_the_server_from_stopping(tmp_path: Path) -> None:
    napping = policy("Troubled", kwargs={"trouble": "hang", "seeds": [123], "nap_s": 60})
    with served(examination(tmp_path, agents=[napping])) as url, connect(url) as connection:
        connection.recv()
        for asked in range(4):
            connection.send(encode({"observation": STATE}))
            if asked < 3:
                connection.recv()


def test_forwards_that_hang_are_given_up_by_their_limit(tmp_path: Path) -> None:
    """The server's `limits.act_s`, as in a run: the request that hangs is told so."""
    napping = policy("Troubled", kwargs={"trouble": "hang", "seeds": [123], "nap_s": 3})
    with served(examination(tmp_path, agents=[napping], limits={"act_s": 0.5})) as url, connect(url) as connection:
        connection.recv()
        for _ in range(4):
            connection.send(encode({"observation": STATE}))
            answer = connection.recv()
    assert isinstance(answer, str)
    assert answer.startswith("TimeoutError: the policy's act took longer than 0.5 s")


# The verb -------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_sent_is_not_served(tmp_path: Path) -> None:
    from gymnasium import spaces

    from proctor.network.fields import kind_of

    assert [kind_of(s) for s in (spaces.Discrete(3), spaces.Text(4), spaces.Box(0, 1, (2, 3)))] == [
        ["<i8", []], ["text", []], ["<f4", [2, 3]],
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"values of Graph\(.* cannot be sent; expected arrays or text"):
        kind_of(spaces.Graph(spaces.Box(0, 1, (1,)), None))


def test_which_agent_must_be_clear(tmp_path: Path) -> None:
    cfg = config_from_dict(examination(tmp_path, agents=[policy("Linear"), policy("Noisy")]))
    with pytest.raises(InputError, match=r"the config has 2 agents \(linear, noisy\); say which with --agent NAME"):
        Offer(cfg, ServeCfg())
    with pytest.raises(InputError, match='no agent "liner" in the config; did you mean "linear"'):
        Offer(cfg, ServeCfg("liner"))


def test_the_verb_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    config = tmp_path / "serve.yml"
    config.write_text(yaml.safe_dump(examination(tmp_path, agents=[policy("Linear"), policy("Noisy")])))
    command = [sys.executable, "-m", "proctor", "serve", str(config), "--agent", "noisy", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith('serving "noisy" at ws://127.0.0.1:')
    port = urlsplit(line.split()[3].rstrip(";")).port
    taken = subprocess.run([*command[:-1], str(port)], capture_output=True, text=True, timeout=60, check=False)
    assert taken.returncode == 2
    assert taken.stderr.startswith(f"error: cannot listen on 127.0.0.1:{port}: ")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, errors) == (0, "stopped\n", "")
