"""Messages: what is said is heard, whatever it holds; what is no message is refused at no cost."""

from __future__ import annotations

import contextlib
import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor_host import messages
from proctor_host.cfg import TaskCfg
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.spaces import Box, Dict, Discrete, Text
from proctor_host.task import Task
from proctor_host.trials import Trial
from proctor_host.wire import PLAIN, Unsendable, Wire

TASKS = {"reach": TaskCfg(name="reach", suite="toy", options={"a": 1})}
ABROAD, AT_HOME = Wire(False, TASKS), Wire(True, TASKS)
TRIAL = Trial("agent", "reach", 3, 126)
NUMBERS = st.one_of(
    arrays.arrays(np.float32, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)),
    arrays.arrays(np.int16, (2, 3)),
    st.builds(np.float64, st.floats()),
    st.builds(np.uint8, st.integers(0, 255)),
)
PLAIN_DATA = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), NUMBERS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=4),
    ),
    max_leaves=12,
)


def heard(said: list[Any], wire: Wire = ABROAD) -> list[Any]:
    return wire.unpack(memoryview(wire.pack(said)))


def shown(value: Any) -> str:
    """A value with the type and the bytes of everything in it."""
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {value.tobytes()!r}"
    if isinstance(value, np.generic):
        return f"{value.dtype} {value.tobytes()!r}"
    if isinstance(value, dict):
        return f"dict {[(shown(key), shown(one)) for key, one in value.items()]}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} {[shown(one) for one in value]}"
    return f"{type(value).__name__} {value!r}"


@given(PLAIN_DATA)
def test_what_is_shown_to_a_policy_arrives_as_it_was(value: Any) -> None:
    (found,) = heard([messages.Asks([0], [value])])
    assert shown(found.shown) == shown([value])


@given(st.lists(st.integers(0, 65535), max_size=40))
def test_slots_alone_are_the_shortest_message(slots: list[int]) -> None:
    assert heard([slots]) == [slots]
    assert len(ABROAD.pack([slots])) == 1 + 2 * len(slots)


def test_every_message_arrives_as_it_was() -> None:
    result = TrialResult(TRIAL, Outcome.SUCCESS, True, 9, 7, 1.5, 100, metrics={"m": float("inf"), "n": None})
    chunk = messages.Chunk(np.eye(2, dtype=np.float32), 1, "out of range", np.array([True, False]))
    said = [
        messages.Probe("reach"), messages.Start(1, TRIAL, "stem", True, alone=True), messages.Unload(),
        messages.Run([0, 2], np.zeros((2, 1, 3))), messages.Run([0], chunk), messages.Rest(), messages.Close(),
        messages.Finish(1, Outcome.POLICY_ERROR, "why\nwhere"), messages.SeedIgnored("reach"),
        messages.ProbeFailed("reach", "é"), messages.Refused("agent", "no"), messages.Asks([3, 1]),
        messages.Done(1, result, messages.Spent(1.0, 2.0, 3.0), messages.Left(b"npz", None, 25.0, False)),
        messages.Fault(0, Outcome.TIMEOUT, "late"), messages.Unclosed("x"), messages.Fatal("disk"),
    ]  # fmt: skip
    found = heard([*said, [1, 2]])
    assert [type(one) for one in found] == [*(type(one) for one in said), list]
    assert shown(found) == shown([*said, [1, 2]])


def test_a_task_is_described_in_full() -> None:
    seen = Dict({"image": Box(0, 255, (2, 2, 3), np.uint8), "text": Text(9), "kind": Discrete(3, start=-1)})
    task = Task(TASKS["reach"], seen, Box([-1, 0], [1, np.inf]), [0.5, 0.5], 7, 9, 0.02, None, False, True, 4)
    (found,) = heard([messages.Probed(task)])
    assert found.task.plain().keys() == task.plain().keys()
    assert shown(found.task.plain()) == shown(task.plain())
    assert (found.task.cfg, found.task.layout) == (task.cfg, task.layout)


class Handle:
    """Something that only its own interpreter knows."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Handle)


@pytest.mark.parametrize("value", [Handle(), np.array([Handle()]), {1, 2}, [{"deep": Handle()}]])
def test_what_only_one_interpreter_knows_stays_there(value: Any) -> None:
    with pytest.raises(Unsendable, match="cannot be sent to another interpreter; expected numbers, text or arrays"):
        ABROAD.pack([messages.Asks([0], [value])])
    assert heard([messages.Asks([0], [{1, 2}])], AT_HOME) == [messages.Asks([0], [{1, 2}])]


def test_nothing_from_another_interpreter_is_unpickled() -> None:
    frame = AT_HOME.pack([messages.Asks([0], [{1, 2}])])
    with pytest.raises(ValueError, match="a pickle from another interpreter"):
        ABROAD.unpack(memoryview(frame))


def plain_frame(text: str, *parts: bytes) -> bytes:
    body = text.encode()
    packed = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    return struct.pack("<BI", PLAIN, len(body)) + body + packed


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x07",
        plain_frame("{}"),
        plain_frame("[" * 100_000),
        plain_frame('[{"\\u0000m": ["Popen", [["true"]]]}]'),
        plain_frame('[{"\\u0000m": ["Start", [1]]}]'),
        plain_frame('[{"\\u0000m": ["Task", [{"name": "unheard"}]]}]'),
        plain_frame(json.dumps([{"\0a": [0, "<f8", [1 << 40]]}]), b"12345678"),
        plain_frame(json.dumps([{"\0a": [0, "|O", [1]]}]), b"12345678"),
        plain_frame(json.dumps([{"\0a": [7, "<f8", [1]]}])),
        plain_frame("[]")[:-1] + struct.pack("<Q", 1 << 60),
    ],
)
def test_what_is_no_message_is_refused(frame: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own errors are of this kind
        ABROAD.unpack(memoryview(frame))


@given(st.data())
def test_a_damaged_frame_is_a_message_or_refused(data: st.DataObject) -> None:
    frame = bytearray(ABROAD.pack([messages.Asks([0], [np.arange(6.0), "text", (1, b"x")]), messages.Rest()]))
    for _ in range(data.draw(st.integers(1, 6))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        ABROAD.unpack(memoryview(bytes(frame)))
