"""Films: the frames that were given, or no file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from proctor.errors import MissingExtra
from proctor.record import video
from proctor.record.video import VideoWriter

av = pytest.importorskip("av", reason="the extra `video` is not installed")


def frames_of(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_every_frame_is_there_in_its_order_and_odd_sizes_lose_a_pixel(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "videos" / "a.mp4", fps=10)
    for i in range(7):
        writer.add(np.full((33, 47, 3), 30 * i, np.uint8))
    assert not (tmp_path / "videos" / "a.mp4").exists(), "a file that has its name is complete"
    assert writer.close()
    frames = frames_of(tmp_path / "videos" / "a.mp4")
    assert [f.shape for f in frames] == [(32, 46, 3)] * 7
    assert np.allclose([f.mean() for f in frames], [30 * i for i in range(7)], atol=6)


def test_the_rate_is_that_of_the_clock(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "a.mp4", fps=1 / 0.04)
    for _ in range(5):
        writer.add(np.zeros((16, 16, 3), np.uint8))
    writer.close()
    with av.open(str(tmp_path / "a.mp4")) as container:
        assert float(container.streams.video[0].average_rate) == 25.0


def test_no_frame_no_file(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "a.mp4", fps=30)
    assert not writer.close()
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_what_is_discarded_leaves_nothing(tmp_path: Path) -> None:
    writer = VideoWriter(tmp_path / "a.mp4", fps=30)
    writer.add(np.zeros((16, 16, 3), np.uint8))
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(MissingExtra) as error:
        video.require_video()
    assert str(error.value) == 'writing video needs the package "av"; install it with: pip install "proctor[video]"'


def test_a_poster_is_the_last_frame_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        writer = VideoWriter(tmp_path / f"{name}.mp4", fps=10, poster=True)
        for i in range(4):
            writer.add(np.full((32, 48, 3), (60 * i, 20, 30), np.uint8))
        assert writer.close()
        found.append(video.poster_of(writer.path).read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jpg", "a.mp4", "b.jpg", "b.mp4"]
    assert found[0] == found[1]
    (still,) = frames_of(tmp_path / "a.jpg")
    assert still.shape == (32, 48, 3)
    assert np.allclose(still.reshape(-1, 3).mean(axis=0), (180, 20, 30), atol=6)


def test_what_is_discarded_leaves_no_poster_of_an_earlier_attempt(tmp_path: Path) -> None:
    for end in (VideoWriter.close, VideoWriter.discard):
        writer = VideoWriter(tmp_path / "a.mp4", fps=30, poster=True)
        writer.add(np.zeros((16, 16, 3), np.uint8))
        end(writer)
    assert not (tmp_path / "a.jpg").exists()


def test_equal_frames_give_equal_bytes(tmp_path: Path) -> None:
    """The encoder used to differ in one of a few times, so several are made."""
    found = set()
    for i in range(12):
        writer = VideoWriter(tmp_path / f"{i}.mp4", fps=30)
        for at in range(40):
            frame = np.full((200, 300, 3), 255, np.uint8)
            frame[:, 3 * at : 3 * at + 6] = 40
            writer.add(frame)
        writer.close()
        found.add(writer.path.read_bytes())
    assert len(found) == 1
