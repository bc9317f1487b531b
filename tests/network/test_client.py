"""The client alone: closing, and limits on what it waits for."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from served import like_openpi, plain_server

from proctor.network.client import Client, ClientCfg, ServerError, ServerLost
from proctor.network.wire import encode

pytest.importorskip("msgpack", reason="the extra `remote` is not installed")
pytest.importorskip("websockets", reason="the extra `remote` is not installed")


def echo(message: dict[str, Any]) -> dict[str, Any]:
    if message["n"] < 0:
        raise ValueError("no negative numbers")
    return {"n": message["n"]}


def test_answers_come_in_order_over_fewer_connections_than_requests() -> None:
    with plain_server(like_openpi(echo)) as url:
        client = Client(ClientCfg(url, connections=3))
        assert client.ask([encode({"n": n}) for n in range(20)]) == [{"n": n} for n in range(20)]
        client.close()


def test_one_broken_request_is_no_loss_to_the_others() -> None:
    with plain_server(like_openpi(echo)) as url:
        client = Client(ClientCfg(url, connections=2))
        answers = client.ask([encode({"n": n}) for n in (1, -1, 2, -2, 3)])
        assert [a for a in answers if isinstance(a, dict)] == [{"n": 1}, {"n": 2}, {"n": 3}]
        assert [isinstance(a, ServerError) for a in answers] == [False, True, False, True, False]
        assert client.losses == 0
        client.close()


def test_closing_gives_up_what_is_under_way() -> None:
    asked = threading.Event()

    async def silent(connection: Any) -> None:
        await connection.send(encode({}))
        async for _ in connection:
            asked.set()

    answers: list[Any] = []
    with plain_server(silent) as url:
        client = Client(ClientCfg(url))
        waiting = threading.Thread(target=lambda: answers.extend(client.ask([encode({"n": 1})])))
        waiting.start()
        assert asked.wait(10)
        client.close()
        waiting.join(10)
    assert [str(answer) for answer in answers] == ["the client was closed"]
    assert isinstance(client.ask([b""])[0], ServerLost)
    client.close()


def test_a_server_that_comes_back_with_another_policy_is_refused() -> None:
    """Proctor's server says which files its policy is made of; after a restart they must be the same."""
    before, after = ({"proctor": 1, "fingerprint": {"checkpoint": which}} for which in ("aa", "bb"))
    with plain_server(like_openpi(echo, before)) as url:
        client = Client(ClientCfg(url))
        assert client.ask([encode({"n": 1})]) == [{"n": 1}]
    with plain_server(like_openpi(echo, after), port=int(url.rpartition(":")[2])):
        lost, refused = client.ask([encode({"n": 2})]) + client.ask([encode({"n": 3})])
    assert "was lost" in str(lost)
    assert str(refused).startswith(f"{url} now offers another policy than when this run began; serve the old one, or")
    assert client.losses == 1
    client.close()


def test_a_server_is_waited_for_and_then_given_up() -> None:
    with plain_server(like_openpi(echo)) as url:
        client = Client(ClientCfg(url, reconnect_s=0.3))
    lost, gone = client.ask([encode({"n": 2})]) + client.ask([encode({"n": 3})])
    assert "was lost" in str(lost)
    assert str(gone).startswith(f"{url} did not come back within 0.3 s: ")
    client.close()
