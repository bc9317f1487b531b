"""Pickles are read as data: nothing in them runs."""

from __future__ import annotations

import collections
import gzip
import pickle
import subprocess
import sys
import zlib
from typing import Any

import joblib_files
import numpy as np
import pytest

from proctor.errors import InputError
from proctor.policies.normalize import read_vec_normalize
from proctor.unpickle import read_pickle


class Evil:
    """Runs a command when unpickled."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return subprocess.check_call, (["touch", str(self.marker)],)


@pytest.fixture
def write(tmp_path):
    def write(value, protocol=4):
        path = tmp_path / "x.pkl"
        path.write_bytes(value if isinstance(value, bytes) else pickle.dumps(value, protocol))
        return path

    return write


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_and_containers_are_read(write, protocol):
    value = collections.OrderedDict(a=np.arange(6.0).reshape(2, 3), b=[1, "x", None, {2.5}], c=np.float32(3), d=b"\xff")
    found = read_pickle(write(value, protocol))
    assert np.array_equal(found["a"], value["a"])
    assert found["a"].flags.writeable
    assert (found["b"], found["c"], found["d"]) == (value["b"], value["c"], value["d"])


ARRAYS = {
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "transposed": np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0),
    "no axis": np.array(1.5, np.float16),
    "no rows": np.zeros((0, 3), np.int8),
    "big-endian": np.arange(3, dtype=">i4"),
    "complex": np.array([1 + 2j], np.complex64),
    "truth values": np.array([[True, False]]),
    "text": np.array(["pelvis", "knee \u00e9", ""]),
    "big-endian text": np.array(["hip"]).astype(">U3"),
    "bytes": np.array([b"a", b"bcd"]),
    "objects": np.array([["a", None], [1, 2.5]], object),
    "text as a number": np.str_("x"),
    "empty text as a number": np.str_(""),
    "a truth value": np.bool_(True),
}


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_are_those_that_were_written(write, name, protocol):
    array = ARRAYS[name]
    found: Any = read_pickle(write(array, protocol))
    assert (type(found), found.dtype, found.shape) == (type(array), array.dtype, array.shape)
    assert np.array_equal(found, array)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "value",
    [b"", bytearray(b"ab"), {1, 2}, frozenset("a"), 3 + 1j, {(1, "a"): [()]}, 10**30, -(2**70), True, 0.1, "\n"],
)
def test_plain_values_are_those_that_were_written(write, value, protocol):
    found = read_pickle(write([value, {"again": value}], protocol))
    assert found == [value, {"again": value}]
    assert type(found[0]) is type(value)


def test_one_array_in_two_places_stays_one(write):
    array = np.zeros(3)
    found: Any = read_pickle(write({"a": array, "b": [array]}))
    assert found["a"] is found["b"][0]


@pytest.mark.parametrize("array", [np.zeros(2, "M8[s]"), np.zeros(2, [("a", "f8")]), np.zeros(2, "V3")])
def test_other_types_are_refused(write, array):
    with pytest.raises(InputError, match=r"an array of (the type|a structured type)"):
        read_pickle(write(array))


@pytest.mark.parametrize("read", [read_pickle, read_vec_normalize])
@pytest.mark.parametrize("protocol", range(6))
def test_a_malicious_pickle_is_refused_and_does_not_run(write, tmp_path, read, protocol):
    marker = tmp_path / "ran"
    with pytest.raises(InputError, match=r"it names (subprocess|commands).check_call, which could run code"):
        read(write({"a": np.zeros(2), "b": Evil(marker)}, protocol))
    assert not marker.exists()


@pytest.mark.parametrize("name", [b"builtins\neval", b"os\nsystem", b"numpy\nload", b"builtins\ngetattr"])
def test_dangerous_names_are_refused(write, name):
    with pytest.raises(InputError, match="which could run code"):
        read_vec_normalize(write(b"c" + name + b"\n(S'1'\ntR."))


def test_names_of_sb3_are_never_imported_nor_called(write, tmp_path):
    target = tmp_path / "saved.pkl"
    code = b"cstable_baselines3.common.save_util\nsave_to_pkl\n(S'" + str(target).encode() + b"'\nI1\ntR."
    with pytest.raises(InputError, match=r"of no VecNormalize: found stable_baselines3.common.save_util.save_to_pkl"):
        read_vec_normalize(write(code))
    assert not target.exists()


def test_what_joblib_saved_is_read(tmp_path):
    value = {"a": np.arange(6.0).reshape(2, 3), "b": [np.asfortranarray(np.arange(6).reshape(2, 3)), np.zeros((0, 2))]}
    found: Any = read_pickle(joblib_files.dump(value, tmp_path / "x.pkl"))
    for one, other in ((found["a"], value["a"]), *zip(found["b"], value["b"], strict=True)):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert found["a"].flags.writeable


def test_an_array_of_joblib_that_says_more_than_the_file_has_is_refused(tmp_path):
    path = joblib_files.dump(np.zeros(1000), tmp_path / "x.pkl")
    path.write_bytes(path.read_bytes()[:-800])
    with pytest.raises(InputError, match="damaged"):
        read_pickle(path)
    large = joblib_files.dump(np.zeros((2, 3)), path).read_bytes()
    assert large.count(b"K\x02K\x03") == 1
    path.write_bytes(large.replace(b"K\x02K\x03", b"J\xff\xff\xff\x7fJ\xff\xff\xff\x7f"))
    with pytest.raises(InputError, match="more memory than its own size"):
        read_pickle(path)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (zlib.compress(b"x" * 100), r"compressed \(zlib\). Save it again: joblib.dump\(value, path, compress=0\)"),
        (gzip.compress(b"x" * 100), r"compressed \(gzip\)"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a pointer of Git LFS, not the file"),
    ],
    ids=["zlib", "gzip", "pointer"],
)
def test_what_is_no_pickle_yet_comes_with_the_way_to_one(write, data, text):
    with pytest.raises(InputError, match=text):
        read_pickle(write(data))


def test_a_damaged_file_is_reported(write):
    with pytest.raises(InputError, match="cannot be read as a pickle of arrays"):
        read_pickle(write(b"not a pickle"))


def test_a_plain_array_is_no_vec_normalize(write):
    with pytest.raises(InputError, match="of no VecNormalize: found ndarray"):
        read_vec_normalize(write(np.zeros(3)))


class TestVecNormalize:
    @pytest.fixture
    def made(self, tmp_path):
        pytest.importorskip("stable_baselines3")
        from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

        def make(env, **kwargs):
            vec = VecNormalize(DummyVecEnv([lambda: env]), **kwargs)
            vec.seed(0)
            vec.reset()
            for _ in range(20):
                vec.step(np.array([vec.action_space.sample()]))
            path = tmp_path / "vec.pkl"
            vec.save(str(path))
            return vec, path

        return make

    def test_statistics_are_those_of_sb3(self, made):
        import gymnasium

        vec, path = made(gymnasium.make("Pendulum-v1"), clip_obs=3.0, epsilon=1e-4)
        found = read_vec_normalize(path)
        assert set(found.moments) == {""}
        assert np.array_equal(found.moments[""][0], vec.obs_rms.mean)
        assert np.array_equal(found.moments[""][1], vec.obs_rms.var)
        assert (found.epsilon, found.clip) == (1e-4, 3.0)

    def test_norm_obs_false_means_nothing_to_do(self, made):
        import gymnasium

        assert read_vec_normalize(made(gymnasium.make("Pendulum-v1"), norm_obs=False)[1]).moments == {}

    def test_sb3_is_not_imported_for_it(self, made):
        import gymnasium

        _, path = made(gymnasium.make("Pendulum-v1"))
        code = (
            "import sys; from pathlib import Path; from proctor.policies.normalize import read_vec_normalize;"
            f"read_vec_normalize(Path({str(path)!r}));"
            "print([m for m in ('stable_baselines3', 'gymnasium', 'torch') if m in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"
