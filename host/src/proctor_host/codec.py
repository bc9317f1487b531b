"""Messages as bytes, the same in every interpreter: JSON for what is small, raw bytes for what is not.

A frame is a list of messages. Its first byte says which kind: `SLOTS`, one list of slot numbers, which is what is sent
most; or `PLAIN`, a JSON text followed by the parts that it refers to (arrays, bytes). Everything that is not JSON by
itself is an object with one key that begins with NUL:

    {"\0t": [...]}  a tuple               {"\0a": [part, dtype, shape]}  an array
    {"\0d": [[k, v], ...]}  a mapping     {"\0s": [part, dtype]}         a number of numpy's
    {"\0m": [name, [...]]}  a message     {"\0b": part}                  bytes
    {"\0o": part}  a pickle, between processes of one interpreter only
    {"\0y": [place, dtype, shape]}  an array that lies in shared memory (`proctor_host.board`)

What cannot be said so cannot be sent to another interpreter, and nothing that comes from one is unpickled. No more is
allocated than a frame holds.
"""

from __future__ import annotations

import array
import json
import pickle
import re
import struct
from dataclasses import fields
from typing import Any, Callable, Mapping

import numpy as np

from proctor_host import messages
from proctor_host.board import LARGE, Tray
from proctor_host.cfg import TaskCfg
from proctor_host.episode import Outcome
from proctor_host.result import TrialResult
from proctor_host.task import Task
from proctor_host.trials import Trial

PROTOCOL = 3
"""Both sides must have the same. Raise it with every change of messages or of what they mean."""
PLAIN, SLOTS = 0, 1
_TEXT = struct.Struct("<BI")
_PART = struct.Struct("<Q")
_SLOTS = bytes([SLOTS])
_DTYPE = re.compile(r"[<>|=][?biufcmMSUV]\d+(\[\w+\])?")
_NATURAL = array.array("H").itemsize == 2
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
_MESSAGES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        messages.Probe, messages.Know, messages.Start, messages.Load, messages.Unload, messages.Run, messages.Finish,
        messages.Rest, messages.Close, messages.Probed, messages.SeedIgnored, messages.ProbeFailed, messages.Refused,
        messages.Asked, messages.Asks, messages.Spent, messages.Left, messages.Done, messages.Fault, messages.Unclosed,
        messages.Fatal, messages.Chunk, messages.Judge, messages.Judged, messages.Consult, messages.Adrift,
        messages.Ended, messages.Way, messages.Take, messages.Leave, messages.Trying, messages.Shows, messages.Sees,
    )
}  # fmt: skip
_RESULT = tuple(field.name for field in fields(TrialResult))


class Unsendable(TypeError):
    """A value that has no place in another interpreter."""


class Codec:
    """Writes and reads frames. `pickles`: both ends are of one interpreter, and values of any kind may travel. `tasks`:
    the configs of the run's tasks, to which descriptions of tasks belong. `trays`: where large arrays lie that are
    written, and that are read; None: they are sent."""

    def __init__(self, pickles: bool, tasks: Mapping[str, TaskCfg], trays: tuple[Tray, Tray] | None = None):
        self.pickles, self.tasks = pickles, tasks
        self._out, self._in = (None, None) if trays is None else trays

    # Writing ----------------------------------------------------------------------------------------------------------

    def pack(self, said: list[Any]) -> bytes:
        """A frame with these messages. Raises Unsendable, with what it is, for a value that cannot travel."""
        if len(said) == 1 and type(said[0]) is list and _NATURAL:
            return _SLOTS + array.array("H", said[0]).tobytes()
        if self._out is not None:
            self._out.clear()
        parts: list[Any] = []
        text = _encode([self._plain(one, parts) for one in said]).encode()
        if not parts:
            return _TEXT.pack(PLAIN, len(text)) + text
        pieces = [_TEXT.pack(PLAIN, len(text)), text]
        for part in parts:
            pieces += [_PART.pack(len(part)), part]
        return b"".join(pieces)

    def _plain(self, value: Any, parts: list[Any]) -> Any:
        kind = type(value)
        if value is None or kind in _AS_THEY_ARE:
            return value
        writer = _WRITERS.get(kind)
        if writer is not None:
            return writer(self, value, parts)
        if kind.__name__ in _MESSAGES and _MESSAGES[kind.__name__] is kind:
            return {"\0m": [kind.__name__, [self._plain(field, parts) for field in value]]}
        if isinstance(value, np.generic) and not value.dtype.hasobject and value.dtype.names is None:
            parts.append(value.tobytes())
            return {"\0s": [len(parts) - 1, value.dtype.str]}
        return self._other(value, parts)

    def _other(self, value: Any, parts: list[Any]) -> Any:
        if not self.pickles:
            name = f"{type(value).__module__}.{type(value).__qualname__}"
            raise Unsendable(
                f"a value of type {name} cannot be sent to another interpreter; expected numbers, text or arrays"
            )
        parts.append(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
        return {"\0o": len(parts) - 1}

    def _list(self, value: Any, parts: list[Any]) -> Any:
        return [self._plain(one, parts) for one in value]

    def _tuple(self, value: Any, parts: list[Any]) -> Any:
        return {"\0t": [self._plain(one, parts) for one in value]}

    def _dict(self, value: Any, parts: list[Any]) -> Any:
        if all(type(key) is str and key[:1] != "\0" for key in value):
            return {key: self._plain(one, parts) for key, one in value.items()}
        return {"\0d": [[self._plain(key, parts), self._plain(one, parts)] for key, one in value.items()]}

    def _array(self, value: Any, parts: list[Any]) -> Any:
        if value.dtype.hasobject or value.dtype.names is not None:
            return self._other(value, parts)
        if self._out is not None and value.nbytes >= LARGE:
            return {"\0y": [self._out.put(value), value.dtype.str, list(value.shape)]}
        parts.append(value.tobytes())
        return {"\0a": [len(parts) - 1, value.dtype.str, list(value.shape)]}

    def _bytes(self, value: Any, parts: list[Any]) -> Any:
        parts.append(value)
        return {"\0b": len(parts) - 1}

    def _outcome(self, value: Any, parts: list[Any]) -> Any:
        return {"\0m": ["Outcome", [value.value]]}

    def _trial(self, value: Any, parts: list[Any]) -> Any:
        return {"\0m": ["Trial", [value.agent, value.task, value.index, value.seed]]}

    def _result(self, value: Any, parts: list[Any]) -> Any:
        return {"\0m": ["TrialResult", [self._plain(getattr(value, name), parts) for name in _RESULT]]}

    def _task(self, value: Any, parts: list[Any]) -> Any:
        return {"\0m": ["Task", [self._plain(value.plain(), parts)]]}

    # Reading ----------------------------------------------------------------------------------------------------------

    def unpack(self, frame: memoryview) -> list[Any]:
        """The messages of a frame. Raises ValueError where it is none."""
        if len(frame) and frame[0] == SLOTS:
            slots = array.array("H")
            slots.frombytes(frame[1:])
            return [slots.tolist()]
        try:
            return self._read(frame)
        except (
            struct.error,
            KeyError,
            IndexError,
            TypeError,
            AttributeError,
            RecursionError,
            OverflowError,
            MemoryError,
            pickle.PickleError,
        ) as error:
            raise ValueError(f"no message of Proctor's: {type(error).__name__}: {error}") from error

    def _read(self, frame: memoryview) -> list[Any]:
        kind, length = _TEXT.unpack_from(frame, 0)
        if kind != PLAIN:
            raise ValueError(f"no message of Proctor's: kind {kind}")
        at = _TEXT.size + length
        text = bytes(frame[_TEXT.size : at]).decode()
        parts: list[memoryview] = []
        while at < len(frame):
            (size,) = _PART.unpack_from(frame, at)
            at += _PART.size
            if size > len(frame) - at:
                raise ValueError("no message of Proctor's: a part is longer than its frame")
            parts.append(frame[at : at + size])
            at += size
        found = json.loads(text, object_hook=lambda one: self._value(one, parts))
        if type(found) is not list:
            raise ValueError("no message of Proctor's: a frame holds a list")
        return found

    def _value(self, one: dict[str, Any], parts: list[memoryview]) -> Any:
        if len(one) != 1:
            return one
        (key,) = one
        reader = _READERS.get(key)
        return one if reader is None else reader(self, one[key], parts)

    def _read_array(self, said: Any, parts: list[memoryview]) -> Any:
        part, dtype, shape = said
        if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype)):
            raise ValueError("no message of Proctor's: an array of no plain type")
        kind = np.dtype(dtype)
        return np.frombuffer(bytearray(parts[part]), kind).reshape(shape)

    def _read_laid(self, said: Any, parts: list[memoryview]) -> Any:
        place, dtype, shape = said
        if self._in is None or not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype)):
            raise ValueError("no message of Proctor's: an array that lies nowhere")
        return self._in.get(place, np.dtype(dtype), shape)

    def _read_number(self, said: Any, parts: list[memoryview]) -> Any:
        return self._read_array([*said, []], parts)[()]

    def _read_other(self, said: Any, parts: list[memoryview]) -> Any:
        if not self.pickles:
            raise ValueError("no message of Proctor's: a pickle from another interpreter")
        return pickle.loads(parts[said])

    def _read_message(self, said: Any, parts: list[memoryview]) -> Any:
        name, values = said
        if name == "Task":
            return Task.from_plain(values[0], self.tasks)
        return _NAMED[name](*values)


_AS_THEY_ARE = frozenset({bool, int, float, str})
_WRITERS: dict[type, Callable[[Codec, Any, list[Any]], Any]] = {
    list: Codec._list, tuple: Codec._tuple, dict: Codec._dict, np.ndarray: Codec._array, bytes: Codec._bytes,
    Outcome: Codec._outcome, Trial: Codec._trial, TrialResult: Codec._result, Task: Codec._task,
}  # fmt: skip
_READERS: dict[str, Callable[[Codec, Any, list[memoryview]], Any]] = {
    "\0t": lambda codec, said, parts: tuple(said),
    "\0d": lambda codec, said, parts: {key: value for key, value in said},
    "\0a": Codec._read_array,
    "\0s": Codec._read_number,
    "\0b": lambda codec, said, parts: bytes(parts[said]),
    "\0o": Codec._read_other,
    "\0y": Codec._read_laid,
    "\0m": Codec._read_message,
}
_NAMED: dict[str, Callable[..., Any]] = {**_MESSAGES, "Outcome": Outcome, "Trial": Trial, "TrialResult": TrialResult}
