"""Files from somebody else: what is small on disk does not become large, and what lies about itself is refused."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from proctor import foreign
from proctor.errors import InputError
from proctor.foreign import check_weights, read_json, read_npz
from proctor.policies.sb3_archive import read_archive

GIB = 1024**3


def bomb(path: Path, name: str, size: int, *others: str) -> Path:
    """A zip with a member of `size` zeros, which take a thousandth of that on disk."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(name, "w", force_zip64=True) as member:
            for _ in range(0, size, 1 << 24):
                member.write(bytes(1 << 24))
        for other in others:
            archive.writestr(other, b"{}")
    return path


@pytest.fixture(scope="module")
def zeros(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bomb(tmp_path_factory.mktemp("zip") / "model.zip", "data", GIB // 4, "policy.pth")


def header(descr: str, shape: tuple[int, ...]) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def npz_of(path: Path, member: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", member)
    return path


def test_a_model_that_unpacks_to_a_hundred_times_its_size_is_refused(zeros):
    tracemalloc.start()
    with pytest.raises(InputError, match=r"is no SB3 model: it holds 268,435,\d+ bytes of data; expected at most 67,"):
        read_archive(zeros)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_so_are_weights_and_an_open_file_is_left_at_its_beginning(zeros, tmp_path):
    with zeros.open("rb") as file, pytest.raises(ValueError, match="expected at most"):
        check_weights(file)
    plain = npz_of(tmp_path / "plain.zip", b"x" * 100)
    with plain.open("rb") as file:
        check_weights(file)
        assert file.tell() == 0


def test_torch_is_not_given_such_a_file(zeros):
    pytest.importorskip("torch")
    from proctor.policies.torch_tools import read_weights

    with pytest.raises(InputError, match=r"model.zip is not read as weights: it holds 268,"):
        read_weights(zeros, str(zeros), "cpu")


@pytest.mark.parametrize(
    ("descr", "shape"),
    [("<f8", (10**12,)), ("<f8", (2**62, 4)), ("|S0", (10**15,)), ("|S1000000000", (100,)), ("<f8", (3,))],
)
def test_nothing_is_allocated_for_the_word_of_a_header(tmp_path, descr, shape):
    path = npz_of(tmp_path / "a.npz", header(descr, shape) + b"12345678")
    tracemalloc.start()
    with pytest.raises(ValueError, match="is not as long as its shape"):
        read_npz(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_an_archive_of_more_than_the_limit_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign, "MOST_ARRAYS", 1 << 20)
    path = bomb(tmp_path / "a.npz", "a.npy", 1 << 24)
    with pytest.raises(ValueError, match="it holds 16,777,216 bytes of data; expected at most 1,048,576"):
        read_npz(path)
    assert read_npz(path, lambda name: name != "a") == {}


def test_fortran_order_and_later_headers_are_read(tmp_path):
    array = np.arange(6.0).reshape(2, 3, order="F")
    np.savez(tmp_path / "a.npz", f=array)
    found = read_npz(tmp_path / "a.npz")["f"]
    np.testing.assert_array_equal(found, array)
    found[0, 0] = 7  # it may be written to
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(2, 0))
    np.testing.assert_array_equal(read_npz(npz_of(tmp_path / "b.npz", buffer.getvalue()))["a"], array)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[" * 100_000, "its values nest too deep"),
        (b"{", "Expecting property name"),
        (b"1" * 5000, "Exceeds the limit"),
        (b"\xff", "can't decode"),
    ],
)
def test_json_that_is_none_is_a_value_error(tmp_path, text, said):
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=said):
        read_json(path)


def test_json_without_an_end_is_read_to_the_limit_only():
    with pytest.raises(ValueError, match="it holds 67,108,865 bytes of data"):
        read_json(Path("/dev/zero"))
