"""Pickles that were made to hurt their reader: real ones with bytes or values changed, and random programs for its
machine.

As a program (`python mutated_pickles.py SEED COUNT FOLDER`) it reads so many of them with every reader of pickles that
Proctor has. A reader may give a value or raise InputError; anything else ends the program with a traceback or a signal.
"""

from __future__ import annotations

import collections
import io
import pickle
import random
import resource
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib_files
import numpy as np

_MOTION = {
    "root_pos": np.zeros((4, 3)),
    "root_rot": np.tile([0.0, 0, 0, 1], (4, 1)),
    "dof_pos": np.zeros((4, 2), np.float32),
    "fps": 30,
    "joint_names": np.array(["hip", "knee"]),
}
_POSES = {"root_trans_offset": np.zeros((4, 3)), "pose_aa": np.ones((4, 3, 3), np.float32), "fps": 30}
_VISUALS = {"chop": {"instruction": "chop a tree", "success_visual_embeds": [np.ones(4), np.ones(4)]}}
_STATES = np.arange(6.0).reshape(2, 3)
_ODD = [collections.OrderedDict(a={1, (2, "x")}, b=frozenset("c")), b"\xff", bytearray(b"x"), np.float32(1), 2j, 2**80]
VALUES = (
    _MOTION,
    _POSES,
    _VISUALS,
    _STATES,
    _ODD,
    np.array(["a", None, _ODD], object),
    np.ones((2, 3, 2)).transpose(1, 2, 0),
)
_NOBODY_EXPECTS = (
    None, True, -1, 2**80, 1e308, float("nan"), "", "text", b"\xff", 1j, [], [[1], [2, 3]], [[[]]], {"a": []}, (), {1},
    np.nan, np.zeros(0), np.zeros((2, 0)), np.array("x"), np.array([None, "a"], object), np.array([b"x"]),
    np.arange(6) > 2,
    np.full((4, 3), np.inf), np.zeros((4, 3), np.complex128), np.zeros((1, 1, 1, 1)), np.float16(1), np.str_("s"),
)  # fmt: skip
_FRAGMENTS = (
    b"cnumpy\ndtype\n", b"cnumpy\nndarray\n", b"cnumpy.core.multiarray\n_reconstruct\n", b"c_codecs\nencode\n",
    b"cnumpy.core.multiarray\nscalar\n", b"cnumpy._core.numeric\n_frombuffer\n", b"ccollections\nOrderedDict\n",
    b"cbuiltins\nset\n", b"cbuiltins\nbytearray\n", b"cgymnasium.spaces\nBox\n", b"cos\nsystem\n",
    b"(", b"t", b"l", b"d", b"e", b"u", b"R", b"b", b"o", b"0", b"1", b"2", b"a", b"s", b"}", b"]", b")", b"N",
    b"\x81", b"\x85", b"\x86", b"\x87", b"\x8f", b"\x90", b"\x91", b"\x92", b"\x93", b"\x94", b"\x88", b"\x89",
    b"I0\n", b"I1\n", b"I3\n", b"I-1\n", b"I4611686018427387904\n", b"L99999999999999999999999L\n", b"K\x10",
    b"F1e400\n",
    b"S'f8'\n", b"S'O8'\n", b"S'U4'\n", b"S'V8'\n", b"S'<'\n", b"S'|'\n", b"S'latin1'\n", b"Vabcdefgh\n",
    b"V\\ud800\n",
    b"C\x08ABCDEFGH", b"C\x00", b"h\x00", b"h\x01", b"q\x00", b"q\x01", b"p99999999999999999999\n",
    b"(cnumpy\ndtype\n(S'f8'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb",
    b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntC\x01btR",
)  # fmt: skip


def mutants(seed: int, count: int) -> Iterator[bytes]:
    """`count` files as bytes, the same for the same seed."""
    rng = random.Random(seed)
    originals = [pickle.dumps(value, protocol) for value in VALUES for protocol in range(6)]
    originals += [joblib_files.dumps(value, aligned) for value in VALUES for aligned in (True, False)]
    for _ in range(count):
        kind = rng.randrange(3)
        if kind == 0:
            yield b"".join(rng.choices(_FRAGMENTS, k=rng.randrange(1, 40))) + b"."
        elif kind == 1:
            yield pickle.dumps(_odd(rng, rng.choice(VALUES)), rng.randrange(6))
        else:
            yield _with_other_bytes(rng, rng.choice(originals), originals)


def _odd(rng: random.Random, value: Any) -> Any:
    """The value with some of its parts replaced by what nobody expects there."""
    if rng.random() < 0.2:
        return rng.choice(_NOBODY_EXPECTS)
    if isinstance(value, dict):
        return {rng.choice((key, key, key, 3, b"k", None)): _odd(rng, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_odd(rng, item) for item in value]
    return value


def _with_other_bytes(rng: random.Random, original: bytes, others: list[bytes]) -> bytes:
    data = bytearray(original)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(data))
        kind = rng.randrange(8)
        if kind == 0:
            del data[at : at + rng.choice((1, 2, 8))]
        elif kind == 1:
            data[at:at] = rng.choice(_FRAGMENTS)
        elif kind == 2:
            other = rng.choice(others)
            start = rng.randrange(len(other))
            data[at:at] = other[start : start + rng.randrange(40)]
        else:
            data[at] = rng.randrange(256)
    return bytes(data)


def main(seed: int, count: int, folder: Path) -> None:
    from proctor.errors import InputError
    from proctor.policies.normalize import read_vec_normalize
    from proctor.suites.goals.older import read_grouped_pickle
    from proctor.suites.libero.installation import read_states
    from proctor.suites.tracking.motions.options import MotionOptions
    from proctor.suites.tracking.motions.readers import read_motions

    resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
    path, archive = folder / "mutant.pkl", folder / "mutant.pruned_init"
    robot: Any = SimpleNamespace(description=SimpleNamespace(n_joints=2))
    readers = (
        lambda: read_motions(path, robot, MotionOptions()),
        lambda: read_grouped_pickle(path, "space"),
        lambda: read_vec_normalize(path),
        lambda: read_states(archive),
    )
    outcomes = {"read": 0, "refused": 0}
    for data in mutants(seed, count):
        path.write_bytes(data)
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as zipped:
            zipped.writestr("archive/data.pkl", data)
        archive.write_bytes(packed.getvalue())
        for read in readers:
            try:
                read()
                outcomes["read"] += 1
            except InputError:
                outcomes["refused"] += 1
    print(outcomes)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
