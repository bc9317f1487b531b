"""Videos: in real time, as long as the agent's states, and no file where there is nothing to show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import built_in_robot

from proctor.errors import InputError
from proctor.suites.tracking.rendering import TrackingRenderer
from proctor.training.videos import render_tracking_video

av = pytest.importorskip("av", reason="the extra `video` is not installed")

ROBOT = built_in_robot()
STATES = np.tile(ROBOT.default_qpos, (12, 1))


class Pen(TrackingRenderer):
    """A renderer that notes what it is asked to draw, and draws grey."""

    def __init__(self) -> None:
        super().__init__(ROBOT, 32, 32)
        self.drawn: list[tuple[float, float | None]] = []

    def render(self, qpos: np.ndarray, reference_qpos: np.ndarray | None = None) -> np.ndarray:
        self.drawn.append((qpos[0], None if reference_qpos is None else reference_qpos[0]))
        return np.full((32, 32, 3), 128, np.uint8)


def numbered(count: int) -> np.ndarray:
    states = np.tile(ROBOT.default_qpos, (count, 1))
    states[:, 0] = np.arange(count)
    return states


def stream(path: Path) -> tuple[float, int]:
    with av.open(str(path)) as container:
        return float(container.streams.video[0].average_rate), sum(1 for _ in container.decode(video=0))


@pytest.mark.parametrize(
    ("fps", "rate", "frames"), [(50, 25, 6), (25, 25, 12), (60, 30, 6), (120, 30, 3), (10, 10, 12)]
)
def test_fast_states_are_thinned_and_time_stays_real(tmp_path: Path, fps: float, rate: float, frames: int) -> None:
    assert render_tracking_video(tmp_path / "a.mp4", Pen(), STATES, STATES, fps)
    assert stream(tmp_path / "a.mp4") == (rate, frames)


def test_a_shorter_reference_stays_and_a_longer_one_is_cut(tmp_path: Path) -> None:
    short, long = Pen(), Pen()
    render_tracking_video(tmp_path / "a.mp4", short, numbered(4), numbered(2), fps=25)
    render_tracking_video(tmp_path / "b.mp4", long, numbered(2), numbered(5), fps=25)
    assert short.drawn == [(0, 0), (1, 1), (2, 1), (3, 1)]
    assert long.drawn == [(0, 0), (1, 1)]


def test_agent_and_reference_are_thinned_alike(tmp_path: Path) -> None:
    pen = Pen()
    render_tracking_video(tmp_path / "a.mp4", pen, numbered(5), numbered(5), fps=50)
    assert pen.drawn == [(0, 0), (2, 2), (4, 4)]


def test_a_video_ends_where_states_are_no_longer_finite(tmp_path: Path) -> None:
    states, pen = numbered(5), Pen()
    states[2:, 10] = np.nan
    assert render_tracking_video(tmp_path / "a.mp4", pen, states, fps=25)
    assert pen.drawn == [(0, None), (1, None)]
    assert not render_tracking_video(tmp_path / "b.mp4", pen, states[2:], fps=25)
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_what_fails_leaves_no_file(tmp_path: Path) -> None:
    class Broken(Pen):
        def render(self, *states: Any) -> np.ndarray:
            if self.drawn:
                raise RuntimeError("out of ink")
            return super().render(*states)

    with pytest.raises(RuntimeError, match="out of ink"):
        render_tracking_video(tmp_path / "a.mp4", Broken(), STATES, fps=25)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("states", "reference", "fps", "text"),
    [
        (STATES[0], None, 25, r"agent_qpos has shape \(36,\); \(frames, 7 \+ joints\) was expected"),
        (STATES, STATES[:0], 25, "reference_qpos has no frame; leave it out"),
        (STATES, None, 0, "fps is 0; a positive number"),
    ],
)
def test_what_cannot_be_shown_is_named(tmp_path: Path, states: Any, reference: Any, fps: float, text: str) -> None:
    with pytest.raises(InputError, match=text):
        render_tracking_video(tmp_path / "a.mp4", Pen(), states, reference, fps)
