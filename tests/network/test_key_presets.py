"""Key presets: `openpi/libero` says on both sides what openpi's LIBERO client and servers call things, against a double
of LIBERO and openpi's own client class."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import libero_double
import numpy as np
import pytest
from examining import by_key, digests, examination, policy, task
from served import like_openpi, plain_server, served

from proctor import ConfigError, InputError, Outcome, config_from_dict
from proctor.network.offer import Offer, ServeCfg
from proctor.policies import options_for

pytest.importorskip("msgpack", reason="the extra `remote` is not installed")
pytest.importorskip("websockets", reason="the extra `remote` is not installed")
client_policy = pytest.importorskip("openpi_client.websocket_client_policy", reason="openpi-client is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:connect.. must be used as a context manager:DeprecationWarning")

PRESET = "openpi/libero"
LOOKER = Path(__file__).parents[1] / "support" / "lookers.py"
TOLD = ["put thing 0 on the plate", "put thing 1 on the plate"]
Examine = Callable[..., Any]


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    pytest.importorskip("torch", reason="the double saves its states with torch")
    yield libero_double.install(tmp_path / "site", monkeypatch)
    libero_double.forget()


def looker(horizon: int = 5, noise: float = 0.0) -> dict[str, Any]:
    kwargs = {"horizon": horizon, "noise": noise}
    return {"name": "looker", "policy": f"{LOOKER}:Looker", "options": {"kwargs": kwargs}}


def through(url: str, **options: Any) -> dict[str, Any]:
    return {"name": "far", "policy": "remote", "options": {"url": url, "keys": PRESET, **options}}


def rooms(*numbers: int) -> dict[str, Any]:
    """Two short trials of tasks of the double."""
    options = {"benchmark": "spatial", "task": list(numbers), "render_px": 32, "image_px": 28, "video_px": 16}
    return {"tasks": [{"suite": "libero", "options": options}], "n_trials": 2, "max_episode_steps": 7}


def request(told: str = TOLD[0], **entries: Any) -> dict[str, Any]:
    """As openpi's LIBERO client writes it."""
    image = np.arange(28 * 28 * 3, dtype=np.uint8).reshape(28, 28, 3)
    state = np.linspace(-1, 1, 8)
    seen = {"observation/image": image, "observation/wrist_image": image[::-1].copy(), "observation/state": state}
    return {**seen, "prompt": told, **entries}


def ask(url: str, *requests: dict[str, Any]) -> list[np.ndarray]:
    host, port = url.rsplit(":", 1)
    client = client_policy.WebsocketClientPolicy(host, int(port))
    with contextlib.closing(client._ws):
        return [client.infer(one)["actions"] for one in requests]


# A server of openpi's, asked by us ------------------------------------------------------------------------------------


def test_a_server_is_sent_what_openpis_client_sends(examine: Examine) -> None:
    seen: list[dict[str, Any]] = []

    def infer(observation: dict[str, Any]) -> dict[str, Any]:
        seen.append(observation)
        return {"actions": np.zeros((50, 7)), "policy_timing": {"infer_ms": 1.0}}

    with plain_server(like_openpi(infer)) as url:
        run = examine(agents=[through(url)], **rooms(0))
    assert {result.outcome for result in by_key(run).values()} <= {Outcome.TRUNCATED, Outcome.FAILURE}
    for found, expected in ((seen[0], request()),):
        assert found.keys() == expected.keys()
        for key in expected.keys() - {"prompt"}:
            assert (found[key].dtype, found[key].shape) == (expected[key].dtype, expected[key].shape), key
    assert {one["prompt"] for one in seen} == {TOLD[0]}
    assert len(seen) == 2 * 2, "seven steps: asked again after five, as openpi's client does"


def test_the_options_words_go_before_the_tasks_and_all_of_a_chunk_can_be_asked_for(examine: Examine) -> None:
    seen: list[dict[str, Any]] = []

    def infer(observation: dict[str, Any]) -> dict[str, Any]:
        seen.append(observation)
        return {"actions": np.zeros((50, 7))}

    options = {"instructions": {"libero_spatial-0": "fetch the thing"}, "replan_steps": None}
    with plain_server(like_openpi(infer)) as url:
        examine(agents=[through(url, **options)], **rooms(0))
    assert [one["prompt"] for one in seen] == ["fetch the thing"] * 2


def test_the_presets_number_of_steps_is_seen_in_the_options() -> None:
    cfg = config_from_dict({"agents": [through("ws://far:1"), {"policy": "remote"}], "tasks": [task()]})
    assert [options_for(agent).replan_steps for agent in cfg.agents] == [5, None]  # type: ignore[attr-defined]


# Served by us, asked by openpi's client -------------------------------------------------------------------------------


def test_openpis_client_drives_a_language_policy(tmp_path: Path) -> None:
    cfg = examination(tmp_path, agents=[looker()], **rooms(0, 1))
    with served(cfg, keys=PRESET) as url:
        first, same, other = ask(url, request(TOLD[0]), request(TOLD[0]), request("put it somewhere else"))
    assert first.shape == (5, 7)
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def test_the_instruction_says_which_task_is_meant_and_a_new_one_begins_an_episode(tmp_path: Path) -> None:
    """Noise is drawn from the generator of the episode, which is made of the seed and the task's name."""
    cfg = examination(tmp_path, agents=[looker(noise=0.3)], **rooms(0, 1))
    with served(cfg, keys=PRESET) as url:
        one, later, two, again = ask(url, *(request(TOLD[k]) for k in (0, 0, 1, 0)))
    with served(examination(tmp_path, agents=[looker(noise=0.3)], **rooms(1)), keys=PRESET) as url:
        alone = ask(url, request(TOLD[1]))[0]
    assert (one != later).any(), "the episode goes on"
    np.testing.assert_array_equal(one, again)
    np.testing.assert_array_equal(two, alone)


def test_through_both_ends_the_bytes_are_those_of_a_local_run(tmp_path: Path, examine: Examine) -> None:
    home = list(digests(examine(agents=[looker(noise=0.2)], **rooms(0, 1))).values())
    with served(examination(tmp_path, agents=[looker(noise=0.2)], **rooms(0, 1)), keys=PRESET) as url:
        assert list(digests(examine(agents=[through(url)], **rooms(0, 1))).values()) == home
        worded = through(url, instructions={"libero_spatial-0": TOLD[0]})
        assert list(digests(examine(agents=[worded], **rooms(0, 1))).values()) == home
        with pytest.raises(
            InputError, match=r"expects observation/image uint8\(28, 28, 3\).*prompt text.*this run has"
        ):
            examine(agents=[through(url, keys=None)], **rooms(0, 1))


def test_an_ensemble_over_a_server_is_that_of_a_local_policy(tmp_path: Path, examine: Examine) -> None:
    """Whole chunks come over the wire, whatever the preset runs of one otherwise."""
    ensembled = {"temporal_ensemble": 0.1}
    local = looker(horizon=7) | {"options": {"kwargs": {"horizon": 7, "noise": 0.0}, **ensembled}}
    with served(examination(tmp_path, agents=[looker(horizon=7)], **rooms(0)), keys=PRESET) as url:
        found = list(digests(examine(agents=[through(url, **ensembled)], **rooms(0))).values())
    assert found == list(digests(examine(agents=[local], **rooms(0))).values())
    assert found != list(digests(examine(agents=[looker(horizon=7)], **rooms(0))).values())


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ({"prompt": 3}, "prompt is a int; expected text"),
        ({"prompt": "x" * 129}, r"prompt: the text .* takes 129 bytes; there are 128 bytes for text"),
        (
            {"observation/image": np.zeros((3, 28, 28), np.uint8)},
            r"observation/image has shape \(3, 28, 28\)",
        ),
        ({"observation/state": np.zeros(7)}, r"observation/state has shape \(7,\); expected \(8,\)"),
    ],
)
def test_what_does_not_fit_is_named_as_the_caller_names_it(tmp_path: Path, entries: Any, text: str) -> None:
    cfg = examination(tmp_path, agents=[looker()], **rooms(0))
    with served(cfg, keys=PRESET) as url, pytest.raises(RuntimeError, match=text):
        ask(url, request(**entries))


def test_what_is_missing_is_named_as_the_caller_names_it(tmp_path: Path) -> None:
    sent = request()
    del sent["observation/wrist_image"]
    cfg = examination(tmp_path, agents=[looker()], **rooms(0))
    text = 'has no "observation/wrist_image"; found observation/image, observation/state, prompt'
    with served(cfg, keys=PRESET) as url, pytest.raises(RuntimeError, match=text):
        ask(url, sent)


# What cannot be -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"keys": "openpi/liberos"}, 'no key preset "openpi/liberos"; did you mean "openpi/libero"'),
        ({"protocol": "vla_eval"}, "keys: openpi/libero is for openpi's protocol; leave keys out"),
        ({"instruction_key": "text"}, "says under which key the instruction is sent; drop instruction_key"),
        ({"keys": {}}, "expected at least 1 entry"),
    ],
)  # fmt: skip
def test_wrong_presets_are_named_in_the_config(options: Any, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        config_from_dict({"agents": [through("ws://far:1", **options)], "tasks": [task()]})
    assert text in str(error.value)


def test_tasks_that_have_no_such_entries(tmp_path: Path, examine: Examine) -> None:
    with pytest.raises(InputError, match=r'image is "image/agentview", which the observation does not'):
        examine(agents=[through("ws://127.0.0.1:9", instructions={"pictures": "x"})], tasks=[task("Pictures")])
    with pytest.raises(InputError, match="says no instruction to send; write one"):
        examine(agents=[through("ws://127.0.0.1:9")], tasks=[task("Pictures")])
    cfg = config_from_dict(examination(tmp_path, agents=[policy("Linear")], tasks=[task()]))
    with pytest.raises(InputError, match='task "toy": callers send "observation/image", which is the entry "image/ag'):
        Offer(cfg, ServeCfg(keys=PRESET))
    with pytest.raises(InputError, match='no key preset "pi"'):
        Offer(cfg, ServeCfg(keys="pi"))
