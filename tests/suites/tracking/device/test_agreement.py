"""How far MuJoCo Warp's float32 is from MuJoCo's float64, with generous bounds from what was measured
(docs/gpu.md): in the air micrometres, on the floor as far as MuJoCo is from itself with a rounded start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

REASON = "worlds on a device need torch, MuJoCo Warp and Warp: make warp has them"
pytest.importorskip("torch", reason=REASON)
pytest.importorskip("mujoco_warp", reason=REASON)

sys.path.insert(0, str(Path(__file__).parents[4]))
try:
    from benchmarks import physics_agreement as agreement
finally:
    sys.path.pop(0)

from tracking_worlds import g1, options  # noqa: E402 - beside it

from proctor.suites.tracking.motions import MotionLibrary, load_motions  # noqa: E402 - likewise

pytestmark = pytest.mark.timeout(600)  # the first run on a machine compiles kernels
STEPS = 50


@pytest.fixture(scope="module")
def motions() -> MotionLibrary:
    return load_motions(["procedural:squat", "procedural:turn", "procedural:kick"], g1())


@pytest.mark.parametrize("targets", [agreement.held, agreement.moving], ids=["held", "moving"])
@pytest.mark.parametrize(("place", "joints_rad", "bodies_mm"), [("air", 2e-5, 0.1), ("floor", 0.02, 20.0)])
def test_one_second_with_the_same_targets(motions, targets, place, joints_rad, bodies_mm):
    library = agreement.lifted(motions) if place == "air" else motions
    cpu = options(action="absolute")
    truth = agreement.run(agreement.plain_env(g1(), library, cpu), library, targets, STEPS)
    mine = agreement.run(agreement.device_env(g1(), library, cpu, "warp", "cpu"), library, targets, STEPS)
    assert agreement.joints_apart(mine, truth, STEPS).max() < joints_rad
    assert agreement.bodies_apart(mine, truth, STEPS).max() < bodies_mm
    assert agreement.bodies_apart(mine, truth, 0).max() < 1e-3
