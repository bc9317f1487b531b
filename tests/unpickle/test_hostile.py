"""Files that were made to hurt their reader: they are refused, quickly, and the process lives on."""

from __future__ import annotations

import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from proctor.errors import InputError
from proctor.policies.normalize import read_vec_normalize
from proctor.unpickle import machine, read_pickle, read_torch_archive

DTYPE = b"cnumpy\ndtype\n(S'%s'\nI0\nI1\ntR(I3\nS'<'\nNNNI-1\nI-1\nI0\ntb"
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntC\x01btR"


def array(code: bytes, shape: bytes, data: bytes) -> bytes:
    return ARRAY + b"(I1\n(" + shape + b"t" + DTYPE % code + b"I00\n" + data + b"tb"


LYING_TYPE = (
    ARRAY
    + b"(I1\n(I4\ntcnumpy\ndtype\n(S'V8'\nI0\nI1\ntR(I3\nS'|'\nN(S'a'\nt(dS'a'\n(cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR"
    b"I0\ntsI8\nI1\nI0\ntbI00\nC\x20" + b"A" * 32 + b"tb."
)
"""A structured type whose one field is said to be an object: its bytes become pointers. It ended the process once."""

HOSTILE = {
    "a type that lies about its memory": (LYING_TYPE, "an array of the type 'V8'"),
    "objects made of bytes": (array(b"O8", b"I1\n", b"C\x08AAAAAAAA") + b".", "an array of objects with more or fewer"),
    "a type of many bytes by its state": (
        ARRAY + b"(I1\n(I1\ntcnumpy\ndtype\n(S'S1'\nI0\nI1\ntR(I3\nS'|'\nNNNI99999999\nI1\nI0\ntbI00\nC\x08AAAAAAAAtb.",
        "an array of 1 x 1 bytes with 8 bytes",
    ),
    "a type with fields by its state": (
        b"cnumpy\ndtype\n(S'f8'\nI0\nI1\ntR(I3\nS'<'\nN(S'a'\nt}I8\nI8\nI0\ntb.",
        "an array of a structured type",
    ),
    "a shape that is too large": (
        array(b"f8", b"I1000000\n", b"C\x08AAAAAAAA") + b".",
        "an array of 1000000 x 8 bytes",
    ),
    "a negative shape": (array(b"f8", b"I-1\nI-1\n", b"C\x08AAAAAAAA") + b".", "a shape that no array has"),
    "an endless shape of nothing": (array(b"S0", b"I999999999\n", b"C\x00") + b".", "an array of 999999999 x 0 bytes"),
    "text beyond all text": (array(b"U1", b"I1\n", b"C\x04\xff\xff\xff\x7f") + b".", "text that is no text"),
    "half a character": (b"V\\ud800\n.", "surrogates not allowed"),
    "an array without its numbers": (ARRAY + b".", "an array without its numbers"),
    "one array for many": (
        b"(lp0\n" + b"X\x00\x10\x00\x00" + b"A" * 4096 + b"p1\n0" + array(b"S1", b"I4096\n", b"g1\n") * 100 + b".",
        "several times more memory than its own size",
    ),
    "lists of lists of lists": (
        b"]q\x00" + b"".join(b"0](h%ch%ceq%c" % (i, i, i + 1) for i in range(60)) + b".",
        "it holds itself, or the same things over and over",
    ),
    "a list that holds itself twice": (b"]q\x00(h\x00h\x00e.", "it holds itself"),
    "a list that holds itself": (b"]q\x00h\x00a.", "nested more than 100 deep, or hold themselves"),
    "deep tuples": (b")" + b"\x85" * 100_000 + b".", "nested more than 100 deep"),
    "a deep key": (b"})" + b"\x85" * 100_000 + b"Ns.", "a tuple as a key"),
    "keys of one hash": (
        b"}(" + b"".join(b"L%dL\nN" % (i * (2**61 - 1)) for i in range(2, 20_000)) + b"u.",
        "a key that is a huge number",
    ),
    "a memo of a huge number": (b"Np2305843009213693951\n.", "a memo with the number"),
    "a number of many digits": (b"I" + b"9" * 100_000 + b"\n.", "4300 digits"),
    "a length beyond the file": (b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f.", "expected 9223372036854775807 bytes"),
    "a persistent id": (b"Pstorage\n.", "it uses PERSID"),
    "an extension": (b"\x82\x01.", "it uses EXT1"),
    "a buffer from elsewhere": (b"\x97.", "it uses NEXT_BUFFER"),
    "an object": (b"ccollections\nOrderedDict\n)\x81.", "makes an object of a class"),
    "a call of a value": (b"I1\n)R.", "a call of something that has no name"),
    "a state for a dict": (b"}}b.", "it gives a dict a state"),
    "bytes from a tuple": (b"c_codecs\nencode\n()tR.", "bytes from a tuple"),
    "joblib's array of objects": (
        b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}S'dtype'\n" + DTYPE % b"O8" + b"sb.",
        "an array of objects, saved by joblib",
    ),
    "joblib's array without its state": (b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81.", "without its numbers"),
    "joblib's array by a call": (b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)R.", "a class that is only named"),
    "nothing": (b"", "damaged"),
    "only marks": (b"((((.", "a mark in the place of a value"),
    "two values": (b"NN.", "it ends in the middle"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(tmp_path, name):
    data, reason = HOSTILE[name]
    (tmp_path / "x.pkl").write_bytes(data)
    with pytest.raises(InputError) as error:
        read_pickle(tmp_path / "x.pkl")
    assert reason in str(error.value)
    with zipfile.ZipFile(tmp_path / "x.pt", "w") as archive:
        archive.writestr("x/data.pkl", data)
    with pytest.raises(InputError) as error:
        read_torch_archive(tmp_path / "x.pt")
    assert reason in str(error.value)


def test_too_many_parts_are_refused(tmp_path, monkeypatch):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(list(range(300))))
    monkeypatch.setattr(machine, "OPCODES_MAX", 200)
    with pytest.raises(InputError, match="more than 200 parts; numbers should be in arrays"):
        read_pickle(tmp_path / "x.pkl")


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({}, "expected mean and var"),
        ({"obs_rms": [[]]}, "found a list; expected mean and var"),
        ({"norm_obs": np.ones(2)}, "expected mean and var"),
    ],
)
def test_a_vec_normalize_with_other_things_in_it_is_refused(tmp_path, state, reason):
    name = b"cstable_baselines3.common.vec_env\nVecNormalize\n)\x81"
    (tmp_path / "x.pkl").write_bytes(name + pickle.dumps(state, 2)[2:-1] + b"b.")
    with pytest.raises(InputError, match=reason):
        read_vec_normalize(tmp_path / "x.pkl")


def test_moments_that_are_nested_lists_are_refused(tmp_path):
    rms = b"cstable_baselines3.common.running_mean_std\nRunningMeanStd\n)\x81}(S'mean'\n](]]eS'var'\n]ub"
    name = b"cstable_baselines3.common.vec_env\nVecNormalize\n)\x81"
    (tmp_path / "x.pkl").write_bytes(name + b"}S'obs_rms'\n" + rms + b"sb.")
    with pytest.raises(InputError, match="mean is a list; expected numbers"):
        read_vec_normalize(tmp_path / "x.pkl")


def test_mutated_files_are_read_or_refused(tmp_path):
    """In a process of its own: what ends the process is seen."""
    program = Path(__file__).parents[1] / "support" / "mutated_pickles.py"
    warnings = ["-W", "error", "-W", "ignore::DeprecationWarning"]
    command = [sys.executable, *warnings, str(program), "1", "2000", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "'read': 0" not in done.stdout
