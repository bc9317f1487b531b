"""Mutations of values, texts and files, all drawn from one seeded generator."""

from __future__ import annotations

import copy
import io
import json
import random
import zipfile
from collections.abc import Callable
from typing import Any

HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.0, -0.0, 1e308, 1e-320, float("nan"),
    float("inf"), "", " ", "nan", "null", "0x_", "1e999", "../../etc/passwd", "/dev/zero", "/proc/self/mem", "a/b",
    "a\x00b", "\u202e", "=1+1", "<script>alert(1)</script>", "javascript:alert(1)", "nowhere:Nothing", "json:loads",
    "*", "[", "{", "%s%n", "🤖",
    "x" * 5000, [], {}, [[]], [None], {"": None}, {"a": {"a": {"a": {}}}}, list(range(50)), ["a", "a"], {"name": "a"},
]  # fmt: skip

HOSTILE_TEXTS = [
    "\x00", "\x07", "\t", "\ufeff", "&a [*a]", "*a", "<<: *a", "!!int foo", "!!bool foo", "!!binary x", "!!set {a, b}",
    "!!python/object:os.system x", "!!timestamp 9999-99-99", "0x_", "9" * 4301, '"\\U00110000"', "[" * 500,
    "{" * 200, "? ", "- - - -", "|", ">", "%YAML 9.9\n---\n", "---\n", "...\n", "2001-01-01", "1:30:00", ".inf",
    "-.inf", ".nan", "~",
    "'", '"', ": ", "#", "@", "`", "\u2028", "\r", "1_000", "0o17", "0b1", "&a", "!!merge x",
]  # fmt: skip


def mutate_value(rng: random.Random, value: Any, names: list[str]) -> Any:
    """A copy in which one place is another: replaced, removed, renamed, doubled, wrapped, or added to."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places:
        return rng.choice(HOSTILE)
    holder, key = rng.choice(places)
    deed = rng.randrange(6)
    if deed <= 1:
        holder[key] = copy.deepcopy(rng.choice(HOSTILE))
    elif deed == 2:
        del holder[key]
    elif deed == 3 and isinstance(holder, dict):
        holder[rng.choice([*names, "", "x", 1, None, True])] = holder.pop(key)
    elif deed == 4:
        holder[key] = rng.choice([[holder[key]], {"name": holder[key]}, str(holder[key]), [holder[key]] * 2])
    elif isinstance(holder, dict):
        holder[rng.choice(names)] = copy.deepcopy(rng.choice(HOSTILE))
    else:
        holder.insert(key, copy.deepcopy(rng.choice(HOSTILE)))
    return value


def _places(value: Any) -> Any:
    """Every (container, key) in a tree of dicts and lists."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in pairs:
        yield value, key
        yield from _places(part)


def mutate_text(rng: random.Random, text: str) -> str:
    """Another text: something hostile put in, a piece cut out, lines moved or doubled."""
    at = rng.randrange(len(text) + 1)
    lines = text.splitlines(keepends=True)
    match rng.randrange(5):
        case 0:
            return text[:at] + rng.choice(HOSTILE_TEXTS) + text[at:]
        case 1:
            return text[:at] + text[min(len(text), at + rng.randrange(1, 40)) :]
        case 2 if lines:
            return "".join([*lines, rng.choice(lines)])
        case 3 if lines:
            rng.shuffle(lines)
            return "".join(lines)
        case _:
            return (
                text[:at]
                + chr(rng.randrange(0x110000 if rng.random() < 0.2 else 128))
                .encode("utf-8", "replace")
                .decode("utf-8", "replace")
                + text[at + 1 :]
            )


def mutate_bytes(rng: random.Random, content: bytes) -> bytes:
    """Another file: bits turned, bytes set, pieces cut, doubled, moved, or numbers blown up."""
    found = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5, 30])):
        if not found:
            break
        at, length = rng.randrange(len(found)), rng.randrange(1, 1 + min(64, len(found)))
        match rng.randrange(7):
            case 0:
                found[at] ^= 1 << rng.randrange(8)
            case 1:
                found[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
            case 2:
                del found[at : at + length]
            case 3:
                found[at:at] = found[at : at + length]
            case 4:
                found[at : at + 4] = rng.choice(
                    [b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80"]
                )
            case 5:
                found[at : at + length] = rng.randbytes(length)
            case _ if rng.random() < 0.3:
                del found[at:]
            case _:
                found[at : at + 8] = rng.randrange(2**63).to_bytes(8, rng.choice(["little", "big"]))
    return bytes(found)


def mutate_zip(rng: random.Random, content: bytes) -> bytes:
    """An archive that is whole, one member of which is another: damage that no checksum tells."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    name = rng.choice(list(members))
    match rng.randrange(5):
        case 0:
            members.pop(name)
        case 1:
            members[rng.choice(["../../escape", "/tmp/escape", " ", name + "/x", name.upper()])] = members.pop(name)
        case 2:
            other = rng.choice(list(members))
            members[name], members[other] = members[other], members[name]
        case _:
            members[name] = mutate_bytes(rng, members[name])
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return target.getvalue()


def mutate_json(rng: random.Random, content: bytes) -> bytes:
    value = mutate_value(rng, json.loads(content), ["name", "trials", "agents", "sessions", "tasks"])
    return json.dumps(value).encode()


def by_ending(name: str) -> list[Callable[[random.Random, bytes], bytes]]:
    """The mutations that suit a file of this name."""
    special = {"npz": mutate_zip, "zip": mutate_zip, "pt": mutate_zip, "json": mutate_json}
    ending = name.rpartition(".")[2]
    return [mutate_bytes, special[ending]] if ending in special else [mutate_bytes]
