"""The same adapter on the real packages, where hf-libero and robosuite are installed (extra `libero`), with boxes for
its assets: the laws of an environment, and cameras whose shutter changes nothing."""

from __future__ import annotations

import functools
import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import libero_stand_ins
import numpy as np
import pytest

from proctor.suites.libero.env import LiberoEnv
from proctor.suites.libero.installation import Libero, import_libero, read_states
from proctor.suites.libero.presets import TASKS
from proctor.suites.libero.suite import LiberoOptions
from proctor.testing import EnvConformance

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("libero") is None or importlib.util.find_spec("robosuite") is None,
        reason="hf-libero is not installed (it needs an environment of its own)",
    ),
    pytest.mark.filterwarnings("default"),
]


KEPT: list[tempfile.TemporaryDirectory[str]] = []


@functools.cache
def installed() -> Libero:
    KEPT.append(tempfile.TemporaryDirectory(prefix="proctor-libero-assets-"))
    return import_libero(str(libero_stand_ins.write_assets(Path(KEPT[-1].name) / "assets")))


class TestInstalled(EnvConformance):
    steps = 4

    def make(self) -> LiberoEnv:
        return LiberoEnv(installed(), LiberoOptions(benchmark="object", task=0, render_px=48, image_px=40))


def build(**changes: Any) -> LiberoEnv:
    options = {"benchmark": "object", "task": 0, "render_px": 48, "image_px": 40, "perturbation": changes or None}
    return LiberoEnv(installed(), LiberoOptions.model_validate(options))


@pytest.mark.parametrize(
    "changes",
    [
        {"camera": {"horizontal_deg": 30}}, {"light": {"brightness": 0.3}}, {"surfaces": {"floor": "dark"}},
        {"layout": {"shift_m": 0.1}}, {"layout": {"swap": [["milk_1", "butter_1"]]}},
    ],
    ids=lambda changes: "-".join(str(value) for value in changes),
)  # fmt: skip
def test_the_real_room_is_perturbed(changes: dict[str, Any]) -> None:
    plain, other = build(), build(**changes)
    seen = [env.reset(0, 1) for env in (plain, other)]
    assert (seen[0]["image/agentview"] != seen[1]["image/agentview"]).any()
    np.testing.assert_array_equal(seen[0]["state"], seen[1]["state"])
    places = [
        np.array([env._world.sim.data.get_joint_qpos(f"{name}_joint0")[:3] for name in ("milk_1", "butter_1")])
        for env in (plain, other)
    ]
    layout = changes.get("layout", {})
    if "swap" in layout:
        np.testing.assert_allclose(places[1][:, :2], places[0][::-1, :2])
    elif layout:
        assert ((places[1] != places[0]).any(axis=1) & (np.abs(places[1] - places[0]).max(axis=1) <= 0.1)).all()
    else:
        np.testing.assert_array_equal(places[0], places[1])
    for env in (plain, other):
        env.close()


def test_every_task_has_its_files() -> None:
    for benchmark, count in TASKS.items():
        for number in range(count):
            task = installed().task(benchmark, number)
            assert len(read_states(task.states_file)) == 50
            assert len(task.instruction.encode()) <= 128
