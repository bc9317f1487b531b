"""`protocol: vla_eval` against model servers of the package: a stand-in that was corrected by the real one, and the
real one itself; and against servers that nobody would want."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from examining import by_key, digests, task
from gymnasium import spaces
from served import like_openpi, plain_server
from vla_eval_package import KINDS, model_server
from worded import WORDED

from proctor import ConfigError, InputError, Outcome, config_from_dict
from proctor.config.models import AgentCfg
from proctor.network.client import Client, ClientCfg
from proctor.network.speech import Asked, ServerLost
from proctor.network.vla_eval import ACTION, ERROR, HELLO, OBSERVATION, VlaEval, message
from proctor.network.wire import VLA_EVAL, WireError, decode, encode
from proctor.policies.from_remote import RemoteLoader, RemoteOptions
from proctor.policies.protocol import Batch, Execute, SpaceInfo, Unavailable
from proctor_host.trials import Trial

Examine = Callable[..., Any]
PATIENCE = {"connect_s": 2.0, "timeout_s": 2.0, "reconnect_s": 20.0}
both = pytest.mark.parametrize("kind", KINDS)


def through(url: str, **options: Any) -> dict[str, Any]:
    return {"name": "far", "policy": "remote", "options": {"protocol": "vla_eval", "url": url, **PATIENCE, **options}}


def only_error(run: Any, outcome: Outcome) -> str:
    """The one error text that every trial of a run ended with."""
    results = by_key(run).values()
    assert {r.outcome for r in results} == {outcome}
    return {str(r.error) for r in results}.pop()


def values(run: Any) -> list[Any]:
    return list(digests(run).values())


# Servers of the package -----------------------------------------------------------------------------------------------


@both
def test_a_served_policy_acts_as_at_home(kind, examine: Examine) -> None:
    with model_server("Linear", kind) as url:
        assert values(examine(agents=[through(url)])) == values(examine())


@both
def test_a_chunk_that_is_sent_whole_is_executed_as_far_as_the_agent_says(kind, examine: Examine) -> None:
    with model_server("Whole", kind) as url:
        assert values(examine(agents=[through(url, replan_steps=1)])) == values(examine())


@both
def test_what_a_server_keeps_belongs_to_one_trial_whoever_runs_beside_it(kind, examine: Examine) -> None:
    """The rest of a chunk, and a count of chunks: with one trial at a time and with four the actions are the same."""
    with model_server("Kept", kind) as url:
        runs = [examine(agents=[through(url)], n_trials=6, num_parallel=parallel) for parallel in (1, 4)]
    assert values(runs[0]) == values(runs[1])
    assert all(r.outcome.scored and r.error is None for r in by_key(runs[0]).values())
    assert len(set(values(runs[0]))) == 6


@both
def test_noise_that_comes_from_the_episodes_name_is_repeated(kind, examine: Examine) -> None:
    with model_server("Noisy", kind) as url:
        first, second = (values(examine(agents=[through(url)])) for _ in range(2))
    assert first == second


@both
def test_requests_travel_at_once(kind, examine: Examine) -> None:
    """The server answers only when four episodes wait for it."""
    tasks = [task(max_episode_steps=3)]
    with model_server("Together", kind) as url:
        agent = through(url, timeout_s=30, max_wait_s=5)
        run = examine(agents=[agent], tasks=tasks, n_trials=4, num_parallel=4)
    assert all(r.outcome.scored and r.error is None for r in by_key(run).values())


@both
def test_connections_are_used_again_and_the_end_of_an_episode_is_said(kind) -> None:
    with model_server("Counting", kind) as url:
        client = Client(ClientCfg(url), VlaEval("test"))
        seen = []
        for number in range(1, 6):
            episode = client.episode()
            episode.asked += 1
            frames = message("episode_start", {"task": {}}, 0), message(OBSERVATION, {}, number)
            (answer,) = client.ask_each([(Asked(frames, number), episode)])
            assert isinstance(answer, dict), answer
            seen.append((answer["actions"] * 1000).round().tolist())
            del episode
        client.close()
    sessions, ended = zip(*seen, strict=True)
    assert ended == (0, 1, 2, 3, 4)
    assert max(sessions) <= 2, "a trial that has ended gives its connection to the next"


@both
def test_what_a_server_is_told_and_sent(kind, examine: Examine, caplog: pytest.LogCaptureFixture) -> None:
    options = {
        "keys": {"images/front": "picture", "states": "state"}, "extra": {"mode": 1},
        "instructions": {"pictures": "push"}, "task_info": {"pictures": {"level": "easy"}},
    }  # fmt: skip
    with model_server("Telling", kind) as url, caplog.at_level(logging.WARNING, "proctor"):
        run = examine(agents=[through(url, **options)], tasks=[task("Pictures")], n_trials=1)
    (result,) = by_key(run).values()
    assert result.outcome is Outcome.POLICY_ERROR
    seed = result.trial.seed
    told = {"name": "pictures", "episode_idx": 0, "seed": seed, "level": "easy"}
    sent = {"images": {"front": "uint8(8, 8, 3)"}, "mode": 1, "states": "float32(6,)", "task_description": "push"}
    start = "the policy server answered with an error: observation_failed: ValueError: "
    assert str(result.error).startswith(f"{start}{told} pictures/0/{seed} 0 {sent}\n")
    assert "asks for observations made with {'send_state': True}" in caplog.text


@both
def test_an_observation_that_is_one_array_is_the_state(kind, examine: Examine) -> None:
    with model_server("Telling", kind) as url:
        error = only_error(examine(agents=[through(url)], n_trials=1), Outcome.POLICY_ERROR)
    assert "{'state': 'float32(6,)'}" in error


@both
def test_texts_travel_as_text(kind, examine: Examine) -> None:
    tasks = [{"suite": "gymnasium", "name": "worded", "options": {"id": f"{WORDED}:Worded-v0"}}]
    with model_server("Telling", kind) as url:
        agent = through(url, keys={"task_description": "told.0", "place/x": "x"})
        error = only_error(examine(agents=[agent], tasks=tasks, n_trials=1), Outcome.POLICY_ERROR)
    assert "{'place': {'x': 'float64()'}, 'task_description': '" in error


# Servers of the package that break ------------------------------------------------------------------------------------


@both
def test_what_a_policy_raises_is_the_policys_error(kind, examine: Examine) -> None:
    with model_server("Raising", kind) as url:
        error = only_error(examine(agents=[through(url)], n_trials=2), Outcome.POLICY_ERROR)
    assert error.startswith("the policy server answered with an error: observation_failed: KeyError: 'wrist'")


@both
def test_an_episode_that_a_server_refuses_to_begin_costs_no_other(kind, examine: Examine) -> None:
    """The server says so at once and answers the observation as well: who takes the next message for the answer is one
    behind from then on."""
    with model_server("Refusing", kind) as url:
        run = examine(agents=[through(url)], n_trials=6, num_parallel=1)
    at_home = examine(n_trials=6)
    results = list(by_key(run).values())
    assert [r.outcome is Outcome.POLICY_ERROR for r in results] == [False, True] * 3
    assert "episode_start_failed: ValueError: no model for episode 1" in str(results[1].error)
    assert values(run)[::2] == values(at_home)[::2]


@both
def test_an_answer_is_known_by_its_number(kind, examine: Examine) -> None:
    with model_server("Twice", kind) as url:
        assert values(examine(agents=[through(url)])) == values(examine())


@both
def test_silence_is_not_the_policys(kind, examine: Examine) -> None:
    with model_server("Silent", kind) as url:
        agent = through(url, timeout_s=0.5)
        error = only_error(examine(agents=[agent], n_trials=2, limits={"retries": 0}), Outcome.WORKER_LOST)
    assert "gave no answer within 0.5 s" in error


@both
def test_trials_begin_again_when_the_server_dies_and_comes_back(kind, examine: Examine) -> None:
    with model_server("Dying", kind, restarts=1) as url:
        run = examine(agents=[through(url)], n_trials=4, num_parallel=4)
    assert {r.attempts for r in by_key(run).values()} == {2}
    assert values(run) == values(examine(n_trials=4))


@both
def test_a_client_of_openpis_protocol_hears_what_to_do(kind, examine: Examine) -> None:
    with (
        model_server("Linear", kind) as url,
        pytest.raises(InputError, match="to be greeted: protocol: vla_eval"),
    ):
        examine(agents=[through(url, protocol="openpi", connect_s=0.5)])


# Servers that nobody would want ---------------------------------------------------------------------------------------


def answering(*frames: Any, hello: Any = None) -> Callable[[Any], Any]:
    """Greets, and answers every observation with these; a function is called with its number, None closes."""

    async def attend(connection: Any) -> None:
        async for frame in connection:
            found = decode(frame, VLA_EVAL)
            if found["type"] == HELLO:
                await connection.send(message(HELLO, {"protocol_version": 1}, found["seq"]) if hello is None else hello)
            elif found["type"] == OBSERVATION:
                for given in frames:
                    said = given(found["seq"]) if callable(given) else given
                    await (connection.close() if said is None else connection.send(said))

    return attend


def action(actions: Any) -> Callable[[int], bytes]:
    return lambda seq: message(ACTION, {"actions": actions}, seq)


def said(kind: str, **payload: Any) -> bytes:
    """A message that is the same at any time of day."""
    return encode({"type": kind, "payload": payload, "seq": 0, "timestamp": 0.0}, VLA_EVAL)


def claims(data: bytes, **said: Any) -> Callable[[int], bytes]:
    """An array that is not what it says."""
    array = {"__ndarray__": True, "data": data, "dtype": "<f4", "shape": [2], **said}
    return lambda seq: encode({"type": ACTION, "payload": {"actions": array}, "seq": seq}, VLA_EVAL)


@pytest.mark.parametrize(
    ("frame", "outcome", "text"),
    [
        (action(np.zeros((4, 7))), Outcome.INVALID_ACTION, "action has shape (7,); the task's action space"),
        (action("forward"), Outcome.POLICY_ERROR, "is no array: found a str; expected an array"),
        (lambda seq: message(ACTION, {"action": 1}, seq), Outcome.POLICY_ERROR, 'has no "actions"; it has action'),
        (lambda seq: message(ERROR, {}, seq), Outcome.POLICY_ERROR, "answered with an error: {}"),
        (lambda seq: message(HELLO, {}, seq), Outcome.WORKER_LOST, 'expected an action, found a message "hello"'),
        (lambda seq: message(ACTION, {"actions": [0, 0]}, seq + 1), Outcome.WORKER_LOST, "gave no answer within 0.5 s"),
        (b"\xc1garbage", Outcome.WORKER_LOST, "expected an answer in msgpack, found 8 bytes"),
        ("hello", Outcome.WORKER_LOST, "found the text 'hello'; expected an answer in msgpack"),
        (encode({"actions": [0, 0]}), Outcome.WORKER_LOST, "with a type and a payload, found a map of actions"),
        (b"\0" * (3 << 20), Outcome.WORKER_LOST, "it sent a frame of more than 2 MB; raise max_frame_mb"),
        (None, Outcome.WORKER_LOST, "was lost: "),
        (claims(bytes(8), shape=[1 << 40]), Outcome.WORKER_LOST, "found 8 bytes for an array of shape"),
        (claims(bytes(8), dtype="|O"), Outcome.WORKER_LOST, "only numbers and truth values are sent in arrays"),
        (claims(bytes(8), dtype="S8", shape=[1]), Outcome.WORKER_LOST, "only numbers and truth values are sent"),
    ],
)
def test_answers_that_are_none(frame, outcome, text, examine: Examine) -> None:
    with plain_server(answering(frame)) as url:
        agent = through(url, max_frame_mb=2, timeout_s=0.5)
        run = examine(agents=[agent], n_trials=1, limits={"retries": 0})
    assert text in only_error(run, outcome)


def test_one_lost_connection_costs_the_other_trials_nothing(examine: Examine) -> None:
    """Unlike a plain server of openpi's, this one keeps its episodes apart."""
    lost = threading.Event()

    def first_once(seq: int) -> bytes | None:
        if lost.is_set():
            return message(ACTION, {"actions": np.full(2, 0.1, np.float32)}, seq)
        lost.set()
        return None

    with plain_server(answering(first_once)) as url:
        run = examine(agents=[through(url)], n_trials=4, num_parallel=4)
    assert sorted(r.attempts for r in by_key(run).values()) == [1, 1, 1, 2]


def test_there_are_no_more_connections_than_trials_that_run(examine: Examine) -> None:
    """Nobody says that a trial has ended: its connection is free when its state is forgotten."""
    opened, attend = [], answering(action(np.full(2, 0.1, np.float32)))

    async def counted(connection: Any) -> None:
        opened.append(connection)
        await attend(connection)

    with plain_server(counted) as url:
        run = examine(agents=[through(url)], n_trials=20, num_parallel=2)
    assert all(r.outcome.scored and r.error is None for r in by_key(run).values())
    assert len(opened) < 10, "some for the trials that run and those whose state is still held, not one for each"


def test_a_request_that_was_given_up_is_not_made_again() -> None:
    """The server has gone on with it: the trial has to begin anew."""
    space = spaces.Box(-1, 1, (2,), np.float32)
    info = SpaceInfo({"toy": space}, {"toy": space})
    agent = AgentCfg.model_validate({"name": "far", "policy": "remote"})
    trial = Trial("far", "toy", 0, 7)
    with plain_server(answering(action(np.zeros(2, np.float32)))) as url:
        options = RemoteOptions.model_validate({"protocol": "vla_eval", "url": url, **PATIENCE})
        policy = RemoteLoader().load(agent, options, info, None)
        batch = Batch(np.zeros((1, 2), np.float32), policy.reset([trial]), [trial.policy_rng()], [trial])
        output = policy.forward("act", batch)
        assert isinstance(output.decisions[0], Execute)
        (again,) = policy.forward("act", batch).decisions
        assert isinstance(again, Unavailable)
        assert "a request of this trial was given up" in again.reason
        (later,) = policy.forward("act", replace(batch, state=output.state)).decisions
        assert isinstance(later, Execute)
        policy.close()
        (closed,) = policy.forward("act", replace(batch, state=policy.reset([trial]))).decisions
        assert isinstance(closed, Unavailable)


@pytest.mark.parametrize(
    ("hello", "text"),
    [
        (said(ERROR), 'expected a hello, found a message "error"'),
        (said(HELLO, protocol_version=2), "it speaks version 2 of vla-eval's protocol; expected 1"),
        (b"\xc1", "expected a hello in msgpack, found 1 bytes"),
        ("hi", "found the text 'hi'; expected a hello in msgpack"),
        (b"", "expected a hello in msgpack, found 0 bytes"),
    ],
)
def test_a_server_of_another_kind_is_found_before_the_first_trial(hello, text, examine: Examine) -> None:
    with plain_server(answering(hello=hello)) as url, pytest.raises(InputError, match="no policy server at") as error:
        examine(agents=[through(url)])
    assert text in str(error.value)


def test_a_server_of_openpis_protocol_is_named_as_such(examine: Examine) -> None:
    text = "for a server of openpi's protocol leave out protocol: vla_eval"
    with plain_server(like_openpi(lambda _: {}, {"model": "pi0"})) as url, pytest.raises(InputError, match=text):
        examine(agents=[through(url)])


def test_a_server_that_does_not_greet(examine: Examine) -> None:
    async def deaf(connection: Any) -> None:
        await connection.wait_closed()

    with plain_server(deaf) as url, pytest.raises(InputError, match=r"silent for 0\.3 s; a model server of vla-eval's"):
        examine(agents=[through(url, connect_s=0.3)])


def test_a_server_that_comes_back_as_another_is_refused() -> None:
    hellos = [said(HELLO, protocol_version=1, model_server=name) for name in ("Pi0", "Oft")]
    zero = action([0.0])
    with plain_server(answering(zero, hello=hellos[0])) as url:
        client = Client(ClientCfg(url), VlaEval("test"))
    with plain_server(answering(zero, hello=hellos[1]), port=int(url.rpartition(":")[2])):
        replies = [client.ask_each([(Asked((message(OBSERVATION, {}, n),), n), None)])[0] for n in (1, 2)]
    assert all(isinstance(reply, ServerLost) for reply in replies)
    assert "now offers another policy than when this run began" in str(replies[1])
    client.close()


# Before anything is sent ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"keys": {"images": "picture", "images/front": "state"}}, 'the keys "images" and "images/front"; one cannot'),
        ({"keys": {"images//front": "picture"}}, 'the key "images//front"; expected names with single slashes'),
        ({"keys": {"image": "pictur"}}, 'keys.image is "pictur", which the observation does not have'),
        ({"texts": ["state"]}, 'texts has "state", which is Box('),
        ({"texts": ["told"]}, 'texts has "told", which the observation does not have'),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_found_without_a_server(options, text, examine: Examine) -> None:
    with pytest.raises(InputError) as error:
        examine(agents=[through("ws://127.0.0.1:9", **options)], tasks=[task("Pictures")])
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"protocol": "vla-eval"}, "vla_eval"),
        ({"protocol": "openpi", "task_info": {"a": {}}}, "task_info is for protocol: vla_eval"),
    ],
)
def test_wrong_options_are_named_in_the_config(options, text) -> None:
    with pytest.raises(ConfigError) as error:
        config_from_dict({"agents": [through("ws://x:1", **options)], "tasks": [task()]})
    assert text in str(error.value)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1j]), np.array([None]), np.array(["2020"], "M8[D]")])
def test_only_numbers_are_sent(array: np.ndarray) -> None:
    with pytest.raises(WireError, match="only numbers and truth values are sent in arrays"):
        encode({"x": array}, VLA_EVAL)
