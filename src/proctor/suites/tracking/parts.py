"""The parts of the motion tracking room."""

from __future__ import annotations

METRICS = (
    "emd", "distance", "proximity", "mpjpe_l", "vel_dist", "accel_dist",
    "emd_xpos", "distance_xpos", "proximity_xpos", "mpjpe_xpos", "success_phc_linf_xpos", "success_phc_mean_xpos",
    "obs_state_emd", "obs_state_distance", "obs_state_proximity",
    "root_pos_error_m", "root_rot_error_rad", "torso_rot_error_rad", "upright_share", "first_fall_s",
    "frames_compared", "frames_cut",
)  # fmt: skip
"""Every tracking metric, in the order of the results."""

PARTS = {
    "proctor.suites": {
        "tracking": "proctor.suites.tracking.suite:TrackingSuite",
    },
    "proctor.runtimes": {
        "tracking-mjx": "proctor.suites.tracking.runtime:TrackingMjxRuntime",
        "tracking-warp": "proctor.suites.tracking.runtime:TrackingWarpRuntime",
    },
    "proctor.loaders": {
        "tracking/mirror": "proctor.suites.tracking.loaders:MirrorLoader",
        "tracking/hold": "proctor.suites.tracking.loaders:HoldLoader",
        "tracking/bfm_zero": "proctor.suites.tracking.loaders.bfm_zero:BfmZeroLoader",
        "tracking/mjlab": "proctor.suites.tracking.loaders.exported:ExportedLoader",
    },
    "proctor.metrics": {name: f"proctor.suites.tracking.metrics.recorded:METRICS.{name}" for name in METRICS},
    "proctor.scorings": {
        "tracking_v1": "proctor.suites.tracking.scoring:TrackingV1",
    },
    "proctor.sections": {
        "tracking": "proctor.suites.tracking.report.section:Tracking",
    },
}
