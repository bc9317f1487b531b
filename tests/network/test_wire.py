"""The wire format: what goes in comes out, and what openpi's own client writes and reads is the same."""

from __future__ import annotations

import contextlib

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor.network.wire import WireError, decode, encode

DTYPES = st.one_of(
    arrays.boolean_dtypes(), arrays.integer_dtypes(), arrays.unsigned_integer_dtypes(),
    arrays.floating_dtypes(sizes=(16, 32, 64)),
    arrays.byte_string_dtypes(max_len=5), arrays.unicode_string_dtypes(max_len=5),
)  # fmt: skip
ARRAYS = arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@settings(deadline=None)
@given(ARRAYS)
def test_an_array_comes_back_to_the_byte_and_read_only(array: np.ndarray) -> None:
    back = decode(encode({"observation/x": array}))["observation/x"]
    assert same(back, array)
    assert not back.flags.writeable


@settings(deadline=None)
@given(ARRAYS)
def test_openpi_reads_what_we_write_and_writes_what_we_read(array: np.ndarray) -> None:
    theirs = pytest.importorskip("openpi_client.msgpack_numpy", reason="openpi-client is not installed")
    message = {"image": array, "deep": [{"state": array}], "prompt": "pick it up", "n": 3}
    assert encode(message) == theirs.packb(message)
    ours, other = decode(theirs.packb(message)), theirs.unpackb(encode(message))
    assert same(ours["deep"][0]["state"], other["deep"][0]["state"])
    assert ours["prompt"] == other["prompt"] == "pick it up"


@pytest.mark.parametrize("scalar", [np.float32(0.1), np.int64(-3), np.uint8(7), np.bool_(True)])
def test_scalars_keep_their_dtype(scalar: np.generic) -> None:
    back = decode(encode({"x": scalar}))["x"]
    assert (type(back), back) == (type(scalar), scalar)


def test_a_float64_scalar_is_a_plain_float() -> None:
    assert encode(np.float64(0.1)) == msgpack.packb(0.1)
    assert type(decode(encode(np.float64(0.1)))) is float


def test_keys_are_bytes() -> None:
    raw = msgpack.unpackb(encode(np.arange(3, dtype=np.int16)))
    assert raw == {
        b"__ndarray__": True,
        b"data": np.arange(3, dtype=np.int16).tobytes(),
        b"dtype": "<i2",
        b"shape": [3],
    }


def test_a_view_is_sent_in_c_order() -> None:
    array = np.arange(12).reshape(3, 4).T[::2]
    assert same(decode(encode(array)), np.ascontiguousarray(array))


@pytest.mark.parametrize(
    "array", [np.array([object()]), np.zeros(2, "V3"), np.zeros(2, complex), np.complex64(1), np.zeros(1, "i4,f4")]
)
def test_object_void_and_complex_are_refused(array: np.ndarray) -> None:
    with pytest.raises(WireError, match="object, void and complex arrays are not sent"):
        encode({"x": array})


def test_other_objects_are_refused_by_name() -> None:
    with pytest.raises(WireError, match="cannot be sent: found a set; expected numbers"):
        encode({"x": {1, 2}})


def array_map(**changes: object) -> bytes:
    found = {"__ndarray__": True, "data": b"\0" * 8, "dtype": "<f8", "shape": [1]} | changes
    return msgpack.packb({key.encode(): value for key, value in found.items() if value is not None})


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (b"", "found 0 bytes that are no msgpack message"),
        (b"\xc1garbage", "are no msgpack message"),
        (array_map(dtype="|O"), "dtype object"),
        (array_map(dtype="os.system"), "dtype 'os.system'; expected one of numpy's"),
        (array_map(dtype=None), "dtype None"),
        (array_map(shape=[3]), r"found 8 bytes for an array of shape \[3\] and dtype float64"),
        (array_map(shape=[-1]), r"shape \[-1\]; expected whole numbers"),
        (array_map(shape=[1 << 62, 1 << 62]), "found 8 bytes for an array"),
        (array_map(data=None), "an array without data and shape"),
        (array_map(shape=None), "an array without data and shape"),
        (b"\x91" * 2000, "are no msgpack message"),
    ],
)  # fmt: skip
def test_frames_that_are_none_are_refused(frame: bytes, text: str) -> None:
    with pytest.raises(WireError, match=text):
        decode(frame)


@settings(deadline=None)
@given(st.binary(max_size=64))
def test_no_bytes_break_the_reader(frame: bytes) -> None:
    with contextlib.suppress(WireError):
        decode(frame)
