"""Arrays on disk: what is written is read back, the same arrays make the same bytes, and a name means a whole file."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from proctor.foreign import read_npz
from proctor_host import npz
from proctor_host.episode import digest
from proctor_host.npz import pack_npz, write_npz

dtypes = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="?")
    | hnp.unsigned_integer_dtypes(endianness="?")
    | hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64))
    | hnp.complex_number_dtypes()
    | hnp.unicode_string_dtypes()
    | hnp.byte_string_dtypes()
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
labels = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="/\\:"),
    min_size=1,
    max_size=12,
)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(labels, arrays, max_size=4))
def test_what_is_written_is_read_back_here_and_by_numpy(
    tmp_path_factory: pytest.TempPathFactory, written: dict[str, np.ndarray]
) -> None:
    path = tmp_path_factory.mktemp("npz") / "a.npz"
    write_npz(path, written)
    read = read_npz(path)
    assert read.keys() == written.keys()
    assert all(same(read[name], written[name]) for name in written)
    with np.load(path, allow_pickle=False) as loaded:
        assert set(loaded.files) == set(written)
        assert all(same(loaded[name], written[name]) for name in written)


@given(arrays, arrays)
def test_the_same_arrays_make_the_same_bytes_in_whatever_order(a: np.ndarray, b: np.ndarray) -> None:
    assert pack_npz({"a": a, "b": b}) == pack_npz({"b": b.copy(), "a": a.copy()})


def test_how_an_array_lies_in_memory_leaves_no_trace() -> None:
    a = np.arange(12.0).reshape(3, 4)
    for other in (np.asfortranarray(a), np.repeat(a, 2, axis=0)[::2]):
        assert pack_npz({"a": other}) == pack_npz({"a": a})


def test_large_arrays_are_deflated_and_read_back(tmp_path: Path) -> None:
    frames = np.zeros((64, 64, 64), np.uint8)
    frames[3] = 7
    write_npz(tmp_path / "a.npz", {"frames": frames})
    assert (tmp_path / "a.npz").stat().st_size < frames.nbytes / 20
    assert same(read_npz(tmp_path / "a.npz")["frames"], frames)


def test_the_names_in_the_zip_are_checked_by_anyone(tmp_path: Path) -> None:
    write_npz(tmp_path / "a.npz", {"b": np.zeros(3), "a": np.zeros(9000)})
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["a.npy", "b.npy"]


def test_a_crash_before_the_rename_leaves_no_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, crash)
            with pytest.raises(KeyboardInterrupt):
                write_npz(tmp_path / "a.npz", {"a": np.zeros(3)})
        assert not (tmp_path / "a.npz").exists()
    write_npz(tmp_path / "a.npz", {"a": np.ones(2)})
    assert [p.name for p in tmp_path.iterdir()] == ["a.npz"], "what the crash left is written over"
    assert same(read_npz(tmp_path / "a.npz")["a"], np.ones(2))


def test_an_interrupted_rewrite_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_npz(tmp_path / "a.npz", {"a": np.zeros(3)})
    monkeypatch.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        write_npz(tmp_path / "a.npz", {"a": np.ones(3)})
    monkeypatch.undo()
    assert same(read_npz(tmp_path / "a.npz")["a"], np.zeros(3))


def test_objects_and_giants_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="dtype object cannot be recorded; record numbers"):
        pack_npz({"a": np.array([{}, {}])})

    class Giant(bytes):
        def __len__(self) -> int:
            return 2**31

    monkeypatch.setattr(npz, "_npy", lambda _: Giant())
    with pytest.raises(ValueError, match='array "a" of 2147483648 bytes is too large for one record'):
        pack_npz({"a": np.zeros(1)})


@pytest.mark.parametrize("cut", [0, 1, 40, -1, -30])
def test_half_a_file_is_no_file(tmp_path: Path, cut: int) -> None:
    data = pack_npz({"a": np.arange(5000.0)})
    (tmp_path / "a.npz").write_bytes(data[:cut])
    with pytest.raises(ValueError, match="not a whole npz file"):
        read_npz(tmp_path / "a.npz")


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    data = bytearray(pack_npz({"a": np.arange(50.0)}))
    data[200] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(ValueError, match="Bad CRC-32"):
        read_npz(tmp_path / "a.npz")


# Digests ---------------------------------------------------------------------------------------------------


@given(arrays, arrays)
def test_a_digest_tells_arrays_apart_to_the_byte(a: np.ndarray, b: np.ndarray) -> None:
    assert (digest({"x": a}) == digest({"x": b})) == same(a, b)
    assert digest({"x": a, "y": b}) == digest({"y": b, "x": a})
    assert digest({"x": a, "y": b}) != digest({"x": a})


def test_names_dtypes_shapes_and_bytes_all_count() -> None:
    base = np.arange(4, dtype=np.int64)
    others = [
        {"y": base},
        {"x": base.astype(np.uint64)},
        {"x": base.astype(">i8")},
        {"x": base.view(np.float64)},
        {"x": base.reshape(2, 2)},
        {"x": base[::-1]},
        {"x": base, "y": base},
        {},
    ]
    assert len({digest(arrays) for arrays in [{"x": base}, *others]}) == len(others) + 1


@given(hnp.arrays(np.float64, st.integers(1, 9)), st.data())
def test_one_bit_is_enough(a: np.ndarray, data: st.DataObject) -> None:
    flipped = bytearray(a.tobytes())
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert digest({"x": np.frombuffer(flipped, np.float64)}) != digest({"x": a})


def test_zeros_of_both_signs_and_two_kinds_of_nan_are_different_bytes() -> None:
    assert digest({"x": np.array([0.0])}) != digest({"x": np.array([-0.0])})
    quiet = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
    assert digest({"x": quiet[:1]}) != digest({"x": quiet[1:]})


def test_what_does_not_shrink_is_stored_as_it_is(tmp_path: Path) -> None:
    arrays = {"noise": np.random.default_rng(0).standard_normal(50_000), "zeros": np.zeros(50_000)}
    write_npz(tmp_path / "a.npz", arrays)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        kinds = {info.filename: info.compress_type for info in archive.infolist()}
    assert kinds == {"noise.npy": zipfile.ZIP_STORED, "zeros.npy": zipfile.ZIP_DEFLATED}
    assert all(np.array_equal(found, arrays[name]) for name, found in read_npz(tmp_path / "a.npz").items())
