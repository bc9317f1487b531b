"""The machine that a pickle is a program for, reduced to what arrays and plain containers need.

The opcodes and their arguments are taken apart one by one by `pickletools.genops`, which runs nothing; joblib puts the
bytes of arrays between them, which are read from the file as they are met. A callable is only ever a
`Name`; to call it is to look it up in a table of our own (`proctor.unpickle.calls`).

What bounds a run: the number of opcodes; the bytes that arrays and the like are made of, together a multiple of the
file at most (one text may be named again and again); and, at the end, how much there is to walk through, since a list
that holds another one twice, which holds another one twice, is small in the file and endless to whoever reads it.
"""

from __future__ import annotations

import io
import pickletools
from typing import Any

import numpy as np

from proctor.unpickle.arrays import Pending, PendingJoblib
from proctor.unpickle.calls import CALLS, JOBLIB_ARRAY, Inert, Name
from proctor.unpickle.limits import Budget, Forbidden, as_dict, as_key, as_text

OPCODES_MAX = 5_000_000
WALK_MAX = 1_000_000
DEPTH_MAX = 100
_MEMO_MAX = 2**32
_MARK: Any = object()
_NO_ARGUMENT = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": (), "MARK": _MARK}
_EMPTY = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set}
_LITERALS = frozenset(
    {
        "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
        "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "UNICODE", "SHORT_BINUNICODE",
        "BINUNICODE", "BINUNICODE8",
    }
)  # fmt: skip


class Machine:
    """One run of one pickle. Classes and functions of the packages `inert` are accepted and give `Inert`."""

    def __init__(self, data: bytes, inert: tuple[str, ...] = ()):
        self._file, self._inert = io.BytesIO(data), inert
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._budget = Budget(4 * len(data) + 4096)

    def run(self) -> Any:
        """What the pickle holds. Raises Forbidden for what is never read; ArithmeticError, LookupError, TypeError or
        ValueError for what is damaged."""
        count = 0
        for opcode, argument, _ in pickletools.genops(self._file):
            count += 1
            if count > OPCODES_MAX:
                raise Forbidden(f"it has more than {OPCODES_MAX:,} parts; numbers should be in arrays")
            name = opcode.name
            if name in _LITERALS:
                self._push(as_text(argument) if isinstance(argument, str) else argument)
            elif name in _NO_ARGUMENT:
                self._push(_NO_ARGUMENT[name])
            elif name in _EMPTY:
                self._push(_EMPTY[name]())
            else:
                self._step(name, argument)
        found = self._pop()
        if self._stack:
            raise ValueError("it ends in the middle")
        check_walk(found, WALK_MAX + 4 * count)
        return found

    def _step(self, name: str, argument: Any) -> None:
        """Do what an opcode says that is more than a value."""
        match name:
            case "MEMOIZE":
                self._put(len(self._memo))
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self._put(argument)
            case "GET" | "BINGET" | "LONG_BINGET":
                self._push(self._memo[argument])
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                self._push(tuple(reversed([self._pop() for _ in range(int(name[-1]))])))
            case "TUPLE":
                self._push(tuple(self._pop_to_mark()))
            case "LIST":
                self._push(self._pop_to_mark())
            case "DICT":
                self._push(_paired(self._pop_to_mark()))
            case "FROZENSET":
                self._push(frozenset(map(as_key, self._pop_to_mark())))
            case "APPEND":
                self._extend([self._pop()])
            case "APPENDS" | "ADDITEMS":
                self._extend(self._pop_to_mark())
            case "SETITEM":
                value, key = self._pop(), self._pop()
                self._update([key, value])
            case "SETITEMS":
                self._update(self._pop_to_mark())
            case "POP":
                self._stack.pop()
            case "POP_MARK":
                self._pop_to_mark()
            case "DUP":
                self._push(self._top())
            case "PROTO" | "FRAME" | "STOP":
                pass
            case _:
                self._call_step(name, argument)

    def _call_step(self, name: str, argument: Any) -> None:
        """Do what an opcode says that names something, calls it, or gives an object its state."""
        match name:
            case "GLOBAL":
                self._push(self._named(*argument.split(" ", 1)))
            case "STACK_GLOBAL":
                attribute, module = self._pop(), self._pop()
                self._push(self._named(module, attribute))
            case "REDUCE":
                arguments, function = self._pop(), self._pop()
                self._push(self._called(function, arguments))
            case "NEWOBJ":
                self._pop()
                self._push(self._object(self._pop()))
            case "NEWOBJ_EX":
                for _ in ("keyword arguments", "arguments"):
                    self._pop()
                self._push(self._object(self._pop()))
            case "BUILD":
                self._build(self._pop())
            case _:
                raise Forbidden(f"it uses {name}, which arrays and plain containers do not need")

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        value = self._top()
        self._stack.pop()
        return value

    def _top(self) -> Any:
        if self._stack[-1] is _MARK:
            raise ValueError("a mark in the place of a value")
        return self._stack[-1]

    def _pop_to_mark(self) -> list[Any]:
        items = []
        while (value := self._stack.pop()) is not _MARK:
            items.append(value)
        return items[::-1]

    def _put(self, index: int) -> None:
        if not 0 <= index < _MEMO_MAX:
            raise ValueError(f"a memo with the number {index}")
        value = self._memo[index] = self._top()
        if isinstance(value, Pending):
            value.memo.append(index)

    def _extend(self, items: list[Any]) -> None:
        owner = self._top()
        if isinstance(owner, list):
            owner += items
        elif isinstance(owner, set):
            owner |= {as_key(item) for item in items}
        elif not isinstance(owner, Inert):
            raise TypeError(f"items for a {type(owner).__name__}")

    def _update(self, items: list[Any]) -> None:
        owner = self._top()
        if isinstance(owner, dict):
            owner.update(_paired(items))
        elif not isinstance(owner, Inert):
            raise TypeError(f"keys for a {type(owner).__name__}")

    def _named(self, module: Any, attribute: Any) -> Name:
        if not isinstance(module, str) or not isinstance(attribute, str):
            raise TypeError("a name that is no text")
        name = Name.of(module, attribute)
        if name not in CALLS and not self._is_inert(name):
            raise Forbidden(f"it names {module}.{attribute}, which could run code")
        return name

    def _is_inert(self, name: Name) -> bool:
        return any(name.module == package or name.module.startswith(package + ".") for package in self._inert)

    def _called(self, function: Any, arguments: Any) -> Any:
        if not isinstance(function, Name) or not isinstance(arguments, tuple):
            raise TypeError("a call of something that has no name")
        return CALLS[function](self._budget, *arguments) if function in CALLS else Inert(function)

    def _object(self, kind: Any) -> Inert | PendingJoblib:
        if kind == JOBLIB_ARRAY:
            return PendingJoblib(self._file)
        if not isinstance(kind, Name) or not self._is_inert(kind):
            raise Forbidden("it makes an object of a class, which could run code")
        return Inert(kind)

    def _build(self, state: Any) -> None:
        """Give the top of the stack its state."""
        owner = self._top()
        if isinstance(owner, Inert):
            owner.state = state if isinstance(state, dict) else {}
        elif isinstance(owner, Pending):
            made = owner.built(self._budget, state)
            self._stack[-1] = made
            self._memo.update(dict.fromkeys(owner.memo, made))
            owner.memo.clear()
        else:
            raise Forbidden(f"it gives a {type(owner).__name__} a state, which could run code")


def _paired(items: list[Any]) -> dict[Any, Any]:
    if len(items) % 2:
        raise ValueError("a key without a value")
    return as_dict(zip(items[::2], items[1::2], strict=True))


def check_walk(found: Any, limit: int) -> None:
    """Raises Forbidden where walking through all containers, each as often as it is met, takes more than `limit` steps
    or goes deeper than data does; ValueError where an array was not finished."""
    level: list[Any] = [found]
    for _ in range(DEPTH_MAX):
        deeper: list[Any] = []
        for value in level:
            if isinstance(value, list | tuple | set | frozenset):
                deeper += value
            elif isinstance(value, dict):
                deeper += value.values()
            elif isinstance(value, np.ndarray) and value.dtype.hasobject:
                deeper += value.ravel().tolist()
            elif isinstance(value, Pending | Name):
                raise ValueError("an array without its numbers")
            if len(deeper) > limit:
                raise Forbidden("it holds itself, or the same things over and over")
        limit -= len(deeper)
        if not deeper:
            return
        level = deeper
    raise Forbidden(f"its containers are nested more than {DEPTH_MAX} deep, or hold themselves")
