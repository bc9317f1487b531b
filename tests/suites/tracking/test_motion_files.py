"""Motion files: three formats of one motion are one reference; what is wrong is named with file, frame and joint."""

from __future__ import annotations

import pickle
import subprocess
from concurrent.futures import ThreadPoolExecutor

import joblib_files
import numpy as np
import pytest
from robots import g1
from shared_data import shared_data

from proctor.errors import InputError
from proctor.suites.tracking import rotations
from proctor.suites.tracking.motions import Motion, load_motions
from proctor.suites.tracking.motions.motion import ARRAYS
from proctor.suites.tracking.motions.procedural import procedural
from proctor.suites.tracking.robot import load_robot

JOINTS = g1().description.joint_names
SHIFTED = (*JOINTS[5:], *JOINTS[:5])
XYZW = [1, 2, 3, 0]


@pytest.fixture(scope="module")
def wave():
    return procedural("wave", g1())


class Writer:
    """Writes the motion in each format."""

    def __init__(self, folder, motion):
        self.folder, self.motion = folder, motion

    def csv(self, name="wave", quat=None, joints=None, header=None, rows=None):
        motion = self.motion
        quat = motion.root_quat[:, XYZW] if quat is None else quat
        joints = motion.joint_pos if joints is None else joints
        table = np.concatenate([motion.root_pos, quat, joints], axis=1)
        lines = [",".join(map(repr, row)) for row in table.tolist()]
        if rows is not None:
            lines = rows(lines)
        path = self.folder / f"{name}.csv"
        path.write_text("\n".join(([header] if header else []) + lines) + "\n")
        return path

    def npz(self, name="wave", **changes):
        motion = self.motion
        arrays = {
            "fps": np.array([motion.fps]),
            "joint_pos": motion.joint_pos,
            "body_pos_w": np.stack([motion.root_pos, motion.root_pos + 1], axis=1),
            "body_quat_w": np.stack([motion.root_quat, motion.root_quat[::-1]], axis=1),
            **changes,
        }
        path = self.folder / f"{name}.npz"
        np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
        return path

    def dict(self, **changes):
        motion = self.motion
        return {
            "fps": motion.fps,
            "root_pos": motion.root_pos,
            "root_rot": motion.root_quat[:, XYZW],
            "dof_pos": motion.joint_pos,
            **changes,
        }

    def pkl(self, name="wave", content=None):
        path = self.folder / f"{name}.pkl"
        path.write_bytes(pickle.dumps(self.dict() if content is None else content))
        return path


@pytest.fixture
def write(tmp_path, wave):
    return Writer(tmp_path, wave)


def load(*sources, **options):
    return load_motions(list(sources), g1(), **options)


def assert_same(a, b, tolerance=0.0):
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=0, atol=tolerance, err_msg=name)


def error_of(*sources, **options):
    with pytest.raises(InputError) as error:
        load(*sources, **options)
    return str(error.value)


def test_three_formats_of_one_motion_are_one_reference(write):
    made = load("procedural:wave").reference(0)
    csv = load(write.csv(), fps=50).reference(0)
    assert csv.name == "wave"
    assert_same(csv, made, 1e-12)
    assert_same(load(write.npz()).reference(0), csv, 1e-12)
    assert_same(load(write.pkl()).reference(0), csv, 1e-12)


@pytest.mark.parametrize("aligned", [True, False], ids=["joblib", "joblib before 1.2"])
def test_a_library_that_joblib_saved_is_read(write, aligned):
    made = load("procedural:wave").reference(0)
    library = {"wave": write.dict(), "again": write.dict(dof_pos=np.asfortranarray(write.motion.joint_pos))}
    found = load(joblib_files.dump(library, write.folder / "library.pkl", aligned))
    assert found.names == ("wave", "again")
    for motion in range(2):
        assert_same(found.reference(motion), made, 1e-12)


def test_rotation_vectors_take_the_place_of_rotation_and_joints(write, wave):
    """HumanoidVerse reads nothing else; a head that no joint moves comes last."""
    axes = g1().model.jnt_axis[1:]
    joints = wave.joint_pos[..., None] * axes
    turns = rotations.log(wave.root_quat)[:, None]
    pose = np.concatenate([turns, joints, np.zeros_like(turns)], axis=1)
    content = {"root_trans_offset": wave.root_pos, "pose_aa": pose, "fps": 50}
    assert_same(load(write.pkl(content=content)).reference(0), load("procedural:wave").reference(0), 1e-9)
    text = error_of(write.pkl(content={**content, "pose_aa": pose[:, :9]}))
    assert "pose_aa: found an array (" in text
    assert "expected numbers (frames, 30 or more, 3)" in text


def test_joints_are_put_in_the_robots_order_by_name(write, wave):
    expected = load(write.csv(), fps=50).reference(0)
    shifted = np.roll(wave.joint_pos, -5, axis=1)
    header = ",".join(["x", "y", "z", "qx", "qy", "qz", "qw", *(f"{name}_dof" for name in SHIFTED)])
    assert_same(load(write.csv(joints=shifted, header=header), fps=50).reference(0), expected)
    assert_same(load(write.csv(joints=shifted), fps=50, joint_names=SHIFTED).reference(0), expected)
    assert_same(load(write.npz(joint_pos=shifted, joint_names=np.array(SHIFTED))).reference(0), expected)
    assert_same(load(write.pkl(content=write.dict(dof_pos=shifted, joint_names=list(SHIFTED)))).reference(0), expected)


def test_a_header_without_joint_names_is_skipped(write):
    header = ",".join(f"column{i}" for i in range(36))
    assert_same(load(write.csv(header=header), fps=50).reference(0), load(write.csv(), fps=50).reference(0))


def test_the_quaternion_order_is_an_option(write, wave):
    expected = load(write.csv(), fps=50).reference(0)
    assert_same(load(write.csv(quat=wave.root_quat), fps=50, quaternion_order="wxyz").reference(0), expected)


def test_the_rate_is_an_option_and_30_for_csv(write, wave):
    n = len(wave)
    assert load(write.csv()).lengths[0] == np.ceil((n - 1) / 30 / 0.02)
    assert load(write.npz(), fps=60).lengths[0] == np.ceil((n - 1) / 60 / 0.02)
    mixed = load({"path": str(write.csv("a")), "fps": 50}, write.csv("b"))
    assert mixed.lengths.tolist() == [n - 1, np.ceil((n - 1) / 30 / 0.02)]


def test_velocities_of_the_file_in_either_frame(write, wave):
    reference = load(write.npz()).reference(0)
    ang = np.stack([np.full((len(wave), 3), 0.5)] * 2, axis=1)
    path = write.npz(joint_vel=np.zeros_like(wave.joint_pos), body_lin_vel_w=ang, body_ang_vel_w=ang)
    world = load(path, velocities="file").reference(0)
    np.testing.assert_allclose(world.body_ang_vel[:, 0], 0.5)
    body = load(path, velocities="file", angular_velocity_frame="body").reference(0)
    np.testing.assert_allclose(body.qvel[:, 3:6], 0.5)
    assert_same(load(path).reference(0), reference)
    assert "velocities: file, but the file has none of its own for root_lin_vel" in error_of(
        write.csv(), velocities="file"
    )


def test_a_pickle_may_hold_several_motions(write):
    path = write.pkl("many", {"one": write.dict(), "two": write.dict(fps=25.0)})
    library = load(path)
    assert library.names == ("one", "two")
    assert library.lengths[1] == 2 * library.lengths[0]
    other = {"root_trans_offset": write.motion.root_pos, "dof": write.motion.joint_pos[..., None]}
    content = {**other, "root_rot": write.motion.root_quat[:, XYZW], "fps": 50}
    assert_same(load(write.pkl("alias", content)).reference(0), library.reference(0))


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return subprocess.check_call, (["touch", str(self.marker)],)


def test_a_pickle_that_runs_code_is_refused(write, tmp_path):
    path = write.pkl(content={"root_pos": Evil(tmp_path / "marker")})
    assert "is not read: it names subprocess.check_call, which could run code" in error_of(path)
    assert not (tmp_path / "marker").exists()


def test_folders_and_globs_are_sorted(write, tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("b", "a", "deep/c"):
        write.csv(name)
    (tmp_path / "notes.txt").write_text("not a motion")
    assert load(tmp_path).names == ("a", "b", "c")
    assert load_motions(["*.csv"], g1(), base=tmp_path).names == ("a", "b")
    assert load(str(tmp_path / "**" / "c*")).names == ("c",)
    assert load("procedural:bow", tmp_path / "b.csv").names == ("bow", "b")


def test_two_motions_of_one_name_are_refused_with_both_files(write, tmp_path):
    (tmp_path / "deep").mkdir()
    first, second = write.csv("a"), write.npz("deep/a")
    assert error_of(tmp_path) == f'two motions are called "a": in {first} and in {second}; rename one'


def test_clips_together_are_the_motion(write):
    whole = load(write.npz()).reference(0)
    library = load(write.npz(), clip_s=2)
    end = len(whole) * 0.02
    assert library.names == ("wave@0-2s", "wave@2-4s", f"wave@4-{end:.6g}s")
    clips = [library.reference(i) for i in range(3)]
    for name in ARRAYS:
        np.testing.assert_array_equal(np.concatenate([getattr(c, name) for c in clips]), getattr(whole, name))


@pytest.mark.parametrize(("clip_s", "names"), [(100, ["wave"]), (5.40, ["wave@0-5.42s"]), (2.71, 2)])
def test_clips_are_never_one_frame(write, clip_s, names):
    motion = write.motion
    write.motion = Motion("wave", 50.0, motion.root_pos[:272], motion.root_quat[:272], motion.joint_pos[:272])
    library = load(write.npz(), clip_s=clip_s)
    assert library.lengths.sum() == 271
    assert library.lengths.min() >= 2
    assert (list(library.names) if isinstance(names, list) else len(library)) == names


def test_clips_shorter_than_two_frames_are_refused(write):
    assert error_of(write.npz(), clip_s=0.03) == "clip_s: found 0.03 s; a clip needs two frames, 0.04 s"


def test_what_is_kept_equals_what_is_read(write, tmp_path):
    cache = tmp_path / "kept" / "here"
    path = write.pkl("many", {"one": write.dict(), "two": write.dict(fps=25.0)})
    plain = load(path, clip_s=2)
    first, again = (load(path, clip_s=2, cache=cache) for _ in range(2))
    assert len(list(cache.iterdir())) == 1
    assert plain.names == first.names == again.names
    assert_same(first.frames, plain.frames)
    assert_same(again.frames, plain.frames)


def test_several_may_keep_the_same_at_once(write, tmp_path):
    path = write.npz()
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(lambda _: load_motions([path], g1(), base=tmp_path, cache="kept"), range(8)))
    assert [file.suffix for file in (tmp_path / "kept").iterdir()] == [".npz"]
    for library in loaded:
        assert_same(library.frames, loaded[0].frames)


def test_what_is_kept_depends_on_everything(write, tmp_path, monkeypatch):
    cache = tmp_path / "kept"
    path = write.csv()

    def kept(**options):
        load(path, cache=cache, **options)
        return len(list(cache.iterdir()))

    assert kept(fps=50) == 1
    assert kept(fps=60) == 2
    assert kept(fps=60, clip_s=2) == 2
    assert kept(fps=60, dt_s=0.01) == 3
    write.csv(rows=lambda lines: lines[:-1])
    assert kept(fps=50) == 4
    monkeypatch.setitem(vars(g1()), "fingerprint", "another")
    assert kept(fps=50) == 5


def test_a_broken_kept_file_is_replaced(write, tmp_path):
    cache = tmp_path / "kept"
    expected = load(write.npz(), cache=cache)
    (file,) = cache.iterdir()
    for broken in (b"", b"nonsense", file.read_bytes()[:5000]):
        file.write_bytes(broken)
        assert_same(load(write.npz(), cache=cache).frames, expected.frames)
        assert len(file.read_bytes()) > 5000
    (tmp_path / "a_file").write_text("")
    assert_same(load(write.npz(), cache=tmp_path / "a_file").frames, expected.frames)


def edited(frame, column, text):
    def edit(lines):
        cells = lines[frame].split(",")
        cells[column] = text
        return [*lines[:frame], ",".join(cells), *lines[frame + 1 :]]

    return edit


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (lambda lines: [], "found no frames"),
        (lambda lines: [line + ",0" for line in lines], "frame 0: found 37 columns; expected 36"),
        (lambda lines: [*lines[:7], "1,2,3"], "frame 7: found 3 columns; expected 36"),
        (edited(4, 9, "abc"), 'frame 4: column 10 is "abc"; expected a number'),
        (edited(4, 9, "nan"), "frame 4: joint positions[2] is nan; expected finite numbers"),
        (edited(3, 0, "inf"), "frame 3: root position[0] is inf"),
        (edited(5, 6, "2.0"), "frame 5: the root quaternion"),
        (edited(6, 7 + 3, "3.5"), "frame 6: left_knee_joint is at 3.5000 rad, 0.6202 beyond its limits -0.0873 to"),
        (lambda lines: lines[:1], "1 frames at 30 a second last 0 s"),
    ],
)
def test_what_is_wrong_in_a_csv_is_named(write, rows, text):
    path = write.csv(rows=rows)
    found = error_of(path)
    assert found.startswith(f"{path}: ")
    assert text in found


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"fps": None}, "missing fps"),
        ({"fps": np.array([1, 2])}, "fps: found [1, 2]; expected one number"),
        ({"fps": np.array(-3)}, "found -3.0 frames a second; expected a positive number"),
        ({"joint_pos": None}, "missing joint_pos (found: fps, body_pos_w, body_quat_w)"),
        ({"joint_pos": np.zeros((5, 29))}, "joint positions: found an array float64 (5, 29); expected numbers"),
        ({"body_pos_w": np.zeros((5, 3))}, "body_pos_w: found an array (5, 3); expected (frames, bodies, 3)"),
        ({"joint_names": np.array(["a", *JOINTS[1:]])}, "missing: left_hip_pitch_joint; unknown: a"),
        ({"joint_names": np.array([*JOINTS, JOINTS[0]])}, "found 30 joint names, expected the 29 of unitree_g1"),
    ],
)
def test_what_is_wrong_in_an_npz_is_named(write, changes, text):
    path = write.npz(**changes)
    found = error_of(path)
    assert found.startswith(str(path))
    assert text in found


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([1, 2], "found a list; expected a dict"),
        ({"a": {"fps": 1}}, "(motion a): missing root_pos, root_rot, dof_pos (found: fps)"),
        ({"fps": 50}, "missing root_pos"),
        ({}, "found an empty dict"),
        ({"fps": 50, "root_pos": [[1], [1, 2]], "root_rot": 0, "dof_pos": 0}, "root_pos is no array"),
        ({"fps": 50, "root_pos": 3, "root_rot": 0, "dof_pos": 0}, "root position: found an array int64 (1,)"),
        ({"fps": "x", "root_pos": 3, "root_rot": 0, "dof_pos": 0}, "fps: found 'x'; expected one number"),
    ],
)
def test_what_is_wrong_in_a_pickle_is_named(write, content, text):
    assert text in error_of(write.pkl(content=content))


def test_unreadable_files_are_named(tmp_path):
    for name in ("a.csv", "b.npz", "c.pkl"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00nonsense")
    found = error_of(tmp_path)
    assert found.startswith("3 problems with motions:\n")
    assert f"- {tmp_path / 'a.csv'} cannot be read" in found
    assert f"- {tmp_path / 'b.npz'} cannot be read as NPZ" in found
    assert f"- {tmp_path / 'c.pkl'} cannot be read as a pickle" in found


def test_joint_limits_have_a_tolerance(write, wave):
    joints = wave.joint_pos.copy()
    joints[9, 3] = -0.2
    path = write.csv(joints=joints)
    assert "(1 frames and 1 joints are out)" in error_of(path)
    assert len(load(path, joint_tolerance=0.2)) == len(load(path, joint_tolerance=np.inf)) == 1


@pytest.mark.parametrize(
    ("source", "options", "text"),
    [
        ("nothing.csv", {}, "no file or folder"),
        ("wave.cvs", {}, 'did you mean "wave.csv"?'),
        ("empty", {}, "has no motion files (.csv, .npz, .pkl, .pickle)"),
        ("*.npz", {}, "no file matches"),
        ("notes.txt", {}, 'motions of the kind ".txt" are not known'),
        ("wave.csv", {"fpps": 3}, 'motions: unknown option "fpps"; did you mean "fps"?'),
        ("wave.csv", {"fps": -1}, "fps: Input should be greater than 0, found -1"),
        ("wave.csv", {"dt_s": 0}, "the control period must be positive; found 0 s"),
        ("wave.csv", {"dt_s": np.nan}, "the control period must be positive; found nan s"),
        ({"fps": 3}, {}, "a source without a path"),
        ({"path": "wave.csv", "fp": 3}, {}, 'motions: wave.csv: unknown option "fp"'),
        ("procedural:squad", {}, 'no procedural motion "squad"; did you mean "squat"?'),
        ("procedural:squat?sed=3", {}, "expected procedural:all, procedural:NAME or procedural:NAME?seed=3"),
    ],
)
def test_wrong_sources_and_options_are_explained(write, tmp_path, source, options, text):
    write.csv()
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError) as error:
        load_motions([source], g1(), base=tmp_path, **options)
    assert text in str(error.value)


def test_no_sources_are_no_library():
    assert "a motion library needs at least one motion" in error_of()


def test_real_clips_load_with_both_robots(monkeypatch):
    clips = shared_data("g1_moves")
    monkeypatch.setenv("MENAGERIE_ROOT", str(shared_data("menagerie")))
    ours = load_motions([clips / "M_ShortMove*.csv"], g1(), fps=60)
    real = load_motions([clips / "M_ShortMove*.csv"], load_robot("menagerie:unitree_g1"), fps=60)
    assert ours.names == ("M_ShortMove14", "M_ShortMove16")
    assert ours.lengths.tolist() == [327, 369]
    assert_same(ours.frames, real.frames, 1e-6)
    assert 0.5 < ours.frames.root_pos[:, 2].min() < ours.frames.root_pos[:, 2].max() < 1
    assert np.abs(ours.frames.body_lin_vel).max() < 15


def test_all_real_clips_load(tmp_path):
    library = load_motions([shared_data("g1_moves")], g1(), fps=60, clip_s=10)
    assert len(library) > 50
    assert np.isfinite(library.frames.qvel).all()
