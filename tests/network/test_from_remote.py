"""The `remote` loader against servers that know nothing of Proctor: good ones and bad ones."""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from examining import TOYS, by_key, digests, examination, policy, task
from served import like_openpi, plain_server, served

from proctor import ConfigError, InputError, Outcome, config_from_dict, run_evaluation
from proctor.network.wire import decode, encode
from proctor.registry import import_file

pytest.importorskip("msgpack", reason="the extra `remote` is not installed")
pytest.importorskip("websockets", reason="the extra `remote` is not installed")

WEIGHTS = import_file(TOYS).WEIGHTS
Examine = Callable[..., Any]
PATIENCE = {"connect_s": 1.0, "timeout_s": 1.0, "reconnect_s": 1.0}


def through(url: str, **options: Any) -> dict[str, Any]:
    return {"name": "far", "policy": "remote", "options": {"url": url, **PATIENCE, **options}}


def action_of(observation: dict[str, Any]) -> np.ndarray:
    """As the agent `Linear` acts, whose forwards have 16 rows: fewer would be rounded otherwise."""
    return np.tanh(np.tile(observation["observation"], (16, 1)) @ WEIGHTS)[0]


def linear(observation: dict[str, Any]) -> dict[str, Any]:
    return {"actions": action_of(observation)[None], "server_timing": {"infer_ms": 1.0}}


def only_error(run: Any, outcome: Outcome) -> str:
    """The one error text that every trial of a run ended with."""
    results = by_key(run).values()
    assert {r.outcome for r in results} == {outcome}
    return {str(r.error) for r in results}.pop()


# Good servers ---------------------------------------------------------------------------------------------------------


def test_a_plain_server_gets_flat_keys_and_nothing_of_ours(examine: Examine) -> None:
    seen: list[dict[str, Any]] = []

    def infer(observation: dict[str, Any]) -> dict[str, Any]:
        seen.append(observation)
        return {"actions": np.zeros((3, 2))}

    options = {
        "keys": {"observation/image": "picture", "observation/state": "state"},
        "extra": {"mode": 1}, "instruction_key": "prompt", "instructions": {"pictures": "push"},
    }  # fmt: skip
    with plain_server(like_openpi(infer)) as url:
        run = examine(agents=[through(url, **options)], tasks=[task("Pictures")], n_trials=1)
    assert set(seen[0]) == {"observation/image", "observation/state", "mode", "prompt"}
    assert seen[0]["prompt"] == "push"
    assert (seen[0]["observation/image"].dtype, seen[0]["observation/image"].shape) == (np.uint8, (8, 8, 3))
    assert all(r.outcome.scored and r.error is None for r in by_key(run).values())


@pytest.mark.parametrize("chunk", [False, True])
def test_a_single_action_and_a_chunk_are_told_apart_by_their_axes(chunk, examine: Examine) -> None:
    def infer(observation: dict[str, Any]) -> dict[str, Any]:
        action = action_of(observation)
        return {"actions": action[None] if chunk else action}

    with plain_server(like_openpi(infer)) as url:
        assert list(digests(examine(agents=[through(url)])).values()) == list(digests(examine()).values())


def test_replan_steps_takes_the_first_actions_of_a_chunk(examine: Examine) -> None:
    def infer(observation: dict[str, Any]) -> dict[str, Any]:
        action = action_of(observation)
        return {"deltas": np.stack([action, np.full(2, np.nan)])}

    with plain_server(like_openpi(infer)) as url:
        run = examine(agents=[through(url, action_key="deltas", replan_steps=1)])
    assert list(digests(run).values()) == list(digests(examine()).values())


def test_requests_travel_at_once_one_per_connection(examine: Examine) -> None:
    """The server answers only when four connections wait for it."""
    waiting = threading.Barrier(4)

    async def attend(connection: Any) -> None:
        await connection.send(encode({}))
        async for frame in connection:
            await asyncio.get_running_loop().run_in_executor(None, waiting.wait, 20)
            await connection.send(encode(linear(decode(frame))))

    tasks = [task(max_episode_steps=3)]
    with plain_server(attend) as url:
        run = examine(agents=[through(url, timeout_s=30, max_wait_s=5)], tasks=tasks, n_trials=4, num_parallel=4)
    assert all(r.outcome.scored and r.error is None for r in by_key(run).values())


# Servers that break ---------------------------------------------------------------------------------------------------


def test_a_text_frame_is_the_policys_error_where_it_comes_again(examine: Examine) -> None:
    asked = itertools.count()

    def infer(observation: dict[str, Any]) -> dict[str, Any]:
        next(asked)
        raise KeyError("observation/wrist_image")

    with plain_server(like_openpi(infer)) as url:
        error = only_error(examine(agents=[through(url)], n_trials=2), Outcome.POLICY_ERROR)
    first, _, traceback = error.partition("\n")
    assert first == "the policy server answered twice with an error: KeyError: 'observation/wrist_image'"
    assert traceback.startswith("Traceback")
    assert next(asked) == 4, "two trials, each asked twice"


def test_an_error_that_does_not_come_again_costs_nothing(examine: Examine, caplog: pytest.LogCaptureFixture) -> None:
    """A server that runs out of memory now and then: the numbers are those of one that never does."""
    broken: list[bytes] = []

    def infer(observation: dict[str, Any]) -> dict[str, Any]:
        seen = observation["observation"].tobytes()
        if len(broken) < 3 and seen not in broken:
            broken.append(seen)
            raise MemoryError("out of memory")
        return linear(observation)

    with plain_server(like_openpi(infer)) as url, caplog.at_level(logging.WARNING, "proctor"):
        run = examine(agents=[through(url)])
    assert len(broken) == 3
    assert list(digests(run).values()) == list(digests(examine()).values())
    assert {result.attempts for result in by_key(run).values()} == {1}
    assert caplog.text.count("answered with an error, and is asked once more: MemoryError: out of memory") == 3


def test_a_server_that_is_gone_when_it_is_asked_again_is_not_the_policys_fault(examine: Examine) -> None:
    async def attend(connection: Any) -> None:
        await connection.send(encode({}))
        if met.is_set():
            await connection.close()
            return
        await connection.recv()
        met.set()
        await connection.send("Traceback\nMemoryError")
        await connection.close(1011)

    met = threading.Event()
    with plain_server(attend) as url:
        error = only_error(examine(agents=[through(url)], n_trials=1, limits={"retries": 0}), Outcome.WORKER_LOST)
    assert "was lost" in error


@pytest.mark.parametrize(
    ("answer", "outcome", "text"),
    [
        ({"action": np.zeros(2)}, Outcome.POLICY_ERROR, 'the policy server\'s answer has no "actions"; it has action'),
        ({"actions": [[1], [2, 3]]}, Outcome.POLICY_ERROR, 'the policy server\'s "actions" is no array'),
        ({"actions": np.zeros((4, 7))}, Outcome.INVALID_ACTION, "action has shape (7,); the task's action space"),
        ({"actions": np.full((1, 2), np.nan)}, Outcome.INVALID_ACTION, "is not finite"),
        ({"actions": "forward"}, Outcome.POLICY_ERROR, "is no array: found a str; expected an array"),
        ([1, 2], Outcome.WORKER_LOST, "expected an answer as a map, found a list"),
    ],
)  # fmt: skip
def test_answers_that_are_none(answer, outcome, text, examine: Examine) -> None:
    with plain_server(like_openpi(lambda _: answer)) as url:
        run = examine(agents=[through(url)], n_trials=1, limits={"retries": 0})
    assert text in only_error(run, outcome)


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([b"\xc1garbage"], "expected an answer in msgpack, found 8 bytes that are no msgpack message"),
        ([], "gave no answer within 1 s"),
        ([None], "was lost: "),
        ([b"\0" * (3 << 20)], "it sent a frame of more than 2 MB; raise max_frame_mb"),
    ],
)  # fmt: skip
def test_what_the_policy_cannot_be_blamed_for_is_unscored(frames, text, examine: Examine) -> None:
    """Garbage, silence, a connection that drops, a frame that is too large."""

    async def attend(connection: Any) -> None:
        await connection.send(encode({}))
        async for _ in connection:
            for frame in frames:
                await (connection.close() if frame is None else connection.send(frame))

    with plain_server(attend) as url:
        run = examine(agents=[through(url, max_frame_mb=2)], n_trials=2, limits={"retries": 1})
    assert text in only_error(run, Outcome.WORKER_LOST)
    assert {r.attempts for r in by_key(run).values()} == {2}


def test_every_running_trial_starts_again_when_a_plain_server_is_lost(examine: Examine) -> None:
    """It cannot know that it lost anything: the trials that were not waiting for it begin again as well."""
    asked = 0

    async def attend(connection: Any) -> None:
        nonlocal asked
        await connection.send(encode({}))
        async for frame in connection:
            asked += 1
            if asked == 11:
                await connection.close()
                return
            await connection.send(encode(linear(decode(frame))))

    with plain_server(attend) as url:
        run = examine(agents=[through(url)], n_trials=4, num_parallel=4)
    assert {r.attempts for r in by_key(run).values()} == {2}
    assert list(digests(run).values()) == list(digests(examine(n_trials=4)).values())


# Before the first trial -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("greeting", "text"),
    [
        (b"\xc1", "expected a greeting in msgpack, found 1 bytes"),
        ("hello", "found the text 'hello'; expected a greeting in msgpack"),
        (encode([1]), "expected a greeting as a map, found a list"),
        (None, "it was silent for 1 s; a policy server speaks first"),
    ],
)
def test_a_server_of_another_kind_is_found_before_the_first_trial(greeting, text, examine: Examine) -> None:
    async def attend(connection: Any) -> None:
        if greeting is not None:
            await connection.send(greeting)
        await connection.wait_closed()

    with plain_server(attend) as url, pytest.raises(InputError, match="no policy server at ws://") as error:
        examine(agents=[through(url)])
    assert text in str(error.value)


def test_no_server_at_all(examine: Examine) -> None:
    with pytest.raises(InputError, match=r"no policy server at ws://127\.0\.0\.1:9: .*Connect call failed"):
        examine(agents=[through("ws://127.0.0.1:9")])


def test_a_wrong_key_and_a_missing_one(tmp_path, monkeypatch, examine: Examine) -> None:
    monkeypatch.setenv("FAR_KEY", "right")
    with served(examination(tmp_path), front={"api_key": "right"}) as url:
        with pytest.raises(InputError, match=r"it wants an api_key \(HTTP 401\)"):
            examine(agents=[through(url)])
        with pytest.raises(InputError, match=r"the api_key was not accepted \(HTTP 401\)"):
            examine(agents=[through(url, api_key="wrong")])
        run = run_evaluation(config_from_dict(examination(tmp_path, agents=[through(url, api_key="$FAR_KEY")])))
    assert "right" not in (run.path / "config.json").read_text()
    with pytest.raises(InputError, match="api_key: the environment variable NOWHERE is not set"):
        examine(agents=[through(url, api_key="$NOWHERE")])


def test_a_server_of_another_task_is_found_before_the_first_trial(tmp_path, examine: Examine) -> None:
    with served(examination(tmp_path)) as url:
        with pytest.raises(InputError, match='knows toy, not the task "pictures"; serve a config that has it'):
            examine(agents=[through(url)], tasks=[task("Pictures")])
        other = {**task("Pictures"), "name": "toy"}
        with pytest.raises(InputError, match=r"expects observation float32\(6,\) for task \"toy\"; this run has obs"):
            examine(agents=[through(url)], tasks=[other])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"url": "http://x:1"}, 'found "http://x:1"; expected an address such as ws://127.0.0.1:8000'),
        ({"url": "ws://x:1", "port": 2}, "found url beside host or port; give one of the two"),
        ({"connections": 0}, "connections"),
        ({"timeout": 3}, "timeout_s"),
    ],
)
def test_wrong_options_are_named_in_the_config(options, text) -> None:
    with pytest.raises(ConfigError) as error:
        config_from_dict({"agents": [{"name": "far", "policy": "remote", "options": options}], "tasks": [task()]})
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ({"options": {"keys": {"image": "pictur"}}}, 'keys.image is "pictur", which the observation does not have;'),
        ({"options": {"frame_stack": 2}}, "frame_stack belong to the served agent's options, not to a remote one's"),
        ({"options": {"instruction_key": "prompt"}}, 'says no instruction to send; write one: options.instructions:'),
        ({"checkpoint": __file__}, "a remote policy has its weights on its server; leave it out"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_found_without_a_server(agent, text, examine: Examine) -> None:
    with pytest.raises(InputError) as error:
        examine(agents=[{"name": "far", "policy": "remote", **agent}], tasks=[task("Pictures")])
    assert text in str(error.value)


def test_a_remote_agent_may_be_served_again(tmp_path, examine: Examine) -> None:
    """A server in front of a server changes nothing."""
    home = list(digests(examine(agents=[policy("Noisy")])).values())
    with (
        served(examination(tmp_path, agents=[policy("Noisy")])) as inner,
        served(examination(tmp_path, agents=[through(inner)])) as outer,
    ):
        assert list(digests(examine(agents=[through(outer)])).values()) == home
