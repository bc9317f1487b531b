"""Tracking metrics of recorded episodes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tracking_episodes import DT_S, episode

from proctor.errors import InputError
from proctor.metrics import Metric, compute, compute_many, describe
from proctor.registry import METRICS
from proctor.suites.tracking.metrics import Track, recorded, tracking_metrics
from proctor.suites.tracking.parts import METRICS as NAMES
from proctor.testing import MetricConformance


def test_recorded_metrics_are_those_of_the_tracks() -> None:
    arrays = episode(0.3, steps=20).arrays
    names = {array: track for track, array in recorded.RECORDED.items()}
    agent = Track(**{t: np.concatenate([arrays[f"first.{a}"][None], arrays[a]]) for a, t in names.items()})
    reference = Track(**{t: arrays[f"reference.{a}"] for a, t in names.items()})
    expected = tracking_metrics(agent, reference, dt_s=DT_S)
    found = compute(episode(0.3, steps=20))
    assert {name: found[name] for name in NAMES} == expected
    assert (found["frames_compared"], found["frames_cut"]) == (21, 9)


def test_every_metric_of_the_tracks_is_registered_with_unit_and_direction() -> None:
    infos = {info.name: info for info in describe()}
    assert set(NAMES) <= set(METRICS.names())
    assert all(infos[name].doc for name in NAMES)
    units = {name: infos[name].unit for name in ("emd", "emd_xpos", "mpjpe_l", "vel_dist", "accel_dist", "mpjpe_xpos")}
    assert list(units.values()) == ["rad", "m", "mrad", "mrad/frame", "mrad/frame^2", "mm"]
    up = {name for name in NAMES if infos[name].direction == "up"}
    assert up == {
        "proximity", "proximity_xpos", "obs_state_proximity", "success_phc_linf_xpos", "success_phc_mean_xpos",
        "upright_share", "first_fall_s",
    }  # fmt: skip
    assert {name for name in NAMES if infos[name].reducer == "rate"} == {
        "success_phc_linf_xpos",
        "success_phc_mean_xpos",
    }


def test_one_episode_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    whole = recorded.evaluate_tracks
    monkeypatch.setattr(recorded, "evaluate_tracks", lambda *a, **k: calls.append(1) or whole(*a, **k))
    compute(episode())
    assert len(calls) == 1
    compute_many([episode(seed=seed) for seed in range(5)])
    assert len(calls) == 2, "and many in one go"
    assert recorded.METRICS.emd()(episode()) == compute(episode())["emd"]


def test_many_episodes_have_the_metrics_of_each() -> None:
    bare = {name: array for name, array in episode(0.2).arrays.items() if "body_pos" not in name}
    some = [
        episode(0.1),
        episode(0.6, frames=45, seed=1),
        replace(episode(0.2), arrays=bare),
        episode(0.3, steps=1, seed=2),
        episode(0.4, **{"tracking.legacy": np.array("bfm_zero")}),
        replace(episode(), arrays={k: v for k, v in episode().arrays.items() if not k.startswith("reference.")}),
        episode(0.1, action_dt_s=np.array(math.nan), seed=3),
    ]
    found = compute_many(some)
    assert found == [compute(one) for one in some]
    assert [list(one) for one in found] == [list(compute(one)) for one in some]
    assert compute_many([]) == []


def test_metrics_are_left_out_with_the_arrays_they_need() -> None:
    arrays = {name: array for name, array in episode().arrays.items() if "body_pos" not in name}
    found = compute(replace(episode(), arrays=arrays))
    assert not {name for name in found if name.endswith("_xpos")}
    assert found["emd"] == compute(episode())["emd"]
    without_reference = {k: v for k, v in episode().arrays.items() if not k.startswith("reference.")}
    assert not set(NAMES) & set(compute(replace(episode(), arrays=without_reference)))


def test_the_record_may_ask_for_options() -> None:
    plain = compute(episode(0.4))
    legacy = compute(episode(0.4, **{"tracking.legacy": np.array("bfm_zero")}))
    narrow = compute(episode(0.4, **{"tracking.bound": np.array(0.0), "tracking.margin": np.array(0.5)}))
    assert legacy["vel_dist"] != plain["vel_dist"]
    assert legacy["emd"] == plain["emd"] == narrow["emd"]
    assert plain["proximity"] == 1
    assert 0 < (narrow["proximity"] or 0) < 1
    with pytest.raises(InputError, match="legacy is 'old'"):
        compute(episode(**{"tracking.legacy": np.array("old")}))


def test_a_fall_is_seen_beside_the_joint_error() -> None:
    found = compute(episode(0.6))
    assert found["upright_share"] == 0.5
    assert found["first_fall_s"] == pytest.approx(15 * DT_S)
    assert compute(episode(0.1))["first_fall_s"] is None
    assert compute(episode(0.6, action_dt_s=np.array(math.nan)))["first_fall_s"] is None


def test_a_diverged_agent_has_no_error_and_no_success() -> None:
    broken = episode()
    broken.arrays["joint_pos"][4:] = math.nan
    broken.arrays["body_pos"][4:] = math.nan
    found = compute(broken)
    assert found["emd"] is None
    assert found["mpjpe_xpos"] is None
    assert found["success_phc_linf_xpos"] == 0


class _Conformance(MetricConformance):
    def signals(self, steps: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        made = episode(0.2, frames=steps + 1, seed=int(rng.integers(100)))
        return {name: array for name, array in made.arrays.items() if name not in ("actions", "rewards", "success")}


def _conformance(metric: type[Metric]) -> type:
    return type(f"Test{metric.__name__}", (_Conformance,), {"make": lambda self: metric()})


def _classes() -> list[type[Any]]:
    return [METRICS.load(name) for name in NAMES]


for _class in _classes():
    globals()[f"Test{_class.__name__}"] = _conformance(_class)
del _class
