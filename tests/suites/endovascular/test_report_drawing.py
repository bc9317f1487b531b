"""Drawings of passages: pure functions of arrays."""

from __future__ import annotations

import itertools
import re
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.report.draw.palette import STEPS
from proctor.report.draw.png import png
from proctor.suites.endovascular.report.curves import axes_of, upwards
from proctor.suites.endovascular.report.drawing import (
    Frame,
    area,
    curve,
    force_picture,
    force_steps,
    frame_of,
    picture,
    profile,
    scale_rules,
    scales_of,
    spaced,
    stretches,
    vessel_group,
)
from proctor.suites.endovascular.report.model import Passage, Peak, Vessel
from proctor.suites.endovascular.report.pictures import HEIGHT_PX, cover, drawn, look_of, pixels
from proctor.suites.endovascular.report.records import largest_since

VESSEL = Vessel(np.array([[0.0, 0], [0, 50], [0, 100], [0, 50], [30, 80]]), np.array([8.0, 8, 8, 3, 3]), (0, 3))


def passage(**changes: object) -> Passage:
    given: dict[str, object] = dict(
        agent="a", task="t", index=0, seed=7, outcome="success", npz="trials/a_trial0000_seed7.npz", video=None,
        tip=np.array([[0.0, 10], [0, 40], [10, 60], [30, 80]]), times=np.array([1.0, 2, 3, 4]), time_unit="s",
        force=np.array([0.0, 0.2, np.nan, 1.0]), force_unit="N", peak=Peak(1.0, 4.0, np.array([28.0, 82.0])),
        inserted_mm=np.array([10.0, 40, 70, 100]), wire=np.array([[0.0, 0], [30, 80]]),
        target=np.array([30.0, 80]), threshold_mm=5.0, vessel=VESSEL, pictured=True,
    )  # fmt: skip
    return Passage(**{**given, **changes})  # type: ignore[arg-type]


def test_a_frame_holds_walls_paths_wires_and_targets() -> None:
    frame = frame_of([passage(), passage(tip=np.array([[-40.0, 120.0]]))])
    assert (frame.left, frame.top) == (-45.0, -125.0)
    assert (frame.left + frame.width, frame.top + frame.height) == (40.0, 13.0)


def test_a_frame_needs_no_more_than_one_point() -> None:
    alone = passage(tip=np.array([[3.0, 4.0]]), wire=None, target=None, vessel=None)
    assert frame_of([alone]) == Frame(-2.0, -9.0, 10.0, 10.0)


def test_up_is_up() -> None:
    drawn_ = picture(passage(), frame_of([passage()]), 4.0)
    assert 'class="goal" cx="30.0" cy="-80.0" r="5"' in drawn_


def test_a_vessel_is_drawn_walls_first_in_lines_of_its_width() -> None:
    group = vessel_group(VESSEL)
    assert [float(w) for w in re.findall(r'stroke-width="([\d.]+)"', group)] == [17.4, 7.4, 16.0, 6.0]
    assert group.index("wall") < group.index("lumen")
    assert group.startswith(f'<g id="{VESSEL.key}">')


def test_vessels_have_equal_keys_exactly_when_they_are_equal() -> None:
    same = Vessel(VESSEL.points.copy(), VESSEL.radii.copy(), VESSEL.starts)
    other = Vessel(VESSEL.points, VESSEL.radii + 0.1, VESSEL.starts)
    assert same.key == VESSEL.key != other.key


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-1, STEPS - 1), min_size=1, max_size=40))
def test_stretches_join_and_hold_every_point(steps: list[int]) -> None:
    points = np.stack([np.arange(len(steps)), np.zeros(len(steps))], axis=1).astype(float)
    found = [(step, re.findall(r"(-?[\d.]+) -?0\.0", d)) for step, d in stretches(points, steps)]
    for (_, a), (_, b) in itertools.pairwise(found):
        assert a[-1] == b[0]
    assert found[0][1][0] == "0.0"
    assert float(found[-1][1][-1]) == len(steps) - 1
    wanted = steps[1:] or steps
    assert [step for step, xs in found for _ in xs[1:] or xs] == wanted


def test_a_force_that_was_not_measured_has_no_colour() -> None:
    assert force_steps(passage(), 1.0) == [0, 2, -1, 10]
    assert force_steps(passage(force=None), 1.0) == [-1] * 4
    assert 'class="path unknown"' in force_picture([passage()], frame_of([passage()]), 1.0)


def test_the_strongest_stretches_are_on_top() -> None:
    hard, soft = passage(force=np.array([0.0, 1, 1, 1])), passage(force=np.zeros(4), peak=None)
    for order in ([hard, soft], [soft, hard]):
        steps = re.findall(r'class="path w(\d+)"', force_picture(order, frame_of(order), 1.0))
        assert [int(step) for step in steps] == [0, 10]


def test_a_map_of_several_trials_has_every_target_once_and_only_a_vessel_that_all_share() -> None:
    same, aside = passage(), passage(target=np.array([0.0, 100.0]))
    elsewhere = passage(vessel=Vessel(VESSEL.points + 1, VESSEL.radii, VESSEL.starts))
    frame = frame_of([same, aside])
    drawn_ = force_picture([same, same, aside], frame, 1.0)
    assert (drawn_.count('class="goal"'), drawn_.count("<use")) == (2, 1)
    assert "<use" not in force_picture([same, elsewhere], frame, 1.0)


def test_the_scale_ends_at_a_high_force_and_never_at_zero() -> None:
    assert scales_of([passage(force=np.linspace(0, 1, 101))]).hardest == pytest.approx(0.99)
    assert scales_of([passage(force=np.zeros(4))]).hardest == scales_of([passage(force=None)]).hardest == 1.0
    assert scales_of([passage(force=np.full(4, np.nan))]).hardest == 1.0


def test_thinning_keeps_every_peak() -> None:
    values = np.array([0.0, 5, 1, np.nan, np.nan, 2, 9])
    assert np.array_equal(largest_since(values, np.array([0, 2, 4, 6])), [0, 5, np.nan, 9], equal_nan=True)


def test_spaced_keeps_the_ends_and_the_distance() -> None:
    points = np.stack([np.linspace(0, 100, 1001), np.zeros(1001)], axis=1)
    kept = spaced(points, 2.0)
    assert (kept[0], kept[-1], len(kept)) == (0, 1000, 51)
    assert spaced(points[:1], 2.0).tolist() == [0]


def test_a_curve_is_broken_where_nothing_was_measured() -> None:
    assert curve(np.array([0, 0.5, 0.75, 1]), np.array([0, 1, np.nan, 0.5])) == "M0.0 100.0L50.0 0.0M100.0 50.0"


def test_a_profile_takes_the_largest_of_all_trials_in_each_stretch() -> None:
    again = passage(force=np.array([0.5, 0.1, 0.1, 0.1]))
    found = profile([passage(), again], 100.0, bins=4)
    assert np.array_equal(found, [0.5, 0.2, 0.1, 1.0])
    assert profile([passage(inserted_mm=None)], 100.0) is None
    assert profile([passage(force=None)], 100.0) is None


def test_bars_stand_side_by_side() -> None:
    assert area(np.array([0.5, np.nan])) == "M0.0 100V50.0h50.0V100z"


def test_axes_start_at_zero_and_hold_everything() -> None:
    axes = axes_of([passage(), passage(times=np.array([5.0, 10, 20, 33]), inserted_mm=None)])
    assert axes.time.low == axes.force.low == 0.0
    assert axes.time.high >= 33
    assert axes.length is not None
    assert axes.length.high >= 100
    assert upwards(0.0).high > 0
    assert upwards(0.03).high < 0.1


def test_both_screens_have_every_colour() -> None:
    rules = scale_rules()
    for kind in "tw":
        for step in range(STEPS):
            assert rules.count(f".{kind}{step} {{") == 2


def test_a_line_covers_its_pixels_and_no_others() -> None:
    mask = cover((20, 30), np.array([[5.0, 10.0], [25.0, 10.0]]), 2.0)
    assert mask[9, 15] == 1.0
    assert mask[10, 15] == 1.0
    assert mask[13, 15] == 0.0
    assert mask[9, 1] == 0.0
    dot = cover((20, 30), np.array([[5.0, 10.0]]), 2.0)
    assert dot[9, 4] == 1.0
    assert not cover((20, 30), np.array([[-50.0, -50.0], [-40.0, -40.0]]), 2.0).any()


def read_png(data: bytes) -> np.ndarray:
    """Undo the filter `up` of an 8-bit RGB file."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    at = data.index(b"IDAT")
    size = struct.unpack(">I", data[at - 4 : at])[0]
    rows = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + size]), np.uint8).reshape(height, -1)
    assert (rows[:, 0] == 2).all()
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)


def test_a_png_holds_the_picture_to_the_byte() -> None:
    made = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    assert np.array_equal(read_png(png(made)), made)
    assert png(made) == png(made.copy())


def test_the_raster_shows_lumen_wire_and_ring_where_they_are() -> None:
    p = passage()
    look = look_of([p])
    image = drawn(p, look)
    assert image.shape[0] == HEIGHT_PX

    def colour(place: list[float]) -> list[int]:
        x, y = pixels(np.array([place]), look.frame)[0]
        return image[int(y), int(x)].tolist()

    assert colour([-4.0, 95.0]) == [0xEE, 0xF2, 0xF6]
    assert colour([-30.0, 50.0]) == [255, 255, 255]
    assert max(colour([15.0, 40.0])) < 120
    assert colour([30.0, 85.0])[0] > 150 > 60 > colour([30.0, 85.0])[1]
    bare = passage(wire=None, target=None, vessel=None, peak=None, force=None)
    assert drawn(bare, look_of([bare])).shape[0] == HEIGHT_PX
