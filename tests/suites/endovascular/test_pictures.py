"""The picture that agents may observe: stEVE's definition, drawn the same on both simulators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor import config_from_dict, run_evaluation
from proctor.suites.endovascular.options import EndovascularOptions
from proctor.suites.endovascular.pictures import LINE, PAPER, box_around, picture, widths
from proctor.suites.endovascular.suite import EndovascularSuite
from proctor.testing import EnvConformance

BOX = np.array([[0.0, 0.0], [20.0, 10.0]])


def embedded(**options: Any) -> Any:
    return EndovascularSuite().make(
        EndovascularOptions.model_validate({"observation": "steve", **options}), render=False, worlds=1
    )


class TestConformance(EnvConformance):
    steps = 4

    def make(self) -> Any:
        return embedded(observed=["image", "tracking"], image_px=64)


def test_a_line_by_hand() -> None:
    """20 mm across 40 pixels, the box in the middle of the picture's height, up is up."""
    seen = picture(np.array([[5.0, 2.0], [15.0, 2.0]]), np.array([0.4]), BOX, 40)
    assert seen.dtype == np.uint8
    assert set(np.unique(seen)) == {LINE, PAPER}
    rows, columns = np.nonzero(seen == LINE)
    assert set(rows) == {40 - (2 * 2 + 10)}
    assert columns.tolist() == list(range(10, 31))


def test_lines_are_as_wide_as_devices_and_have_no_gaps() -> None:
    thin, thick = (picture(np.array([[2.0, 1.0], [17.0, 8.0]]), np.array([w]), BOX, 200) for w in (0.05, 1.0))
    assert ((thin == LINE).any(axis=0)).sum() == 151
    across = (thick == LINE)[:, 90:110].sum(axis=0) * np.cos(np.arctan2(7, 15))
    assert across.mean() == pytest.approx(10.0, abs=1.0)


def test_what_is_not_in_the_box_is_not_seen() -> None:
    seen = picture(np.array([[-50.0, -50.0], [-20.0, -60.0], [10.0, 5.0]]), np.array([0.4, 0.4]), BOX, 40)
    assert 0 < (seen == LINE).sum() < 40
    assert (picture(np.array([[90.0, 90.0], [99.0, 90.0]]), np.array([0.4]), BOX, 40) == PAPER).all()


def test_a_catheter_is_as_wide_as_it_is_over_the_wire() -> None:
    along = np.array([0.0, 10.0, 20.0, 30.0, 40.0])
    assert widths(along, np.array([40.0, 15.0]), np.array([0.4, 0.9])).tolist() == [0.4, 0.4, 0.4, 0.9]
    assert widths(along, np.array([15.0, 40.0]), np.array([0.4, 0.9])).tolist() == [0.9] * 4
    assert widths(along, np.array([40.0]), np.array([0.4])).tolist() == [0.4] * 4


def test_the_tip_is_where_tracking_says() -> None:
    env = embedded(observed=["image", "tracking"], image_px=100)
    env.reset(3, 0)
    for _ in range(12):
        seen = env.step(np.array([1.0, 0.2], np.float32)).observation
    lines = env._env.carm.project(env._env.tree.points()).astype(np.float32)
    box = box_around(lines)
    tip = (seen["tracking"][0, 0] + 1) / 2 * (box[1] - box[0])
    scale = (100 / (box[1] - box[0])).min()
    column, row = np.rint(tip * scale + 0.5 * (100 - (box[1] - box[0]) * scale))
    assert seen["image"].shape == (100, 100)
    assert seen["image"][100 - int(row), int(column)] == LINE


def test_pictures_are_recorded_as_bytes(tmp_path: Path) -> None:
    task = {
        "suite": "endovascular",
        "options": {"observation": "steve", "observed": ["image", "target"], "image_px": 32},
    }
    raw = {
        "agents": [{"name": "drunk", "policy": "random"}], "tasks": [task], "n_trials": 1, "max_episode_steps": 5,
        "workers": "inline", "output_root": str(tmp_path), "record": {"observations": True},
    }  # fmt: skip
    run = run_evaluation(config_from_dict(raw))
    (result,) = run.results()
    with np.load(run.path / result.npz) as arrays:
        (name,) = [key for key in arrays if key.endswith("image")]
        assert arrays[name].dtype == np.uint8
        assert arrays[name].shape[1:] == (32, 32)
