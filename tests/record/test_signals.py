"""What a recorded array is: units by name, times, and which arrays have a row for every step."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.record.signals import step_arrays, step_times, unit_of


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("ball_vel_m_s", "m/s"),
        ("robot_ball_force_n", "N"),
        ("handle_torque_n_mm", "N mm"),
        ("term/offside_m", "m"),
        ("Depth_MM", "mm"),
        ("angles", None),
        ("rotation", None),
        ("m", None),
        ("s", None),
        ("upright_share", "share"),
    ],
)
def test_the_end_of_a_name_says_the_unit(name: str, unit: str | None) -> None:
    assert unit_of(name, {}, {}) == unit


def test_what_a_suite_says_goes_first_and_may_be_in_a_constant() -> None:
    said = {"tip_m": "mm", "wall": "{force_unit}"}
    assert unit_of("tip_m", said, {}) == "mm"
    assert unit_of("wall", said, {"force_unit": np.array("N")}) == "N"
    assert unit_of("wall", said, {}) is None
    assert unit_of("wall", said, {"force_unit": np.array(["N", "N"])}) is None


def test_time_is_in_seconds_where_there_is_a_clock() -> None:
    times, unit = step_times({"rewards": np.zeros(4), "action_dt_s": np.array(0.5)})
    assert (times.tolist(), unit) == ([0.5, 1.0, 1.5, 2.0], "s")
    for dt in ({}, {"action_dt_s": np.array(np.nan)}, {"action_dt_s": np.array(0.0)}):
        times, unit = step_times({"rewards": np.zeros(3), **dt})
        assert (times.tolist(), unit) == ([1.0, 2.0, 3.0], "steps")


def test_arrays_of_steps_are_those_with_a_row_of_numbers_for_each() -> None:
    arrays = {
        "rewards": np.zeros(5),
        "b": np.zeros((5, 3), np.float32),
        "flag": np.zeros(5, bool),
        "names": np.array(list("abcde")),
        "picture": np.zeros((5, 8, 8)),
        "constant": np.zeros(4),
        "dt": np.array(0.1),
        "empty": np.zeros((5, 0)),
    }
    found = step_arrays(arrays)
    assert {name: values.shape for name, values in found.items()} == {"b": (5, 3), "flag": (5, 1), "rewards": (5, 1)}
