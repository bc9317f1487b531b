"""The wire format: what goes in comes out, and what openpi's own client writes and reads is the same."""

from __future__ import annotations

import contextlib
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from proctor.network.wire import WireError, as_array, decode, encode

msgpack = pytest.importorskip("msgpack", reason="the extra `remote` is not installed")

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


def scalar_map(dtype: str, data: object) -> bytes:
    return msgpack.packb({b"__npgeneric__": True, b"dtype": dtype, b"data": data})


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (scalar_map("|S3000000000", 3_000_000_000), "expected one of numpy's"),
        (scalar_map("|S", 1 << 40), "with int data"),
        (scalar_map("<U9", 1 << 40), "with int data"),
        (scalar_map("<f8", "1" * 10), "with str data"),
        (scalar_map("<M8[s]", 3), "with int data"),
        (array_map(dtype="|S0", shape=[10**15], data=b""), "found 0 bytes for an array"),
        (array_map(dtype="f8," * 100_000), "expected one of numpy's"),
        (array_map(dtype="(1000000000,)f8"), "expected one of numpy's"),
        (b"\xdd\xff\xff\xff\xff", "are no msgpack message"),
        (b"\xdd\x00\x00\x10\x01" * 1000 + b"\0" * 5000, "are no msgpack message"),
        (b"\xdc\x03\xff" + (b"\xdc\x0f\xff" + b"\x90" * 4095) * 1023, "more than 1,000,000 values"),
    ],
)  # fmt: skip
def test_a_frame_s_word_for_a_size_is_not_believed(frame: bytes, text: str) -> None:
    with pytest.raises(WireError, match=text):
        peak_of(frame)
    assert peak_of.last < 128 * len(frame) + (1 << 20)


PIECES = st.sampled_from(
    [
        b"\xdd\x00\x00\x0f\xff", b"\xdf\x7f\xff\xff\xff", b"\xdc\x0f\xff", b"\x91", b"\x81", b"\x90",
        b"\xc6\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff", b"\xc9\xff\xff\xff\xff\x01",
        b"\xcf" + b"\xff" * 8, b"\xc4\x0b__ndarray__",
        b"\xc4\x0d__npgeneric__", b"\xc3", b"\xc4\x04data", b"\xc4\x05dtype", b"\xa3<f8", b"\xa2|S", b"\xc4\x05shape",
    ]
)  # fmt: skip
"""Pieces of frames, and lengths that lie."""


@settings(deadline=None)
@given(st.lists(PIECES | st.binary(max_size=4), max_size=40).map(b"".join))
def test_what_is_allocated_is_bounded_by_the_frame(frame: bytes) -> None:
    with contextlib.suppress(WireError):
        peak_of(frame)
    assert peak_of.last < (1 << 21)  # 40 lists of 4096 entries at the most


class _Peak:
    """Decodes a frame and keeps how many bytes were allocated at once."""

    last = 0

    def __call__(self, frame: bytes) -> None:
        tracemalloc.start()
        try:
            decode(frame)
        finally:
            self.last = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()


peak_of = _Peak()


@pytest.mark.parametrize("value", ["text", ["a" * 1000, "b"], [[1, "2"]], {"a": 1}, [[1], [1, 2]], None, b"1"])
def test_what_is_no_array_is_refused_before_numpy_sees_it(value: object) -> None:
    with pytest.raises(WireError):
        as_array(value)


@pytest.mark.parametrize("value", [1, 2.5, True, [1, 2], [[1.5], [2]], np.float32(3), np.arange(3), [np.arange(2)]])
def test_numbers_are_arrays(value: object) -> None:
    np.testing.assert_array_equal(as_array(value), np.asarray(value))


@settings(deadline=None)
@given(st.binary(max_size=64))
def test_no_bytes_break_the_reader(frame: bytes) -> None:
    with contextlib.suppress(WireError):
        decode(frame)
